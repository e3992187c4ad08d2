"""Kinds of values as sets of token ids: venues, areas, days, hours.

In the small policy's vocabulary a value is one token. Which values are of one kind is known from the database and need
not be learnt: their first embeddings share a part (``small_model``), and they are swapped for one another
(``augmentation``). Promises: a token is of one kind at most.
"""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from db.seed import load_venues
from training.tokenizer import CLOCK

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SLOTS = ("area", "pricerange", "food")
MAX_PEOPLE = 8


def value_kinds(tokenizer: PreTrainedTokenizerBase) -> list[list[int]]:
    """The token ids of each kind; a value of several tokens is left out."""
    kinds: list[list[int]] = []
    seen: set[int] = set()
    for values in _values():
        ids = [encoded[0] for value in values if len(encoded := _encode(tokenizer, value)) == 1]
        kinds.append([token for token in dict.fromkeys(ids) if token not in seen])
        seen.update(ids)
    return kinds


def _values() -> list[Sequence[str]]:
    hotels, restaurants = load_venues("hotel"), load_venues("restaurant")
    return [
        [str(venue["name"]) for venue in hotels],
        [str(venue["name"]) for venue in restaurants],
        *(sorted({str(venue[slot]) for venue in restaurants if venue.get(slot)}) for slot in SLOTS),
        DAYS,
        [str(number) for number in range(1, MAX_PEOPLE + 1)],
        [f"{hour:02d}" for hour in range(24)],
        CLOCK,
    ]


def _encode(tokenizer: PreTrainedTokenizerBase, value: str) -> list[int]:
    if value.startswith("##"):
        return [tokenizer.convert_tokens_to_ids(value)]  # pyright: ignore[reportReturnType]
    return tokenizer.encode(value, add_special_tokens=False)
