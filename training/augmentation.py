"""Value swapping: the same dialogue about another venue, day or number, so that copying is learnt and not the values.

A model of a million parameters that sees "alexander bed and breakfast" twice in its life learns to write the names it
saw often. Swapping each value for another of its kind, consistently within a history, shows every value equally often
(lexical value substitution; cf. Kale & Rastogi 2020 for the opposite, delexicalised, direction). Works on tokens, since
in the small policy's vocabulary a value is one token. A kind is left alone in a history whose answers hold a value of
it that was not read there, because then the answer was not a copy.
"""

import random
from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from db.seed import load_venues
from training.supervised import Row
from training.tokenizer import CLOCK

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SWAPPED_SLOTS = ("area", "pricerange", "food")
MAX_PEOPLE = 8


class ValueSwap:
    """Swaps values of one kind among each other; kinds are sets of token ids."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._kinds: list[list[int]] = []
        self._kind_of: dict[int, int] = {}
        for values in _kinds():
            ids = [encoded[0] for value in values if len(encoded := _encode(tokenizer, value)) == 1]
            fresh = [token for token in dict.fromkeys(ids) if token not in self._kind_of]
            self._kind_of |= dict.fromkeys(fresh, len(self._kinds))
            self._kinds.append(fresh)

    def __call__(self, row: Row, rng: random.Random) -> Row:
        """``row`` with the values of each kind that its answers only copy renamed by one random permutation."""
        read: set[int] = set()
        kinds: set[int] = set()
        invented: set[int] = set()
        for token, trained in zip(row.ids, row.trained, strict=True):
            kind = self._kind_of.get(token)
            if kind is None:
                continue
            kinds.add(kind)
            if trained and token not in read:
                invented.add(kind)
            read.add(token)
        swaps: dict[int, int] = {}
        for kind in sorted(kinds - invented):
            values = self._kinds[kind]
            swaps |= dict(zip(values, rng.sample(values, len(values)), strict=True))
        return Row(tuple(swaps.get(token, token) for token in row.ids), row.trained)


def _kinds() -> list[Sequence[str]]:
    hotels, restaurants = load_venues("hotel"), load_venues("restaurant")
    return [
        [str(venue["name"]) for venue in hotels],
        [str(venue["name"]) for venue in restaurants],
        *(sorted({str(venue[slot]) for venue in restaurants if venue.get(slot)}) for slot in SWAPPED_SLOTS),
        DAYS,
        [str(number) for number in range(1, MAX_PEOPLE + 1)],
        [f"{hour:02d}" for hour in range(24)],
        CLOCK,
    ]


def _encode(tokenizer: PreTrainedTokenizerBase, value: str) -> list[int]:
    if value.startswith("##"):
        return [tokenizer.convert_tokens_to_ids(value)]  # pyright: ignore[reportReturnType]
    return tokenizer.encode(value, add_special_tokens=False)
