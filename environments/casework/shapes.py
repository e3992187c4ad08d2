"""The shapes that cases have: what has to be found and done, in an order that works, and how the case is closed.

Shapes of one request look alike to the customer; which one a case has shows only in what the services answer. Each
needs one to four calls. ``fits`` says which situations of the shop have the shape.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from environments.casework.actions import Action
from environments.casework.requests import KINDS, Category, Request
from environments.casework.situations import Situation
from tools.support.results import Fact, Operation

RESOLVE: Final = Action.RESOLVE_QUERY
ASK: Final = Action.REQUEST_CUSTOMER_INFORMATION
BILLING: Final = Action.ROUTE_TO_BILLING_DEPARTMENT
TECHNICAL: Final = Action.ROUTE_TO_TECHNICAL_SUPPORT
ESCALATE: Final = Action.ESCALATE_TO_HUMAN_AGENT

Fits = Callable[[Situation], bool]


@dataclass(frozen=True)
class Need:
    """A call that the case cannot do without, and the fact that its answer has to bring."""

    operation: Operation
    fact: Fact


@dataclass(frozen=True)
class Shape:
    """One way that a request turns out."""

    name: str
    request: Request
    needs: tuple[Need, ...]
    terminal: Action
    fits: Fits
    wrong: tuple[str, ...] = ()
    """What the customer says that is not so: ``pin``, ``code``, ``order``, ``amount``."""
    advice: str | None = None
    """What the article on the customer's problem leads to; ``none``: there is none. Else policies are looked up."""

    @property
    def category(self) -> Category:
        return KINDS[self.request].category


FIND: Final = Operation.FIND_ORDER
OPEN: Final = Need(FIND, Fact.WINDOW_OPEN)
LATE: Final = Need(FIND, Fact.WINDOW_CLOSED)
SENT: Final = Need(FIND, Fact.ORDER_SHIPPED)
VERIFIED: Final = Need(Operation.VERIFY_IDENTITY, Fact.IDENTITY_VERIFIED)
UNVERIFIED: Final = Need(Operation.VERIFY_IDENTITY, Fact.IDENTITY_REFUSED)
CONFIRMED: Final = Need(Operation.CONFIRM_SECOND_FACTOR, Fact.FACTOR_CONFIRMED)
UNCONFIRMED: Final = Need(Operation.CONFIRM_SECOND_FACTOR, Fact.FACTOR_REFUSED)
REFUNDED: Final = Need(Operation.REFUND_FULL, Fact.REFUND_MADE)
POLICY: Final = Need(Operation.SEARCH_ARTICLES, Fact.ARTICLE_POLICY)
STEPS: Final = Need(Operation.SEARCH_ARTICLES, Fact.ARTICLE_STEPS)
KNOWN_FAULT: Final = Need(Operation.SEARCH_ARTICLES, Fact.ARTICLE_TECHNICAL)


def _returnable(s: Situation) -> bool:
    return s.plain and s.returnable


def _late(s: Situation) -> bool:
    return s.plain and s.late


def _anyone(s: Situation) -> bool:
    return s.plain


def _tracked(*states: str) -> Fits:
    return lambda s: s.plain and s.shipment in states


def _paid(payment: str) -> Fits:
    return lambda s: s.plain and s.status == "placed" and s.payment == payment


SHAPES: Final[tuple[Shape, ...]] = (
    Shape(
        "placed",
        "order_status",
        (Need(FIND, Fact.ORDER_PLACED),),
        RESOLVE,
        lambda s: s.plain and s.status == "placed" and s.payment != "failed",
    ),
    Shape(
        "sent",
        "order_status",
        (SENT, Need(Operation.TRACK_SHIPMENT, Fact.IN_TRANSIT)),
        RESOLVE,
        _tracked("in transit"),
    ),
    Shape("unpaid", "order_status", (Need(FIND, Fact.PAYMENT_FAILED),), BILLING, _paid("failed")),
    Shape("unknown", "order_status", (Need(FIND, Fact.ORDER_MISSING),), ASK, _anyone, wrong=("order",)),
    Shape(
        "delayed",
        "missing_parcel",
        (SENT, Need(Operation.TRACK_SHIPMENT, Fact.DELAYED)),
        RESOLVE,
        _tracked("delayed"),
    ),
    Shape(
        "lost",
        "missing_parcel",
        (SENT, Need(Operation.TRACK_SHIPMENT, Fact.LOST), Need(Operation.OPEN_TRACE, Fact.TRACE_OPENED)),
        RESOLVE,
        _tracked("lost"),
    ),
    Shape(
        "arrived",
        "missing_parcel",
        (OPEN, Need(Operation.TRACK_SHIPMENT, Fact.ARRIVED)),
        ESCALATE,
        _returnable,
    ),
    Shape(
        "on its way",
        "redirect_parcel",
        (SENT, VERIFIED, Need(Operation.REDIRECT_SHIPMENT, Fact.REDIRECTED)),
        RESOLVE,
        _tracked("in transit", "delayed"),
    ),
    Shape("too late", "redirect_parcel", (OPEN,), RESOLVE, _returnable),
    Shape("in window", "refund_full", (OPEN, VERIFIED, REFUNDED), RESOLVE, _returnable),
    Shape("window closed", "refund_full", (LATE, POLICY), RESOLVE, _late),
    Shape(
        "refunded",
        "refund_full",
        (Need(FIND, Fact.REFUND_EXISTS),),
        RESOLVE,
        lambda s: s.plain and s.settled_day is not None,
    ),
    Shape(
        "disputed",
        "refund_full",
        (Need(FIND, Fact.PAYMENT_DISPUTED),),
        BILLING,
        lambda s: s.plain and s.payment == "disputed",
    ),
    Shape(
        "expensive",
        "refund_full",
        (Need(FIND, Fact.OVER_DESK_LIMIT), VERIFIED),
        ESCALATE,
        lambda s: s.plain and s.paid_cents > 50_000 and s.payment == "captured" and s.status == "delivered",
    ),
    Shape("stranger", "refund_full", (OPEN, UNVERIFIED), ASK, _returnable, wrong=("pin",)),
    Shape(
        "part",
        "refund_part",
        (OPEN, VERIFIED, Need(Operation.REFUND_PART, Fact.REFUND_MADE)),
        RESOLVE,
        _returnable,
    ),
    Shape(
        "too much",
        "refund_part",
        (Need(FIND, Fact.CLAIM_ABOVE_PAID),),
        BILLING,
        _returnable,
        wrong=("amount",),
    ),
    Shape(
        "refund on its way",
        "refund_status",
        (Need(FIND, Fact.REFUND_EXISTS), Need(Operation.READ_REFUND, Fact.REFUND_ON_ITS_WAY)),
        RESOLVE,
        lambda s: s.plain and s.refund_day is not None and s.settled_day is None and s.refund_day > 990,
    ),
    Shape(
        "refund overdue",
        "refund_status",
        (Need(FIND, Fact.REFUND_EXISTS), Need(Operation.READ_REFUND, Fact.REFUND_OVERDUE)),
        BILLING,
        lambda s: s.plain and s.refund_day is not None and s.settled_day is None and s.refund_day <= 989,
    ),
    Shape(
        "locked",
        "unlock_account",
        (VERIFIED, CONFIRMED, Need(Operation.UNLOCK_ACCOUNT, Fact.ACCOUNT_UNLOCKED)),
        RESOLVE,
        lambda s: s.locked and s.code is not None,
    ),
    Shape(
        "no factor",
        "unlock_account",
        (VERIFIED, UNCONFIRMED),
        ESCALATE,
        lambda s: s.locked and s.code is None,
    ),
    Shape(
        "flagged",
        "unlock_account",
        (Need(Operation.VERIFY_IDENTITY, Fact.ACCOUNT_FLAGGED),),
        ESCALATE,
        lambda s: s.flagged,
    ),
    Shape(
        "stranger",
        "unlock_account",
        (UNVERIFIED,),
        ASK,
        lambda s: s.locked,
        wrong=("pin",),
    ),
    Shape(
        "open",
        "reset_password",
        (VERIFIED, Need(Operation.RESET_PASSWORD, Fact.PASSWORD_RESET)),
        RESOLVE,
        _anyone,
    ),
    Shape(
        "locked",
        "reset_password",
        (
            Need(Operation.VERIFY_IDENTITY, Fact.ACCOUNT_LOCKED),
            CONFIRMED,
            Need(Operation.UNLOCK_ACCOUNT, Fact.ACCOUNT_UNLOCKED),
            Need(Operation.RESET_PASSWORD, Fact.PASSWORD_RESET),
        ),
        RESOLVE,
        lambda s: s.locked and s.code is not None,
    ),
    Shape("known steps", "sign_in_error", (STEPS,), RESOLVE, _anyone, advice="steps"),
    Shape("known fault", "sign_in_error", (KNOWN_FAULT,), TECHNICAL, _anyone, advice="technical"),
    Shape(
        "allowed",
        "change_address",
        (VERIFIED, Need(Operation.CHANGE_ADDRESS, Fact.ADDRESS_CHANGED)),
        RESOLVE,
        _anyone,
    ),
    Shape(
        "closed",
        "change_address",
        (Need(Operation.VERIFY_IDENTITY, Fact.ACCOUNT_CLOSED),),
        ESCALATE,
        lambda s: s.closed,
    ),
    Shape(
        "allowed",
        "change_email",
        (VERIFIED, CONFIRMED, Need(Operation.CHANGE_EMAIL, Fact.EMAIL_CHANGED)),
        RESOLVE,
        _anyone,
    ),
    Shape("wrong code", "change_email", (VERIFIED, UNCONFIRMED), ASK, _anyone, wrong=("code",)),
    Shape(
        "not charged",
        "cancel_order",
        (
            Need(FIND, Fact.PAYMENT_AUTHORISED),
            VERIFIED,
            Need(Operation.CANCEL_ORDER, Fact.ORDER_CANCELLED),
        ),
        RESOLVE,
        _paid("authorised"),
    ),
    Shape(
        "charged",
        "cancel_order",
        (
            Need(FIND, Fact.PAYMENT_CAPTURED),
            VERIFIED,
            Need(Operation.CANCEL_ORDER, Fact.ORDER_CANCELLED),
            REFUNDED,
        ),
        RESOLVE,
        _paid("captured"),
    ),
    Shape("sent", "cancel_order", (SENT, POLICY), RESOLVE, _tracked("in transit", "delayed")),
    Shape(
        "in stock",
        "replace_product",
        (
            OPEN,
            Need(Operation.CHECK_STOCK, Fact.IN_STOCK),
            VERIFIED,
            Need(Operation.RESERVE_UNIT, Fact.UNIT_RESERVED),
        ),
        RESOLVE,
        lambda s: _returnable(s) and s.on_hand > 0,
    ),
    Shape(
        "out of stock",
        "replace_product",
        (OPEN, Need(Operation.CHECK_STOCK, Fact.OUT_OF_STOCK), VERIFIED, REFUNDED),
        RESOLVE,
        lambda s: _returnable(s) and s.on_hand == 0,
    ),
    Shape("window closed", "replace_product", (LATE, POLICY), RESOLVE, _late),
    Shape(
        "in stock",
        "stock_question",
        (Need(Operation.CHECK_STOCK, Fact.IN_STOCK),),
        RESOLVE,
        lambda s: s.plain and s.on_hand > 0,
    ),
    Shape(
        "out of stock",
        "stock_question",
        (Need(Operation.CHECK_STOCK, Fact.OUT_OF_STOCK),),
        RESOLVE,
        lambda s: s.plain and s.on_hand == 0,
    ),
    Shape("known steps", "how_to", (STEPS,), RESOLVE, _anyone, advice="steps"),
    Shape(
        "unknown",
        "how_to",
        (Need(Operation.SEARCH_ARTICLES, Fact.NO_ARTICLE),),
        TECHNICAL,
        _anyone,
        advice="none",
    ),
    Shape("known fault", "defect", (KNOWN_FAULT, OPEN), TECHNICAL, _returnable, advice="technical"),
    Shape("known fault, late", "defect", (KNOWN_FAULT, LATE), BILLING, _late, advice="technical"),
    Shape(
        "hazard",
        "defect",
        (Need(Operation.SEARCH_ARTICLES, Fact.ARTICLE_HAZARD),),
        ESCALATE,
        _anyone,
        advice="hazard",
    ),
)

BY_NAME: Final[Mapping[tuple[Request, str], Shape]] = {(shape.request, shape.name): shape for shape in SHAPES}
