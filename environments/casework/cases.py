"""Cases: what a customer writes, and all that decides how the case goes. Drawn from the shop by a seed.

A case is about a customer who is in the situation of its shape. Training and evaluation share neither customers nor
sentences. What the services are told is what the customer says; ``paid_cents`` and ``product_id`` serve only to say
which state the database has to end in.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict

from db.support import ADVICE, TODAY
from db.support_seed import ERROR_CODES, ISSUES
from db.support_world import Changes
from environments.casework.actions import ACTION_OF, Action
from environments.casework.requests import CATEGORIES, Category, Request
from environments.casework.shapes import BY_NAME, SHAPES, Shape
from environments.casework.situations import Shop, Situation, held_out
from environments.casework.wordings import Said, Split, write_query
from tools.support.desk import FaultKind, draw_faults, service_of
from tools.support.results import Inquiry, Operation, Service

FAULT_RATE: Final = 0.15
"""Share of cases in which a service that is needed fails once."""


class Case(BaseModel):
    """One case, whole."""

    model_config = ConfigDict(frozen=True)

    id: str
    category: Category
    request: Request
    shape: str
    text: str
    """What the customer writes."""
    customer_id: int
    order_id: int
    """The order that the case is about."""
    order_said: int | None
    """The number that the customer names."""
    pin: str
    code: str
    amount_cents: int | None
    address: str | None
    email: str | None
    words: tuple[str, ...]
    """What articles or stock are searched for."""
    paid_cents: int
    product_id: int
    faults: dict[Service, FaultKind] = {}

    @property
    def form(self) -> Shape:
        """The shape that the case has."""
        return BY_NAME[self.request, self.shape]

    def inquiry(self) -> Inquiry:
        """What the services are told at first."""
        return Inquiry(
            contact=self.id,
            customer_id=self.customer_id,
            order_id=self.order_said,
            pin=self.pin,
            code=self.code,
            amount_cents=self.amount_cents,
            address=self.address,
            email=self.email,
            words=self.words,
        )

    def gold_actions(self) -> tuple[Action, ...]:
        """The shortest sequence that resolves the case, with the calls that a fault makes necessary."""
        actions: list[Action] = []
        struck = set(self.faults)
        for need in self.form.needs:
            service = service_of(need.operation)
            if service in struck:
                struck.remove(service)
                actions.append(ACTION_OF[service])
            actions.append(ACTION_OF[service])
        return (*actions, self.form.terminal)

    def expected_changes(self) -> Changes:
        """What has to be different in the database when the case is closed, and nothing else."""
        changes: dict[tuple[str, int, str], str | None] = {}
        for need in self.form.needs:
            if effect := _EFFECTS.get(need.operation):
                changes |= effect(self)
        return changes


_EFFECTS: Final[Mapping[Operation, Callable[[Case], Changes]]] = {
    Operation.CANCEL_ORDER: lambda case: {("orders", case.order_id, "status"): "cancelled"},
    Operation.REFUND_FULL: lambda case: {("refunds", case.order_id, "amount_cents"): str(case.paid_cents)},
    Operation.REFUND_PART: lambda case: {("refunds", case.order_id, "amount_cents"): str(case.amount_cents)},
    Operation.CHANGE_ADDRESS: lambda case: {("customers", case.customer_id, "address"): case.address},
    Operation.CHANGE_EMAIL: lambda case: {("customers", case.customer_id, "email"): case.email},
    Operation.UNLOCK_ACCOUNT: lambda case: {("accounts", case.customer_id, "locked"): "0"},
    Operation.RESET_PASSWORD: lambda case: {("accounts", case.customer_id, "reset_day"): str(TODAY)},
    Operation.OPEN_TRACE: lambda case: {("shipments", case.order_id, "status"): "traced"},
    Operation.REDIRECT_SHIPMENT: lambda case: {
        ("shipments", case.order_id, "status"): "redirected",
        ("shipments", case.order_id, "address"): case.address,
    },
    Operation.RESERVE_UNIT: lambda case: {("reservations", case.order_id, "product_id"): str(case.product_id)},
}


class CaseSource:
    """Draws cases of one split: categories alike often, shapes of a category alike often."""

    def __init__(self, shop: Shop, split: Split) -> None:
        self._split: Split = split
        self._situations = [each for each in shop.situations if held_out(each.customer_id) == (split == "evaluation")]
        self._issues = _issues_by_product(shop)
        self._errors = _errors_by_advice(shop)
        self._fitting = {(shape.request, shape.name): self._fits(shape) for shape in SHAPES}
        self._shapes = {name: [shape for shape in SHAPES if shape.category == name] for name in CATEGORIES}

    def draw(self, rng: random.Random, case_id: str, shape: Shape | None = None) -> Case:
        """One case; of a shape drawn by ``rng`` unless one is given."""
        shape = shape or rng.choice(self._shapes[rng.choice(CATEGORIES)])
        situation = rng.choice(self._fitting[shape.request, shape.name])
        words = self._words(shape, situation, rng)
        order_said = situation.order_id if rng.random() < 0.5 else None
        if "order" in shape.wrong:
            order_said = self._other(situation, rng).order_id
        pin = _other_digits(situation.pin, rng) if "pin" in shape.wrong else situation.pin
        said = Said(
            request=shape.request,
            order=order_said,
            pin=pin,
            code=_code(situation, shape, rng),
            amount_cents=_amount(situation, shape, rng),
            address=_address(rng) if shape.request in ("redirect_parcel", "change_address") else None,
            email=_email(situation) if shape.request == "change_email" else None,
            product=(situation.kind, situation.model),
            words=words,
        )
        return Case(
            id=case_id,
            category=shape.category,
            request=shape.request,
            shape=shape.name,
            text=write_query(said, self._split, rng),
            customer_id=situation.customer_id,
            order_id=situation.order_id,
            order_said=said.order,
            pin=said.pin,
            code=said.code,
            amount_cents=said.amount_cents,
            address=said.address,
            email=said.email,
            words=said.words,
            paid_cents=situation.paid_cents,
            product_id=situation.product_id,
            faults=draw_faults(rng, _services(shape), FAULT_RATE),
        )

    def stream(self, seed: int, name: str) -> Iterator[Case]:
        """Cases without end, ``NAME-0`` and so on; the same seed gives the same."""
        rng = random.Random(f"casework/{self._split}/{seed}")
        number = 0
        while True:
            yield self.draw(rng, f"{name}-{number}")
            number += 1

    def _fits(self, shape: Shape) -> list[Situation]:
        return [
            each
            for each in self._situations
            if shape.fits(each) and (not _about_product(shape) or self._issues[each.model, shape.advice])
        ]

    def _words(self, shape: Shape, situation: Situation, rng: random.Random) -> tuple[str, ...]:
        if shape.request == "sign_in_error":
            return (rng.choice(self._errors[shape.advice]),)
        if shape.request == "stock_question":
            return (situation.kind, situation.model)
        if _about_product(shape):
            return (situation.kind, situation.model, rng.choice(self._issues[situation.model, shape.advice]))
        return ("cancellation", "policy") if shape.request == "cancel_order" else ("returns", "policy")

    def _other(self, situation: Situation, rng: random.Random) -> Situation:
        while (other := rng.choice(self._situations)).customer_id == situation.customer_id:
            pass
        return other


def _about_product(shape: Shape) -> bool:
    """Whether the customer's problem is one that articles on products may be about."""
    return shape.request in ("how_to", "defect")


def _issues_by_product(shop: Shop) -> dict[tuple[str, str | None], list[str]]:
    """(model, advice) -> the problems whose article gives that advice; ``none``: those without an article."""
    found: dict[tuple[str, str | None], list[str]] = {}
    for model in {situation.model for situation in shop.situations}:
        for advice in (*ADVICE, "none"):
            found[model, advice] = []
        for issue in ISSUES:
            found[model, shop.articles.get((model, issue), "none")].append(issue)
    return found


def _errors_by_advice(shop: Shop) -> dict[str | None, list[str]]:
    errors: dict[str | None, list[str]] = {}
    for code in (f"E{number}" for number in ERROR_CODES):
        errors.setdefault(shop.articles.get(("error", code)), []).append(code)
    return errors


def _services(shape: Shape) -> tuple[Service, ...]:
    return tuple({service_of(need.operation): None for need in shape.needs})


def _other_digits(digits: str, rng: random.Random) -> str:
    while (other := "".join(rng.choices("0123456789", k=len(digits)))) == digits:
        pass
    return other


def _code(situation: Situation, shape: Shape, rng: random.Random) -> str:
    """What the customer reads off the second factor; who has none says something all the same."""
    if situation.code is None or "code" in shape.wrong:
        return _other_digits(situation.code or "000000", rng)
    return situation.code


def _amount(situation: Situation, shape: Shape, rng: random.Random) -> int | None:
    if shape.request != "refund_part":
        return None
    share = rng.randint(120, 300) if "amount" in shape.wrong else rng.randint(10, 60)
    return max(situation.paid_cents * share // 100, 1)


def _address(rng: random.Random) -> str:
    return f"{rng.randrange(1, 200)} avenue {rng.randrange(1, 80)} , town {rng.randrange(1, 40)}"


def _email(situation: Situation) -> str:
    return f"customer-{situation.customer_id:06d}-new@example.com"
