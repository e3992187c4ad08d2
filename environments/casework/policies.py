"""Who decides: the gold clerk, chance, and rules over key words. Learned policies come from ``training``.

A policy hands out a player per case. A player sees the case through ``View``; only the gold clerk, which exists to
check that every case can be resolved, is given the casefile itself.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from environments.casework.actions import Action
from environments.casework.casefile import Casefile, Step
from environments.casework.env import Vector, observe
from environments.casework.text import Message, chat
from tools.support.results import FAULTS


@dataclass(frozen=True)
class Move:
    """A decision: an action, or what a language model wrote and what that took."""

    choice: Action | str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_s: float = 0.0


class View:
    """What a player may look at."""

    def __init__(self, casefile: Casefile) -> None:
        self._casefile = casefile
        self.outputs: list[str] = []
        """What a language model has written so far."""

    @property
    def query(self) -> str:
        """What the customer wrote."""
        return self._casefile.case.text

    @property
    def steps(self) -> Sequence[Step]:
        """What has been done, and the answers."""
        return self._casefile.steps

    def vector(self) -> Vector:
        """The observation of the vector form."""
        return observe(self._casefile)

    def messages(self) -> list[Message]:
        """The chat of the text form."""
        return chat(self.query, self.steps, self.outputs)


class Player(Protocol):
    """Plays one case."""

    async def decide(self, view: View) -> Move:
        """The next step."""
        ...


class Policy(Protocol):
    """Hands out players."""

    @property
    def name(self) -> str: ...

    def player(self, casefile: Casefile, seed: int) -> Player:
        """A player for one case. Only the gold policy looks into ``casefile``."""
        ...


@dataclass(frozen=True)
class GoldPolicy:
    """Knows each case's shape: the ceiling, and the proof that every case can be resolved."""

    name: str = "gold"

    def player(self, casefile: Casefile, seed: int) -> Player:
        return _Gold(casefile)


@dataclass(frozen=True)
class _Gold:
    casefile: Casefile

    async def decide(self, view: View) -> Move:
        return Move(self.casefile.gold_action())


@dataclass(frozen=True)
class RandomPolicy:
    """Any action, each as likely: the floor."""

    name: str = "random"

    def player(self, casefile: Casefile, seed: int) -> Player:
        return _Random(random.Random(seed))


@dataclass(frozen=True)
class _Random:
    rng: random.Random

    async def decide(self, view: View) -> Move:
        return Move(Action(self.rng.randrange(len(Action))))


@dataclass(frozen=True)
class HeuristicPolicy:
    """Key words of the query choose a fixed row of services; alarming words in an answer choose how to close."""

    name: str = "heuristic"

    def player(self, casefile: Casefile, seed: int) -> Player:
        return _Heuristic()


ORDER: Final = Action.INVOKE_ORDER_SERVICE
REFUND: Final = Action.INVOKE_REFUND_SERVICE
CUSTOMER: Final = Action.INVOKE_CUSTOMER_SERVICE
AUTH: Final = Action.INVOKE_AUTH_SERVICE
LOGISTICS: Final = Action.INVOKE_LOGISTICS_SERVICE
INVENTORY: Final = Action.INVOKE_INVENTORY_SERVICE
KNOWLEDGE: Final = Action.INVOKE_KNOWLEDGE_BASE

_ROWS: Final[tuple[tuple[tuple[str, ...], tuple[Action, ...]], ...]] = (
    (("locked", "unlock"), (AUTH, AUTH, AUTH)),
    (("password",), (AUTH, AUTH)),
    (("sign-in", "sign in", "signing"), (KNOWLEDGE,)),
    (("cancel",), (ORDER, AUTH, ORDER)),
    (("replace", "exchange"), (ORDER, INVENTORY, AUTH, INVENTORY)),
    (("refund of", "scratch", "dent"), (ORDER, AUTH, REFUND)),
    (("refund", "money back"), (ORDER, AUTH, REFUND)),
    (("deliver", "redirect", "bring"), (ORDER, AUTH, LOGISTICS)),
    (("parcel", "arrive"), (ORDER, LOGISTICS)),
    (("address", "moved"), (AUTH, CUSTOMER)),
    (("e-mail",), (AUTH, AUTH, CUSTOMER)),
    (("stock", "available"), (INVENTORY,)),
    (("guide", "help", "explain", "fault", "defect"), (KNOWLEDGE,)),
    (("",), (ORDER,)),
)
"""Key words -> the services called; the first row that matches counts."""

_ALARMS: Final[tuple[tuple[tuple[str, ...], Action], ...]] = (
    (("fraud", "closed;", "danger", "limit", "second factor is"), Action.ESCALATE_TO_HUMAN_AGENT),
    (("disputed", "failed.", "overdue"), Action.ROUTE_TO_BILLING_DEPARTMENT),
    (("technical support", "no article"), Action.ROUTE_TO_TECHNICAL_SUPPORT),
    (("no such order", "pin is not", "code of the second factor is wrong"), Action.REQUEST_CUSTOMER_INFORMATION),
    (("window closed", "window of 30 days", "refunded."), Action.RESOLVE_QUERY),
)
"""Words in an answer -> how the case is closed at once."""


@dataclass
class _Heuristic:
    done: int = 0
    row: tuple[Action, ...] = field(default=())

    async def decide(self, view: View) -> Move:
        if not view.steps:
            query = view.query.lower()
            self.row = next(row for words, row in _ROWS if any(word in query for word in words))
        elif (last := view.steps[-1]).outcome not in FAULTS:
            self.done += 1
            answer = last.text.lower()
            for words, action in _ALARMS:
                if any(word in answer for word in words):
                    return Move(action)
        return Move(self.row[self.done] if self.done < len(self.row) else Action.RESOLVE_QUERY)
