"""The refund service: gives money back once per order, inside the window, never more than was paid."""

from typing import Final

from sqlalchemy import insert
from sqlalchemy.orm import Session

from db.support import TODAY, Refund, table
from tools.support.records import DESK_LIMIT_CENTS, OrderRecord, Standing, in_money, read_order, read_standing
from tools.support.results import Answer, Denial, Fact, Inquiry, Operation
from tools.support.wording import done, refused

SETTLING_DAYS: Final = 10
"""How long a bank may take."""


def read_refund(session: Session, inquiry: Inquiry) -> Answer:
    """How far the refund of an order is."""
    operation = Operation.READ_REFUND
    if inquiry.order_id is None:
        return refused("refund", operation, Denial.NO_ORDER_NUMBER)
    order = read_order(session, inquiry)
    if order is None:
        return refused("refund", operation, Denial.UNKNOWN_ORDER, Fact.ORDER_MISSING)
    if order.refund_cents is None or order.refund_day is None:
        return done("refund", operation, f"Order {order.id} has not been refunded.", Fact.NO_REFUND)
    text = f"{in_money(order.refund_cents)} refunded {TODAY - order.refund_day} days ago"
    if order.refund_settled_day is not None:
        return done("refund", operation, f"{text}, and it has reached the bank.", Fact.REFUND_SETTLED)
    if TODAY - order.refund_day > SETTLING_DAYS:
        return done("refund", operation, f"{text}, and it is overdue at the bank.", Fact.REFUND_OVERDUE)
    return done("refund", operation, f"{text}, and it is on its way.", Fact.REFUND_ON_ITS_WAY)


def refund_full(session: Session, inquiry: Inquiry) -> Answer:
    """Give back all that was paid."""
    return _refund(session, inquiry, Operation.REFUND_FULL)


def refund_part(session: Session, inquiry: Inquiry) -> Answer:
    """Give back the amount that the customer asks for."""
    return _refund(session, inquiry, Operation.REFUND_PART)


def _refund(session: Session, inquiry: Inquiry, operation: Operation) -> Answer:
    if inquiry.order_id is None:
        return refused("refund", operation, Denial.NO_ORDER_NUMBER)
    part = operation is Operation.REFUND_PART
    if part and (inquiry.amount_cents is None or inquiry.amount_cents < 1):
        return refused("refund", operation, Denial.INCOMPLETE)
    order, standing = read_order(session, inquiry), read_standing(session, inquiry)
    if order is None or standing is None:
        return refused("refund", operation, Denial.UNKNOWN_ORDER, Fact.ORDER_MISSING)
    amount = inquiry.amount_cents if part and inquiry.amount_cents is not None else order.amount_cents
    if obstacle := _obstacle(order, standing, amount):
        return refused("refund", operation, obstacle)
    session.execute(_GIVE_BACK, {"order_id": order.id, "amount_cents": amount, "day": TODAY, "settled_day": None})
    session.commit()
    return done("refund", operation, f"{in_money(amount)} refunded for order {order.id}.", Fact.REFUND_MADE)


def _obstacle(order: OrderRecord, standing: Standing, amount: int) -> Denial | None:
    checks = (
        (order.payment == "disputed", Denial.PAYMENT_DISPUTED),
        (order.payment != "captured", Denial.NOTHING_CAPTURED),
        (order.refund_cents is not None, Denial.ALREADY_REFUNDED),
        (order.replaced, Denial.ALREADY_REPLACED),
        (amount > order.amount_cents, Denial.MORE_THAN_PAID),
        (order.status not in ("delivered", "cancelled"), Denial.NOT_DELIVERED),
        (order.status == "delivered" and not order.in_window, Denial.WINDOW_CLOSED),
        (amount > DESK_LIMIT_CENTS, Denial.OVER_DESK_LIMIT),
    )
    return standing.obstacle() or next((denial for wrong, denial in checks if wrong), None)


_GIVE_BACK: Final = insert(table(Refund))
