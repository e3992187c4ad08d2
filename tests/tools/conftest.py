"""A world per test and a way to call its tools as a language model does."""

import random
from collections.abc import Callable, Iterator

import pytest
from langchain_core.messages import ToolMessage

from db.world import World, WorldFactory
from tools.booking import references
from tools.results import ToolArtifact
from tools.toolbox import build_toolbox
from tools.wording import Style

Call = Callable[..., tuple[str, ToolArtifact]]
"""``call(tool, style="full", **arguments)`` -> what the model reads, and the facts."""


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> WorldFactory:
    return WorldFactory(tmp_path_factory.mktemp("seed") / "multiwoz.sqlite")


@pytest.fixture
def world(worlds: WorldFactory) -> Iterator[World]:
    with worlds.open() as world:
        yield world


@pytest.fixture
def call(world: World) -> Call:
    return caller(world)


def caller(world: World) -> Call:
    """Calls the tools of ``world``; references come from seed 0."""
    supply = references(random.Random(0))
    boxes = {style: build_toolbox(world.sessions, style, supply) for style in ("full", "compact")}

    def call(tool: str, style: Style = "full", **arguments: object) -> tuple[str, ToolArtifact]:
        tools = {each.name: each for domain in ("hotel", "restaurant") for each in boxes[style].for_domain(domain)}
        message = tools[tool].invoke({"type": "tool_call", "id": "call_1", "name": tool, "args": arguments})
        assert isinstance(message, ToolMessage)
        assert isinstance(message.content, str)
        assert message.status == "success"
        return message.content, message.artifact

    return call
