"""What the services look up before they act: an order with all that hangs on it, and what a contact has proved.

One statement each. Orders are only ever found under their customer's number, so no service tells of another's.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import and_, bindparam, exists, select
from sqlalchemy.orm import Session

from db.support import (
    TODAY,
    Account,
    Customer,
    Order,
    Payment,
    Product,
    Refund,
    Reservation,
    Shipment,
    Verification,
    table,
)
from tools.support.results import Denial, Inquiry

REFUND_WINDOW_DAYS: Final = 30
"""After delivery."""
DESK_LIMIT_CENTS: Final = 50_000
"""More is for people to refund."""


@dataclass(frozen=True, slots=True)
class OrderRecord:
    """An order as the desk sees it; days are counted from the shop's opening."""

    id: int
    product_id: int
    kind: str
    model: str
    quantity: int
    status: str
    delivered_day: int | None
    amount_cents: int
    payment: str
    refund_cents: int | None
    refund_day: int | None
    refund_settled_day: int | None
    shipment: str | None
    scan_day: int | None
    replaced: bool

    @property
    def in_window(self) -> bool:
        """Whether it was delivered, and may still be given back."""
        return self.delivered_day is not None and TODAY - self.delivered_day <= REFUND_WINDOW_DAYS


@dataclass(frozen=True, slots=True)
class Standing:
    """A customer's account, and what this contact has proved about it."""

    closed: bool
    locked: bool
    flagged: bool
    pin: str
    factor_code: str | None
    identity: bool
    second_factor: bool

    def obstacle(self) -> Denial | None:
        """Why nothing may be changed for this contact, if so."""
        if not self.identity:
            return Denial.NOT_VERIFIED
        if self.flagged:
            return Denial.ACCOUNT_FLAGGED
        return Denial.ACCOUNT_CLOSED if self.closed else None


def read_order(session: Session, inquiry: Inquiry) -> OrderRecord | None:
    """The order that ``inquiry`` names, or the customer's latest; ``None`` when the customer has no such order."""
    keys = {"customer": inquiry.customer_id}
    if inquiry.order_id is None:
        row = session.execute(_LATEST, keys).one_or_none()
    else:
        row = session.execute(_NAMED, keys | {"order": inquiry.order_id}).one_or_none()
    return OrderRecord(*row) if row is not None else None


def read_standing(session: Session, inquiry: Inquiry) -> Standing | None:
    """The customer's standing with this contact; ``None`` when there is no such customer."""
    keys = {"customer": inquiry.customer_id, "contact": inquiry.contact}
    row = session.execute(_STANDING, keys).one_or_none()
    return Standing(*row) if row is not None else None


def in_money(cents: int) -> str:
    """An amount in words: ``12.50``."""
    return f"{cents // 100}.{cents % 100:02d}"


_CUSTOMERS, _ACCOUNTS, _PROOFS = (table(model).c for model in (Customer, Account, Verification))
_O, _G, _P, _R, _S, _U = (table(model).c for model in (Order, Product, Payment, Refund, Shipment, Reservation))

_ORDERS: Final = (
    select(
        _O.id,
        _O.product_id,
        _G.kind,
        _G.model,
        _O.quantity,
        _O.status,
        _O.delivered_day,
        _P.amount_cents,
        _P.status,
        _R.amount_cents,
        _R.day,
        _R.settled_day,
        _S.status,
        _S.scan_day,
        _U.order_id.is_not(None),
    )
    .select_from(
        table(Order)
        .join(table(Product), _G.id == _O.product_id)
        .join(table(Payment), _P.order_id == _O.id)
        .outerjoin(table(Refund), _R.order_id == _O.id)
        .outerjoin(table(Shipment), _S.order_id == _O.id)
        .outerjoin(table(Reservation), _U.order_id == _O.id)
    )
    .where(_O.customer_id == bindparam("customer"))
)
_NAMED: Final = _ORDERS.where(_O.id == bindparam("order"))
_LATEST: Final = _ORDERS.order_by(_O.id.desc()).limit(1)


def _proved(proof: str):
    return exists().where(
        and_(_PROOFS.contact == bindparam("contact"), _PROOFS.customer_id == _CUSTOMERS.id, _PROOFS.proof == proof)
    )


_STANDING: Final = (
    select(
        _CUSTOMERS.closed,
        _ACCOUNTS.locked,
        _ACCOUNTS.flagged,
        _CUSTOMERS.pin,
        _ACCOUNTS.factor_code,
        _proved("identity"),
        _proved("second factor"),
    )
    .select_from(table(Customer).join(table(Account), _ACCOUNTS.customer_id == _CUSTOMERS.id))
    .where(_CUSTOMERS.id == bindparam("customer"))
)
