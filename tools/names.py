"""Which venues a name means: exact first, then by its distinctive words, then allowing for misspelling.

Several venues may answer to one name ("pizza hut"): searches show them all, bookings ask which.
"""

import re
from functools import lru_cache
from typing import Final

from rapidfuzz import fuzz, process

_MIN_SIMILARITY: Final = 86.0
"""Of rapidfuzz's ratio on whole names: one or two wrong letters in a short name, three in a long one."""
_MIN_CORE: Final = 5
"""Letters below which distinctive words are too short to be misspelt and still be told apart."""

_GENERIC: Final = frozenset(
    ("a", "an", "at", "in", "of", "and", "the", "called", "named", "place", "cambridge"),
).union(
    ("bar", "bed", "breakfast", "cafe", "guest", "hotel", "hotels", "house", "lodge", "restaurant", "restaurants"),
)
"""Words that alone name no venue."""

_SPELLINGS: Final = (
    (r"[’']s\b", "s"),
    (r"\s*&\s*", " and "),
    (r"\bguesthouse\b", "guest house"),
    (r"\b(b and b|bnb)\b", "bed and breakfast"),
    (r"\bcenter\b", "centre"),
    (r"\bst\b\.?", "saint"),
    (r"[^a-z0-9 ]+", " "),
)


@lru_cache(maxsize=8192)
def match_names(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of ``names`` that ``name`` may mean, in their order; empty when there are none."""
    wanted = _plain(name)
    plain = _plain_names(names)
    for candidates in (
        [known for known in names if plain[known] == wanted],
        _by_words(wanted, plain),
        _by_spelling(wanted, plain),
    ):
        if candidates:
            return tuple(candidates)
    return ()


def closest_names(name: str, names: tuple[str, ...], limit: int = 3) -> tuple[str, ...]:
    """The ``limit`` most similar of ``names``, to suggest to someone whose name matched none."""
    found = process.extract(_plain(name), _plain_names(names), scorer=fuzz.WRatio, limit=limit, score_cutoff=50)
    return tuple(known for _, _, known in found)


def _by_words(wanted: str, plain: dict[str, str]) -> list[str]:
    words = frozenset(wanted.split())
    if not words:
        return []
    distinctive = _distinctive(wanted)
    same = [known for known, text in plain.items() if distinctive and distinctive == _distinctive(text)]
    return same or [known for known, text in plain.items() if (distinctive or words) <= set(text.split())]


def _by_spelling(wanted: str, plain: dict[str, str]) -> list[str]:
    """The name spelt most like ``wanted``, as a whole or in its distinctive words."""
    best = process.extractOne(wanted, plain, scorer=fuzz.ratio, score_cutoff=_MIN_SIMILARITY)
    if best is None and len(core := _core(wanted)) >= _MIN_CORE:
        cores = {known: _core(text) for known, text in plain.items()}
        best = process.extractOne(core, cores, scorer=fuzz.ratio, score_cutoff=_MIN_SIMILARITY)
    return [best[2]] if best else []


def _distinctive(plain: str) -> frozenset[str]:
    return frozenset(plain.split()) - _GENERIC


def _core(plain: str) -> str:
    return " ".join(word for word in plain.split() if word not in _GENERIC)


@lru_cache(maxsize=16)
def _plain_names(names: tuple[str, ...]) -> dict[str, str]:
    return {name: _plain(name) for name in names}


@lru_cache(maxsize=8192)
def _plain(name: str) -> str:
    text = name.lower()
    for pattern, replacement in _SPELLINGS:
        text = re.sub(pattern, replacement, text)
    return " ".join(text.split())
