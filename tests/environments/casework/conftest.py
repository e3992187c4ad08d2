"""A shop and cases per session."""

from itertools import islice

import pytest

from db.support_world import SupportWorlds
from environments.casework.cases import Case, CaseSource
from environments.casework.shapes import SHAPES
from environments.casework.situations import Shop, read_shop


class Cases(list[Case]):
    """Cases that hypothesis can report on in a line."""

    def __repr__(self) -> str:
        return f"<{len(self)} cases>"


@pytest.fixture(scope="session")
def worlds() -> SupportWorlds:
    return SupportWorlds()


@pytest.fixture(scope="session")
def shop(worlds: SupportWorlds) -> Shop:
    with worlds.open() as world:
        return read_shop(world.sessions)


@pytest.fixture(scope="session")
def source(shop: Shop) -> CaseSource:
    return CaseSource(shop, "train")


@pytest.fixture(scope="session")
def cases(source: CaseSource) -> Cases:
    """Training cases, of every shape."""
    drawn = Cases(islice(source.stream(3, "t"), 600))
    assert {(case.request, case.shape) for case in drawn} == {(shape.request, shape.name) for shape in SHAPES}
    return drawn
