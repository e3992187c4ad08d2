"""What customers write: sentences with gaps from ``data/wordings.toml``, those for training apart from the others."""

import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from environments.casework.requests import KINDS, Request
from tools.support.records import in_money
from tools.support.results import Operation

Split = Literal["train", "evaluation"]

_SENTENCES: Final = Path(__file__).parent / "data" / "wordings.toml"
_KEY: Final[Mapping[Split, str]] = {"train": "train", "evaluation": "heldout"}


@dataclass(frozen=True)
class Said:
    """All that the customer may say; what the request has no use for stays unsaid."""

    request: Request
    order: int | None
    """``None``: the customer speaks of the latest order."""
    pin: str
    code: str
    amount_cents: int | None
    address: str | None
    email: str | None
    product: tuple[str, str]
    words: tuple[str, ...]


def write_query(said: Said, split: Split, rng: random.Random) -> str:
    """The customer's message, in lower case and with spaces around marks, as the small model reads it."""
    phrase = rng.choice(sentences("latest" if said.order is None else "order", split)).format(number=said.order)
    sentence = rng.choice(sentences(said.request, split)).format(
        order=phrase,
        product=" ".join(said.product),
        issue=said.words[-1],
        error=said.words[-1],
        amount=in_money(said.amount_cents or 0),
        address=said.address,
        email=said.email,
    )
    asked = {ask.operation for ask in KINDS[said.request].asks}
    parts = [rng.choice(sentences("greeting", split)) + sentence]
    if Operation.VERIFY_IDENTITY in asked:
        parts.append(rng.choice(sentences("pin", split)).format(pin=said.pin))
    if Operation.CONFIRM_SECOND_FACTOR in asked:
        parts.append(rng.choice(sentences("code", split)).format(code=said.code))
    return " ".join(parts).lower()


def sentences(what: str, split: Split) -> Sequence[str]:
    """The sentences of a request, or the phrases that fill them."""
    data = _data()
    return (data[what] if what in data else data["request"][what])[_KEY[split]]


@cache
def _data() -> dict[str, dict]:
    return tomllib.loads(_SENTENCES.read_text(encoding="utf-8"))
