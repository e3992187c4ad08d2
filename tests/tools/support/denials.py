"""The table of denied operations: who may not have what, after what has been done, and why."""

from dataclasses import dataclass, field

from tests.tools.support.conftest import PLAIN
from tools.support.results import Denial, Operation

IN_WINDOW = (
    "o.status = 'delivered' AND o.delivered_day > 970 AND p.status = 'captured' AND r.order_id IS NULL "
    "AND p.amount_cents <= 50000"
)
VERIFY = (Operation.VERIFY_IDENTITY,)
BOTH = (Operation.VERIFY_IDENTITY, Operation.CONFIRM_SECOND_FACTOR)


@dataclass(frozen=True)
class Denied:
    """After ``before``, ``operation`` is refused because of ``why`` for a customer like ``where``."""

    operation: Operation
    why: Denial
    where: str = f"{IN_WINDOW} AND {PLAIN}"
    before: tuple[Operation, ...] = VERIFY
    said: dict[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        told = "-".join(self.said)
        return f"{self.operation}: {self.why} {told}".strip()


PLACED = f"o.status = 'placed' AND p.status = 'captured' AND {PLAIN}"
SHIPPED = f"s.status = 'in transit' AND {PLAIN}"
FLAGGED = f"{IN_WINDOW} AND a.flagged = 1"
CLOSED = f"{IN_WINDOW} AND c.closed = 1"
LOCKED = "a.locked = 1 AND a.factor_code IS NOT NULL"

_GUARDED = (
    Operation.CANCEL_ORDER,
    Operation.REFUND_FULL,
    Operation.REFUND_PART,
    Operation.CHANGE_ADDRESS,
    Operation.CHANGE_EMAIL,
    Operation.UNLOCK_ACCOUNT,
    Operation.RESET_PASSWORD,
    Operation.REDIRECT_SHIPMENT,
    Operation.RESERVE_UNIT,
)
"""What changes a customer's money or data."""

_READS_DATA = (Operation.READ_PROFILE, Operation.READ_SIGN_INS, Operation.CONFIRM_SECOND_FACTOR)

_OF_ORDERS = (
    Operation.CANCEL_ORDER,
    Operation.READ_REFUND,
    Operation.REFUND_FULL,
    Operation.REFUND_PART,
    Operation.TRACK_SHIPMENT,
    Operation.OPEN_TRACE,
    Operation.REDIRECT_SHIPMENT,
    Operation.CHECK_STOCK,
    Operation.RESERVE_UNIT,
)

DENIED: tuple[Denied, ...] = (
    *(Denied(each, Denial.NOT_VERIFIED, before=()) for each in (*_GUARDED, *_READS_DATA)),
    *(Denied(each, Denial.ACCOUNT_FLAGGED, FLAGGED) for each in _GUARDED),
    *(Denied(each, Denial.ACCOUNT_CLOSED, CLOSED) for each in _GUARDED),
    *(Denied(each, Denial.NO_ORDER_NUMBER, said={"order_id": None}) for each in _OF_ORDERS),
    *(Denied(each, Denial.UNKNOWN_ORDER, said={"order_id": 99}) for each in (*_OF_ORDERS, Operation.FIND_ORDER)),
    *(Denied(each, Denial.UNKNOWN_CUSTOMER, before=(), said={"customer_id": 999_999}) for each in VERIFY),
    Denied(Operation.VERIFY_IDENTITY, Denial.PIN_WRONG, before=(), said={"pin": "none"}),
    Denied(Operation.VERIFY_IDENTITY, Denial.INCOMPLETE, before=(), said={"pin": None}),
    Denied(Operation.CONFIRM_SECOND_FACTOR, Denial.CODE_WRONG, said={"code": "000"}),
    Denied(Operation.CONFIRM_SECOND_FACTOR, Denial.CODE_WRONG, said={"code": None}),
    Denied(Operation.CONFIRM_SECOND_FACTOR, Denial.NO_SECOND_FACTOR, "a.factor_code IS NULL"),
    Denied(Operation.UNLOCK_ACCOUNT, Denial.SECOND_FACTOR_NEEDED, LOCKED),
    Denied(Operation.UNLOCK_ACCOUNT, Denial.SECOND_FACTOR_NEEDED, "a.locked = 1 AND a.factor_code IS NULL"),
    Denied(Operation.CHANGE_EMAIL, Denial.SECOND_FACTOR_NEEDED),
    Denied(Operation.RESET_PASSWORD, Denial.ACCOUNT_LOCKED, LOCKED),
    Denied(Operation.RESET_PASSWORD, Denial.ACCOUNT_LOCKED, LOCKED, before=BOTH),
    Denied(Operation.CHANGE_ADDRESS, Denial.INCOMPLETE, said={"address": None}),
    Denied(Operation.CHANGE_EMAIL, Denial.INCOMPLETE, said={"email": ""}),
    Denied(Operation.REDIRECT_SHIPMENT, Denial.INCOMPLETE, SHIPPED, said={"address": None}),
    Denied(Operation.REFUND_PART, Denial.INCOMPLETE, said={"amount_cents": None}),
    Denied(Operation.REFUND_PART, Denial.INCOMPLETE, said={"amount_cents": -100}),
    Denied(Operation.REFUND_PART, Denial.MORE_THAN_PAID, said={"amount_cents": 10_000_000}),
    Denied(Operation.REFUND_FULL, Denial.ALREADY_REFUNDED, before=(*VERIFY, Operation.REFUND_FULL)),
    Denied(Operation.REFUND_PART, Denial.ALREADY_REFUNDED, before=(*VERIFY, Operation.REFUND_PART)),
    Denied(Operation.REFUND_FULL, Denial.ALREADY_REFUNDED, before=(*VERIFY, Operation.REFUND_PART)),
    Denied(Operation.REFUND_FULL, Denial.ALREADY_REFUNDED, f"r.order_id IS NOT NULL AND {PLAIN}"),
    Denied(Operation.REFUND_FULL, Denial.WINDOW_CLOSED, f"o.delivered_day < 970 AND p.status = 'captured' AND {PLAIN}"),
    Denied(Operation.REFUND_PART, Denial.WINDOW_CLOSED, f"o.delivered_day < 970 AND p.status = 'captured' AND {PLAIN}"),
    Denied(Operation.REFUND_FULL, Denial.NOT_DELIVERED, SHIPPED),
    Denied(Operation.REFUND_FULL, Denial.NOT_DELIVERED, PLACED),
    Denied(Operation.REFUND_FULL, Denial.PAYMENT_DISPUTED, f"p.status = 'disputed' AND {PLAIN}"),
    Denied(Operation.REFUND_FULL, Denial.NOTHING_CAPTURED, f"p.status = 'authorised' AND {PLAIN}"),
    Denied(Operation.REFUND_FULL, Denial.NOTHING_CAPTURED, f"p.status = 'failed' AND {PLAIN}"),
    Denied(
        Operation.REFUND_FULL,
        Denial.OVER_DESK_LIMIT,
        f"p.amount_cents > 50000 AND p.status = 'captured' AND o.delivered_day > 970 AND {PLAIN}",
    ),
    Denied(Operation.CANCEL_ORDER, Denial.ALREADY_SENT, SHIPPED),
    Denied(Operation.CANCEL_ORDER, Denial.ALREADY_SENT),
    Denied(Operation.CANCEL_ORDER, Denial.ALREADY_CANCELLED, PLACED, before=(*VERIFY, Operation.CANCEL_ORDER)),
    Denied(Operation.REDIRECT_SHIPMENT, Denial.NOT_ON_ITS_WAY),
    Denied(Operation.REDIRECT_SHIPMENT, Denial.NOT_ON_ITS_WAY, PLACED),
    Denied(Operation.OPEN_TRACE, Denial.NOT_LOST, SHIPPED),
    Denied(Operation.OPEN_TRACE, Denial.NOT_LOST),
    Denied(Operation.RESERVE_UNIT, Denial.OUT_OF_STOCK, f"{IN_WINDOW} AND g.on_hand = 0 AND {PLAIN}"),
    Denied(
        Operation.RESERVE_UNIT,
        Denial.ALREADY_REPLACED,
        f"{IN_WINDOW} AND g.on_hand > 0 AND {PLAIN}",
        before=(*VERIFY, Operation.RESERVE_UNIT),
    ),
    Denied(
        Operation.REFUND_FULL,
        Denial.ALREADY_REPLACED,
        f"{IN_WINDOW} AND g.on_hand > 0 AND {PLAIN}",
        before=(*VERIFY, Operation.RESERVE_UNIT),
    ),
    Denied(Operation.RESERVE_UNIT, Denial.ALREADY_REFUNDED, before=(*VERIFY, Operation.REFUND_FULL)),
    Denied(
        Operation.RESERVE_UNIT, Denial.WINDOW_CLOSED, f"o.delivered_day < 970 AND p.status = 'captured' AND {PLAIN}"
    ),
    Denied(Operation.RESERVE_UNIT, Denial.NOT_DELIVERED, PLACED),
    Denied(Operation.RESERVE_UNIT, Denial.NOTHING_CAPTURED, f"p.status = 'disputed' AND {PLAIN}"),
    Denied(Operation.CHECK_STOCK, Denial.UNKNOWN_PRODUCT, said={"words": ("X999",)}),
    Denied(Operation.SEARCH_ARTICLES, Denial.NOTHING_FOUND, said={"words": ("kettle", "unheard")}),
    Denied(Operation.SEARCH_ARTICLES, Denial.INCOMPLETE, said={"words": ()}),
)
