"""What customers ask for, and what the services do about it when an agent invokes them.

An action is only an id, so the operation behind it follows from what the customer asked and what has been done: each
request lists what may be asked of each service, in order. The list comes from the request alone, never from what would
be right: asking the refund service about an order whose window has passed asks it for a refund all the same.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, get_args

from tools.support.desk import service_of
from tools.support.results import Fact, Operation, Service

Category = Literal["order_status", "shipping", "refund", "auth", "account", "cancellation", "replacement", "technical"]
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)

Request = Literal[
    "order_status",
    "missing_parcel",
    "redirect_parcel",
    "refund_full",
    "refund_part",
    "refund_status",
    "unlock_account",
    "reset_password",
    "sign_in_error",
    "change_address",
    "change_email",
    "cancel_order",
    "replace_product",
    "stock_question",
    "how_to",
    "defect",
]
REQUESTS: Final[tuple[Request, ...]] = get_args(Request)


@dataclass(frozen=True)
class Ask:
    """One operation that a request may come to; with ``when``, only after that fact was revealed."""

    operation: Operation
    when: Fact | None = None


@dataclass(frozen=True)
class RequestKind:
    """A request's category and what it asks of the services, each service's operations in order."""

    category: Category
    asks: tuple[Ask, ...]


def _kind(category: Category, *asks: Operation | Ask) -> RequestKind:
    return RequestKind(category, tuple(ask if isinstance(ask, Ask) else Ask(ask) for ask in asks))


KINDS: Final[Mapping[Request, RequestKind]] = {
    "order_status": _kind("order_status", Operation.FIND_ORDER, Operation.TRACK_SHIPMENT),
    "missing_parcel": _kind("shipping", Operation.FIND_ORDER, Operation.TRACK_SHIPMENT, Operation.OPEN_TRACE),
    "redirect_parcel": _kind("shipping", Operation.FIND_ORDER, Operation.VERIFY_IDENTITY, Operation.REDIRECT_SHIPMENT),
    "refund_full": _kind("refund", Operation.FIND_ORDER, Operation.VERIFY_IDENTITY, Operation.REFUND_FULL),
    "refund_part": _kind("refund", Operation.FIND_ORDER, Operation.VERIFY_IDENTITY, Operation.REFUND_PART),
    "refund_status": _kind("refund", Operation.FIND_ORDER, Operation.READ_REFUND),
    "unlock_account": _kind(
        "auth", Operation.VERIFY_IDENTITY, Operation.CONFIRM_SECOND_FACTOR, Operation.UNLOCK_ACCOUNT
    ),
    "reset_password": _kind(
        "auth",
        Operation.VERIFY_IDENTITY,
        Ask(Operation.CONFIRM_SECOND_FACTOR, when=Fact.ACCOUNT_LOCKED),
        Ask(Operation.UNLOCK_ACCOUNT, when=Fact.ACCOUNT_LOCKED),
        Operation.RESET_PASSWORD,
    ),
    "sign_in_error": _kind("auth", Operation.SEARCH_ARTICLES),
    "change_address": _kind("account", Operation.VERIFY_IDENTITY, Operation.CHANGE_ADDRESS),
    "change_email": _kind(
        "account", Operation.VERIFY_IDENTITY, Operation.CONFIRM_SECOND_FACTOR, Operation.CHANGE_EMAIL
    ),
    "cancel_order": _kind(
        "cancellation",
        Operation.FIND_ORDER,
        Operation.VERIFY_IDENTITY,
        Operation.CANCEL_ORDER,
        Operation.REFUND_FULL,
    ),
    "replace_product": _kind(
        "replacement",
        Operation.FIND_ORDER,
        Operation.CHECK_STOCK,
        Operation.VERIFY_IDENTITY,
        Operation.RESERVE_UNIT,
        Operation.REFUND_FULL,
    ),
    "stock_question": _kind("replacement", Operation.CHECK_STOCK),
    "how_to": _kind("technical", Operation.SEARCH_ARTICLES),
    "defect": _kind("technical", Operation.SEARCH_ARTICLES, Operation.FIND_ORDER),
}

_OTHERWISE: Final[Mapping[Service, Ask]] = {
    "order": Ask(Operation.FIND_ORDER),
    "refund": Ask(Operation.READ_REFUND),
    "customer": Ask(Operation.READ_PROFILE),
    "auth": Ask(Operation.VERIFY_IDENTITY),
    "logistics": Ask(Operation.TRACK_SHIPMENT),
    "inventory": Ask(Operation.CHECK_STOCK),
    "knowledge": Ask(Operation.SEARCH_ARTICLES),
}
"""What a service that the request does not come to is asked."""


def next_operation(
    request: Request, service: Service, settled: Collection[Operation], facts: Collection[Fact]
) -> Operation:
    """What ``service`` is asked to do next: the first of its operations that is not settled, else its last again.

    :param settled: the operations that have been answered.
    :param facts: what has been revealed.
    """
    asks = _asks(request, service)
    last = asks[0].operation
    for ask in asks:
        if ask.when is None or ask.when in facts:
            last = ask.operation
            if last not in settled:
                break
    return last


@cache
def _asks(request: Request, service: Service) -> tuple[Ask, ...]:
    asks = tuple(ask for ask in KINDS[request].asks if service_of(ask.operation) == service)
    return asks or (_OTHERWISE[service],)
