"""A seeded file and a world, for the tests of this room."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from db.world import World, WorldFactory


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> WorldFactory:
    return WorldFactory(tmp_path_factory.mktemp("seed") / "multiwoz.sqlite")


@pytest.fixture
def world(worlds: WorldFactory) -> Iterator[World]:
    with worlds.open() as world:
        yield world


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "world.sqlite"
