"""A private world and its tools for each test."""

import random
from collections.abc import Iterator

import pytest

from db.world import World, WorldFactory
from tools.booking import references
from tools.toolbox import Toolbox, build_toolbox


@pytest.fixture(scope="session")
def worlds() -> WorldFactory:
    return WorldFactory()


@pytest.fixture
def world(worlds: WorldFactory) -> Iterator[World]:
    with worlds.open() as world:
        yield world


@pytest.fixture
def toolbox(world: World) -> Toolbox:
    return build_toolbox(world.sessions, "compact", references(random.Random(0)))
