"""The services' answers in words: one sentence per fact or denial, the same for people and language models.

They are prompts: changing one changes behaviour. Numbers and dates are filled in by the service that knows them.
"""

from collections.abc import Mapping
from typing import Final

from tools.support.results import Answer, Denial, Fact, Operation, Outcome, Service

DENIALS: Final[Mapping[Denial, str]] = {
    Denial.NOT_VERIFIED: "the identity of the customer has not been verified",
    Denial.SECOND_FACTOR_NEEDED: "this needs the second factor",
    Denial.ACCOUNT_LOCKED: "the account is locked",
    Denial.ACCOUNT_FLAGGED: "the fraud team watches this account; only a human agent may touch it",
    Denial.ACCOUNT_CLOSED: "the account is closed; only a human agent reopens it",
    Denial.WINDOW_CLOSED: "the return window of 30 days has passed",
    Denial.NOT_DELIVERED: "the order has not been delivered",
    Denial.ALREADY_REFUNDED: "this order has been refunded",
    Denial.MORE_THAN_PAID: "that is more than was paid",
    Denial.OVER_DESK_LIMIT: "this amount is above what the desk may refund",
    Denial.PAYMENT_DISPUTED: "the payment is disputed at the bank",
    Denial.NOTHING_CAPTURED: "no money was taken for this order",
    Denial.ALREADY_SENT: "the order has been sent and cannot be cancelled",
    Denial.ALREADY_CANCELLED: "the order is cancelled already",
    Denial.NOT_ON_ITS_WAY: "the parcel is not on its way",
    Denial.NOT_LOST: "the carrier has not lost this parcel",
    Denial.OUT_OF_STOCK: "no unit is in stock",
    Denial.ALREADY_REPLACED: "a unit is reserved for this order already",
    Denial.UNKNOWN_ORDER: "this customer has no such order",
    Denial.UNKNOWN_CUSTOMER: "there is no such customer",
    Denial.UNKNOWN_PRODUCT: "the shop has no such product",
    Denial.NO_ORDER_NUMBER: "no order number is known; the order service finds it",
    Denial.INCOMPLETE: "something that this needs was not said",
    Denial.PIN_WRONG: "the PIN is not this customer's",
    Denial.NO_SECOND_FACTOR: "no second factor is registered for this account",
    Denial.CODE_WRONG: "the code of the second factor is wrong",
    Denial.NOTHING_FOUND: "no article is about this",
}

_FAULTS: Final[Mapping[Outcome, str]] = {
    "slow": "Still working; the next call brings the answer.",
    "failed": "The service is not available at the moment; call it again.",
    "empty": "The service returned an empty answer; call it again.",
}


def done(service: Service, operation: Operation, text: str, *facts: Fact, order_id: int | None = None) -> Answer:
    """What was asked for was done or found."""
    return Answer(service, operation, "done", text, facts, order_id=order_id)


def refused(service: Service, operation: Operation, denial: Denial, *facts: Fact) -> Answer:
    """It was not, and nothing changed."""
    return Answer(service, operation, "refused", f"Refused: {DENIALS[denial]}.", facts, denial)


def faulty(service: Service, operation: Operation, outcome: Outcome) -> Answer:
    """The service did not come to answering."""
    return Answer(service, operation, outcome, _FAULTS[outcome])
