"""The benchmark: 100 and 1,000 fixed queries, committed as data, checked by hash.

They are drawn from the customers and sentences that are held out, every category alike often, the two sets about
different cases. ``python -m environments.casework.benchmark`` writes them again, which changes scores: see CHANGELOG.
"""

import hashlib
import random
import sys
from pathlib import Path
from typing import Final

from db.errors import InputError
from db.support_world import SupportWorlds
from environments.casework.cases import Case, CaseSource
from environments.casework.requests import CATEGORIES
from environments.casework.shapes import SHAPES
from environments.casework.situations import read_shop

SHA256: Final[dict[int, str]] = {
    100: "eb1895303e8805bd4a65d5cbce951f0a59a493400c198fc9da286eadd727be22",
    1000: "2d3904a804ab7ab576de795a4f2c5bdb3774fd622ba332d8f9788f2462244178",
}
"""Size of a set -> hash of its file."""

_FOLDER: Final = Path(__file__).parent / "data"
_SEED: Final = 4


def load_queries(size: int) -> list[Case]:
    """A set, in its order.

    :raises InputError: there is no set of that size, or its file has been changed.
    """
    if size not in SHA256:
        raise InputError(f"--queries {size} is no set: give {' or '.join(map(str, SHA256))}")
    content = path_of(size).read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != SHA256[size]:
        raise InputError(f"{path_of(size)} is not the benchmark (sha256 {found}): take the file of the repository")
    return [Case.model_validate_json(line) for line in content.splitlines()]


def path_of(size: int) -> Path:
    """Where a set lies."""
    return _FOLDER / f"queries-{size}.jsonl"


def draw_queries() -> dict[int, list[Case]]:
    """Both sets: categories in turn, and within a category shape after shape, so that all occur alike often."""
    worlds = SupportWorlds()
    with worlds.open() as world:
        source = CaseSource(read_shop(world.sessions), "evaluation")
    shapes = {name: [shape for shape in SHAPES if shape.category == name] for name in CATEGORIES}
    rng = random.Random(_SEED)
    texts: set[str] = set()
    sets: dict[int, list[Case]] = {}
    for size in SHA256:
        sets[size] = []
        for number in range(size):
            of_category = shapes[CATEGORIES[number % len(CATEGORIES)]]
            shape = of_category[number // len(CATEGORIES) % len(of_category)]
            while (case := source.draw(rng, f"q{size}-{number:04d}", shape)).text in texts:
                pass
            texts.add(case.text)
            sets[size].append(case)
        rng.shuffle(sets[size])
    return sets


def write_queries() -> dict[int, str]:
    """Write both files; their hashes."""
    hashes = {}
    for size, cases in draw_queries().items():
        content = "".join(case.model_dump_json() + "\n" for case in cases).encode()
        path_of(size).write_bytes(content)
        hashes[size] = hashlib.sha256(content).hexdigest()
    return hashes


if __name__ == "__main__":
    sys.stdout.writelines(f"{size}: {found}\n" for size, found in write_queries().items())
