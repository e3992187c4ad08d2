"""The logistics service: where a parcel is, a search for a lost one, another address for one on its way."""

from typing import Final

from sqlalchemy import bindparam, update
from sqlalchemy.orm import Session

from db.support import TODAY, Shipment, table
from tools.support.records import read_order, read_standing
from tools.support.results import Answer, Denial, Fact, Inquiry, Operation
from tools.support.wording import done, refused

_STATES: Final = {
    "in transit": Fact.IN_TRANSIT,
    "delayed": Fact.DELAYED,
    "lost": Fact.LOST,
    "delivered": Fact.ARRIVED,
    "traced": Fact.TRACE_OPENED,
    "redirected": Fact.REDIRECTED,
}


def track_shipment(session: Session, inquiry: Inquiry) -> Answer:
    """What the carrier knows of an order's parcel."""
    operation = Operation.TRACK_SHIPMENT
    if inquiry.order_id is None:
        return refused("logistics", operation, Denial.NO_ORDER_NUMBER)
    order = read_order(session, inquiry)
    if order is None:
        return refused("logistics", operation, Denial.UNKNOWN_ORDER, Fact.ORDER_MISSING)
    if order.shipment is None or order.scan_day is None:
        return done("logistics", operation, f"Order {order.id} has not been sent.", Fact.NOT_SENT)
    text = f"Parcel of order {order.id}: {order.shipment}, last seen {TODAY - order.scan_day} days ago."
    return done("logistics", operation, text, _STATES[order.shipment])


def open_trace(session: Session, inquiry: Inquiry) -> Answer:
    """Have the carrier search for a parcel that it has lost."""
    operation = Operation.OPEN_TRACE
    if inquiry.order_id is None:
        return refused("logistics", operation, Denial.NO_ORDER_NUMBER)
    order = read_order(session, inquiry)
    if order is None:
        return refused("logistics", operation, Denial.UNKNOWN_ORDER, Fact.ORDER_MISSING)
    if order.shipment != "lost":
        return refused("logistics", operation, Denial.NOT_LOST)
    session.execute(_TRACE, {"order": order.id})
    session.commit()
    return done("logistics", operation, f"The carrier searches for order {order.id}.", Fact.TRACE_OPENED)


def redirect_shipment(session: Session, inquiry: Inquiry) -> Answer:
    """Send a parcel that is on its way to the address that the customer said."""
    operation = Operation.REDIRECT_SHIPMENT
    if inquiry.order_id is None:
        return refused("logistics", operation, Denial.NO_ORDER_NUMBER)
    if not inquiry.address:
        return refused("logistics", operation, Denial.INCOMPLETE)
    order, standing = read_order(session, inquiry), read_standing(session, inquiry)
    if order is None or standing is None:
        return refused("logistics", operation, Denial.UNKNOWN_ORDER, Fact.ORDER_MISSING)
    if obstacle := standing.obstacle():
        return refused("logistics", operation, obstacle)
    if order.shipment not in ("in transit", "delayed"):
        return refused("logistics", operation, Denial.NOT_ON_ITS_WAY)
    session.execute(_REDIRECT, {"order": order.id, "new_address": inquiry.address})
    session.commit()
    return done("logistics", operation, f"Order {order.id} goes to {inquiry.address}.", Fact.REDIRECTED)


_OF_ORDER: Final = update(table(Shipment)).where(table(Shipment).c.order_id == bindparam("order"))
_TRACE: Final = _OF_ORDER.values(status="traced")
_REDIRECT: Final = _OF_ORDER.values(status="redirected", address=bindparam("new_address"))
