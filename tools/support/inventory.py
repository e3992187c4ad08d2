"""The inventory service: how many units are left, and one kept back as the replacement for an order."""

from typing import Final

from sqlalchemy import bindparam, func, insert, select
from sqlalchemy.orm import Session

from db.support import Product, Reservation, table
from tools.support.records import OrderRecord, Standing, read_order, read_standing
from tools.support.results import Answer, Denial, Fact, Inquiry, Operation
from tools.support.wording import done, refused


def check_stock(session: Session, inquiry: Inquiry) -> Answer:
    """Units left of the product that ``inquiry.words`` names, or that the order is for."""
    operation = Operation.CHECK_STOCK
    model = next((word.upper() for word in inquiry.words if any(letter.isdigit() for letter in word)), None)
    if model is None and inquiry.order_id is None:
        return refused("inventory", operation, Denial.NO_ORDER_NUMBER)
    if model is None:
        order = read_order(session, inquiry)
        if order is None:
            return refused("inventory", operation, Denial.UNKNOWN_ORDER, Fact.ORDER_MISSING)
        model = order.model
    left = _left(session, model)
    if left is None:
        return refused("inventory", operation, Denial.UNKNOWN_PRODUCT)
    if left < 1:
        return done("inventory", operation, f"{model}: out of stock.", Fact.OUT_OF_STOCK)
    return done("inventory", operation, f"{model}: {left} in stock.", Fact.IN_STOCK)


def reserve_unit(session: Session, inquiry: Inquiry) -> Answer:
    """Keep one unit back as the replacement for an order inside its window."""
    operation = Operation.RESERVE_UNIT
    if inquiry.order_id is None:
        return refused("inventory", operation, Denial.NO_ORDER_NUMBER)
    order, standing = read_order(session, inquiry), read_standing(session, inquiry)
    if order is None or standing is None:
        return refused("inventory", operation, Denial.UNKNOWN_ORDER, Fact.ORDER_MISSING)
    if obstacle := _obstacle(order, standing):
        return refused("inventory", operation, obstacle)
    if not _left(session, order.model):
        return refused("inventory", operation, Denial.OUT_OF_STOCK)
    session.execute(_RESERVE, {"order_id": order.id, "product_id": order.product_id})
    session.commit()
    return done("inventory", operation, f"A {order.kind} {order.model} is reserved.", Fact.UNIT_RESERVED)


def _obstacle(order: OrderRecord, standing: Standing) -> Denial | None:
    checks = (
        (order.replaced, Denial.ALREADY_REPLACED),
        (order.refund_cents is not None, Denial.ALREADY_REFUNDED),
        (order.payment != "captured", Denial.NOTHING_CAPTURED),
        (order.delivered_day is None, Denial.NOT_DELIVERED),
        (not order.in_window, Denial.WINDOW_CLOSED),
    )
    return standing.obstacle() or next((denial for wrong, denial in checks if wrong), None)


def _left(session: Session, model: str) -> int | None:
    return session.execute(_LEFT, {"model": model}).scalar_one_or_none()


_G, _U = table(Product).c, table(Reservation).c
_RESERVED: Final = select(func.count()).select_from(table(Reservation)).where(_U.product_id == _G.id)
_LEFT: Final = select(_G.on_hand - _RESERVED.scalar_subquery()).where(_G.model == bindparam("model"))
_RESERVE: Final = insert(table(Reservation))
