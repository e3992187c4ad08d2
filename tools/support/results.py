"""What a support service hands back: an outcome, facts from a closed set, and the same in words.

Facts are what an agent may act on and what an environment shows it; the words are for people and language models.
A denial is a readable "no" that changed nothing. A denial that is a ``breach`` forbade what policy forbids; the others
say that something is unknown, missing or cannot be proved, and asking for it was no wrong.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

Service = Literal["order", "refund", "customer", "auth", "logistics", "inventory", "knowledge"]

Outcome = Literal["done", "refused", "slow", "failed", "empty"]
"""``slow``: it is being done, the next call brings the answer. ``failed``, ``empty``: nothing was done; call again."""

FAULTS: Final[frozenset[Outcome]] = frozenset({"slow", "failed", "empty"})


class Operation(StrEnum):
    """What the services can be asked to do."""

    FIND_ORDER = "find_order"
    CANCEL_ORDER = "cancel_order"
    READ_REFUND = "read_refund"
    REFUND_FULL = "refund_full"
    REFUND_PART = "refund_part"
    READ_PROFILE = "read_profile"
    CHANGE_ADDRESS = "change_address"
    CHANGE_EMAIL = "change_email"
    VERIFY_IDENTITY = "verify_identity"
    CONFIRM_SECOND_FACTOR = "confirm_second_factor"
    UNLOCK_ACCOUNT = "unlock_account"
    RESET_PASSWORD = "reset_password"
    READ_SIGN_INS = "read_sign_ins"
    TRACK_SHIPMENT = "track_shipment"
    OPEN_TRACE = "open_trace"
    REDIRECT_SHIPMENT = "redirect_shipment"
    CHECK_STOCK = "check_stock"
    RESERVE_UNIT = "reserve_unit"
    SEARCH_ARTICLES = "search_articles"


class Fact(StrEnum):
    """What a service may reveal or confirm."""

    ORDER_MISSING = "order_missing"
    ORDER_PLACED = "order_placed"
    ORDER_SHIPPED = "order_shipped"
    ORDER_CANCELLED = "order_cancelled"
    WINDOW_OPEN = "window_open"
    WINDOW_CLOSED = "window_closed"
    PAYMENT_AUTHORISED = "payment_authorised"
    PAYMENT_CAPTURED = "payment_captured"
    PAYMENT_FAILED = "payment_failed"
    PAYMENT_DISPUTED = "payment_disputed"
    OVER_DESK_LIMIT = "over_desk_limit"
    CLAIM_ABOVE_PAID = "claim_above_paid"
    REFUND_EXISTS = "refund_exists"
    REFUND_SETTLED = "refund_settled"
    REFUND_ON_ITS_WAY = "refund_on_its_way"
    REFUND_OVERDUE = "refund_overdue"
    NO_REFUND = "no_refund"
    REFUND_MADE = "refund_made"
    PROFILE_READ = "profile_read"
    ADDRESS_CHANGED = "address_changed"
    EMAIL_CHANGED = "email_changed"
    IDENTITY_VERIFIED = "identity_verified"
    IDENTITY_REFUSED = "identity_refused"
    ACCOUNT_LOCKED = "account_locked"
    ACCOUNT_FLAGGED = "account_flagged"
    ACCOUNT_CLOSED = "account_closed"
    FACTOR_CONFIRMED = "factor_confirmed"
    FACTOR_REFUSED = "factor_refused"
    ACCOUNT_UNLOCKED = "account_unlocked"
    PASSWORD_RESET = "password_reset"
    SIGN_INS_READ = "sign_ins_read"
    IN_TRANSIT = "in_transit"
    DELAYED = "delayed"
    LOST = "lost"
    ARRIVED = "arrived"
    NOT_SENT = "not_sent"
    TRACE_OPENED = "trace_opened"
    REDIRECTED = "redirected"
    IN_STOCK = "in_stock"
    OUT_OF_STOCK = "out_of_stock"
    UNIT_RESERVED = "unit_reserved"
    ARTICLE_STEPS = "article_steps"
    ARTICLE_TECHNICAL = "article_technical"
    ARTICLE_HAZARD = "article_hazard"
    ARTICLE_POLICY = "article_policy"
    NO_ARTICLE = "no_article"


class Denial(StrEnum):
    """Why a service did not do what it was asked to."""

    NOT_VERIFIED = "not_verified"
    SECOND_FACTOR_NEEDED = "second_factor_needed"
    ACCOUNT_LOCKED = "account_locked"
    ACCOUNT_FLAGGED = "account_flagged"
    ACCOUNT_CLOSED = "account_closed"
    WINDOW_CLOSED = "window_closed"
    NOT_DELIVERED = "not_delivered"
    ALREADY_REFUNDED = "already_refunded"
    MORE_THAN_PAID = "more_than_paid"
    OVER_DESK_LIMIT = "over_desk_limit"
    PAYMENT_DISPUTED = "payment_disputed"
    NOTHING_CAPTURED = "nothing_captured"
    ALREADY_SENT = "already_sent"
    ALREADY_CANCELLED = "already_cancelled"
    NOT_ON_ITS_WAY = "not_on_its_way"
    NOT_LOST = "not_lost"
    OUT_OF_STOCK = "out_of_stock"
    ALREADY_REPLACED = "already_replaced"
    UNKNOWN_ORDER = "unknown_order"
    UNKNOWN_CUSTOMER = "unknown_customer"
    UNKNOWN_PRODUCT = "unknown_product"
    NO_ORDER_NUMBER = "no_order_number"
    INCOMPLETE = "incomplete"
    PIN_WRONG = "pin_wrong"
    NO_SECOND_FACTOR = "no_second_factor"
    CODE_WRONG = "code_wrong"
    NOTHING_FOUND = "nothing_found"

    @property
    def breach(self) -> bool:
        """Whether policy forbids what was tried, so that trying it was wrong."""
        return self not in _NO_BREACH


_NO_BREACH: Final = frozenset(
    {
        Denial.UNKNOWN_ORDER,
        Denial.UNKNOWN_CUSTOMER,
        Denial.UNKNOWN_PRODUCT,
        Denial.NO_ORDER_NUMBER,
        Denial.INCOMPLETE,
        Denial.PIN_WRONG,
        Denial.NO_SECOND_FACTOR,
        Denial.CODE_WRONG,
        Denial.NOTHING_FOUND,
    }
)


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Who asks, about what, and what they have said: all that a service is told."""

    contact: str
    """The conversation; proofs of identity hold for it alone."""
    customer_id: int
    order_id: int | None = None
    pin: str | None = None
    code: str | None = None
    """Of the second factor."""
    amount_cents: int | None = None
    address: str | None = None
    email: str | None = None
    words: tuple[str, ...] = ()
    """What to search articles for, or a product's model."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A service's answer to one call."""

    service: Service
    operation: Operation
    outcome: Outcome
    text: str
    facts: tuple[Fact, ...] = ()
    denial: Denial | None = None
    order_id: int | None = None
    """The order that was found."""

    @property
    def breach(self) -> bool:
        return self.denial is not None and self.denial.breach
