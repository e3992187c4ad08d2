"""The order service: finds an order under its customer's number, and cancels one that has not been sent."""

from typing import Final

from sqlalchemy import bindparam, update
from sqlalchemy.orm import Session

from db.support import TODAY, Order, table
from tools.support.records import DESK_LIMIT_CENTS, OrderRecord, in_money, read_order, read_standing
from tools.support.results import Answer, Denial, Fact, Inquiry, Operation
from tools.support.wording import done, refused

_PAYMENTS: Final = {
    "authorised": Fact.PAYMENT_AUTHORISED,
    "captured": Fact.PAYMENT_CAPTURED,
    "failed": Fact.PAYMENT_FAILED,
    "disputed": Fact.PAYMENT_DISPUTED,
}
_STATUSES: Final = {
    "placed": Fact.ORDER_PLACED,
    "shipped": Fact.ORDER_SHIPPED,
    "cancelled": Fact.ORDER_CANCELLED,
}


def find_order(session: Session, inquiry: Inquiry) -> Answer:
    """The order named, else the latest: status, payment, and what bears on giving it back."""
    order = read_order(session, inquiry)
    if order is None:
        return refused("order", Operation.FIND_ORDER, Denial.UNKNOWN_ORDER, Fact.ORDER_MISSING)
    facts = [_STATUSES[order.status] if order.status != "delivered" else _window(order), _PAYMENTS[order.payment]]
    notes = [f"Order {order.id}: {order.quantity} {order.kind} {order.model}, {_status_text(order)}."]
    notes.append(f"Payment of {in_money(order.amount_cents)} {order.payment}.")
    if order.refund_cents is not None:
        facts.append(Fact.REFUND_EXISTS)
        notes.append(f"{in_money(order.refund_cents)} refunded.")
    if order.amount_cents > DESK_LIMIT_CENTS:
        facts.append(Fact.OVER_DESK_LIMIT)
        notes.append("More than the desk may refund.")
    if inquiry.amount_cents is not None and inquiry.amount_cents > order.amount_cents:
        facts.append(Fact.CLAIM_ABOVE_PAID)
        notes.append(f"The customer asks for {in_money(inquiry.amount_cents)}, which is more than was paid.")
    return done("order", Operation.FIND_ORDER, " ".join(notes), *facts, order_id=order.id)


def cancel_order(session: Session, inquiry: Inquiry) -> Answer:
    """Cancel an order that has been placed and not sent."""
    operation = Operation.CANCEL_ORDER
    if inquiry.order_id is None:
        return refused("order", operation, Denial.NO_ORDER_NUMBER)
    order, standing = read_order(session, inquiry), read_standing(session, inquiry)
    if order is None or standing is None:
        return refused("order", operation, Denial.UNKNOWN_ORDER, Fact.ORDER_MISSING)
    if obstacle := standing.obstacle():
        return refused("order", operation, obstacle)
    if order.status == "cancelled":
        return refused("order", operation, Denial.ALREADY_CANCELLED)
    if order.status != "placed":
        return refused("order", operation, Denial.ALREADY_SENT)
    session.execute(_CANCEL, {"order": order.id})
    session.commit()
    return done("order", operation, f"Order {order.id} is cancelled.", Fact.ORDER_CANCELLED, order_id=order.id)


def _window(order: OrderRecord) -> Fact:
    return Fact.WINDOW_OPEN if order.in_window else Fact.WINDOW_CLOSED


def _status_text(order: OrderRecord) -> str:
    if order.delivered_day is None:
        return order.status
    window = "return window open" if order.in_window else "return window closed"
    return f"delivered {TODAY - order.delivered_day} days ago, {window}"


_CANCEL: Final = update(table(Order)).where(table(Order).c.id == bindparam("order")).values(status="cancelled")
