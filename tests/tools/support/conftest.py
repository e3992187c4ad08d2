"""A shop per session, a world per test, and people in it who are in the situation that a test needs."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import text

from db.support_world import SupportWorld, SupportWorlds
from tools.support.results import Inquiry

Find = Callable[[str], Inquiry]
"""SQL over the tables c, a, o, p, r, s, g -> an inquiry by such a customer, who says the truth."""

NEW_ADDRESS, NEW_EMAIL = "1 New Street, Town 1", "customer-new@example.com"
PLAIN = "a.locked = 0 AND a.flagged = 0 AND c.closed = 0 AND a.factor_code IS NOT NULL"

_SUBJECT = """
SELECT c.id, o.id, c.pin, a.factor_code FROM customers c JOIN accounts a ON a.customer_id = c.id
JOIN orders o ON o.id = (SELECT max(id) FROM orders WHERE customer_id = c.id)
JOIN payments p ON p.order_id = o.id JOIN products g ON g.id = o.product_id
LEFT JOIN refunds r ON r.order_id = o.id LEFT JOIN shipments s ON s.order_id = o.id
WHERE {where} ORDER BY c.id LIMIT 1
"""


@pytest.fixture(scope="session")
def support_worlds() -> SupportWorlds:
    return SupportWorlds()


@pytest.fixture
def shop(support_worlds: SupportWorlds) -> Iterator[SupportWorld]:
    with support_worlds.open() as world:
        yield world


def find_in(world: SupportWorld, where: str) -> Inquiry:
    """An inquiry by the first customer whose latest order and account are as ``where`` says."""
    with world.sessions() as session:
        customer, order, pin, code = session.execute(text(_SUBJECT.format(where=where))).one()
    return Inquiry(
        contact="test",
        customer_id=customer,
        order_id=order,
        pin=pin,
        code=code,
        amount_cents=100,
        address=NEW_ADDRESS,
        email=NEW_EMAIL,
    )


@pytest.fixture
def find(shop: SupportWorld) -> Find:
    return lambda where: find_in(shop, where)


def changed(inquiry: Inquiry, changes: dict[str, object]) -> Inquiry:
    """The inquiry with other things said."""
    return replace(inquiry, **changes)  # pyright: ignore[reportArgumentType]
