"""The situations that the seeded shop is in: one per customer, read once, so that cases can be drawn from them."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import text

from db.support import TODAY
from db.support_world import OpenSession
from tools.support.records import DESK_LIMIT_CENTS, REFUND_WINDOW_DAYS

HELD_OUT_SHARE: Final = 4
"""One customer in so many is for evaluation alone."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A customer, the account and the latest order."""

    customer_id: int
    pin: str
    code: str | None
    closed: bool
    locked: bool
    flagged: bool
    order_id: int
    product_id: int
    kind: str
    model: str
    on_hand: int
    status: str
    delivered_day: int | None
    paid_cents: int
    payment: str
    refund_day: int | None
    settled_day: int | None
    shipment: str | None

    @property
    def plain(self) -> bool:
        """Whether nothing is unusual about the account."""
        return not (self.closed or self.locked or self.flagged) and self.code is not None

    @property
    def returnable(self) -> bool:
        """Whether the desk may give the money back: delivered in the window, captured, not too much."""
        return self.kept and self.delivered_day is not None and TODAY - self.delivered_day <= REFUND_WINDOW_DAYS

    @property
    def late(self) -> bool:
        """Whether it could be given back, were it not for the window."""
        return self.kept and self.delivered_day is not None and TODAY - self.delivered_day > REFUND_WINDOW_DAYS

    @property
    def kept(self) -> bool:
        return self.payment == "captured" and self.refund_day is None and self.paid_cents <= DESK_LIMIT_CENTS


@dataclass(frozen=True)
class Shop:
    """What cases are drawn from."""

    situations: tuple[Situation, ...]
    articles: dict[tuple[str, str], str]
    """(model, problem) or (``error``, code) -> what the article on it leads to."""


def held_out(customer_id: int) -> bool:
    """Whether a customer is for evaluation: no training case is about it. Spread by Knuth's multiplicative hash."""
    return (customer_id * 2654435761 >> 8) % HELD_OUT_SHARE == 0


def read_shop(sessions: OpenSession) -> Shop:
    """The seeded shop's situations and articles."""
    with sessions() as session:
        situations = tuple(Situation(*row) for row in session.execute(_SITUATIONS))
        articles: dict[tuple[str, str], str] = {}
        for title, advice in session.execute(text("SELECT title, advice FROM articles ORDER BY id")):
            *_, subject, problem = title.replace(":", "").split()
            articles[subject, problem] = advice
    return Shop(situations, articles)


_SITUATIONS: Final = text(
    "SELECT c.id, c.pin, a.factor_code, c.closed, a.locked, a.flagged, o.id, g.id, g.kind, g.model, g.on_hand, "
    "o.status, o.delivered_day, p.amount_cents, p.status, r.day, r.settled_day, s.status "
    "FROM customers c JOIN accounts a ON a.customer_id = c.id "
    "JOIN orders o ON o.id = (SELECT max(id) FROM orders WHERE customer_id = c.id) "
    "JOIN payments p ON p.order_id = o.id JOIN products g ON g.id = o.product_id "
    "LEFT JOIN refunds r ON r.order_id = o.id LEFT JOIN shipments s ON s.order_id = o.id ORDER BY c.id"
)
