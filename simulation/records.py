"""What is kept of a dialogue: goal, acts, texts, evidence, end state. Enough to score it again without a model.

Everything here crosses a file (``episodes.jsonl``), so it is pydantic and append-only: a new field needs a default.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from agents.turns import Turn
from tools.results import Domain

Act = tuple[str, str, str, str]
"""ConvLab's dialogue act: (intent, domain, slot, value), e.g. ``("inform", "hotel", "area", "north")``."""


class DomainGoal(BaseModel):
    """What the user wants in one domain, in MultiWOZ's slots and values.

    ``fail_info`` and ``fail_book`` are tried first and must fail; ``info`` and ``book`` come second.
    """

    model_config = ConfigDict(frozen=True)

    info: dict[str, str] = {}
    fail_info: dict[str, str] = {}
    reqt: tuple[str, ...] = ()
    book: dict[str, str] = {}
    fail_book: dict[str, str] = {}


class Goal(BaseModel):
    """A user's goal; ``domains`` keeps the order in which the user raises them."""

    model_config = ConfigDict(frozen=True)

    id: str
    source: Literal["convlab", "corpus"]
    domains: dict[Domain, DomainGoal]


class Booking(BaseModel):
    """A row of the end state."""

    model_config = ConfigDict(frozen=True)

    domain: Domain
    reference: str
    venue_index: int
    venue_name: str
    details: dict[str, str]


class Fault(BaseModel):
    """Why an episode is no fair sample of the policy, and whose doing it was."""

    who: Literal["agent", "user", "infrastructure"]
    kind: str
    message: str


class Exchange(BaseModel):
    """The user speaks, the agent answers."""

    user_text: str
    user_acts: list[Act]
    turn: Turn | None
    """``None`` when the agent never got to answer (the user's goodbye, a fault)."""
    agent_acts: list[Act] = []
    """The agent's text as understood, with evidence; bookings carry ConvLab's 8-digit index as ``ref``."""


class Episode(BaseModel):
    """One dialogue, whole."""

    id: str
    """``{goal.id}#{repeat}``: stable across restarts, so a finished episode is never played twice."""
    goal: Goal
    seed: int
    policy: str
    user: str
    exchanges: list[Exchange]
    bookings: list[Booking]
    ended: Literal["user", "limit", "fault"]
    fault: Fault | None = None
    wall_s: float = 0.0
