"""The desk: the seven services over one world, and their faults.

A fault strikes a service's first call: it is slow (what was asked for is done, the next call brings the answer), fails,
or returns nothing. Which service and how is decided by who builds the desk, from a seed, so that an episode can be
played again. A desk belongs to one world and one contact.
"""

import random
from collections.abc import Callable, Mapping
from typing import Final, Literal, get_args

from sqlalchemy.orm import Session

from db.support_world import OpenSession
from tools.support import auth, customers, inventory, knowledge, logistics, orders, refunds
from tools.support.results import Answer, Inquiry, Operation, Service
from tools.support.wording import faulty

FaultKind = Literal["slow", "failed", "empty"]

SERVICES: Final[Mapping[Operation, tuple[Service, Callable[[Session, Inquiry], Answer]]]] = {
    Operation.FIND_ORDER: ("order", orders.find_order),
    Operation.CANCEL_ORDER: ("order", orders.cancel_order),
    Operation.READ_REFUND: ("refund", refunds.read_refund),
    Operation.REFUND_FULL: ("refund", refunds.refund_full),
    Operation.REFUND_PART: ("refund", refunds.refund_part),
    Operation.READ_PROFILE: ("customer", customers.read_profile),
    Operation.CHANGE_ADDRESS: ("customer", customers.change_address),
    Operation.CHANGE_EMAIL: ("customer", customers.change_email),
    Operation.VERIFY_IDENTITY: ("auth", auth.verify_identity),
    Operation.CONFIRM_SECOND_FACTOR: ("auth", auth.confirm_second_factor),
    Operation.UNLOCK_ACCOUNT: ("auth", auth.unlock_account),
    Operation.RESET_PASSWORD: ("auth", auth.reset_password),
    Operation.READ_SIGN_INS: ("auth", auth.read_sign_ins),
    Operation.TRACK_SHIPMENT: ("logistics", logistics.track_shipment),
    Operation.OPEN_TRACE: ("logistics", logistics.open_trace),
    Operation.REDIRECT_SHIPMENT: ("logistics", logistics.redirect_shipment),
    Operation.CHECK_STOCK: ("inventory", inventory.check_stock),
    Operation.RESERVE_UNIT: ("inventory", inventory.reserve_unit),
    Operation.SEARCH_ARTICLES: ("knowledge", knowledge.search_articles),
}
"""Operation -> the service that does it."""


def service_of(operation: Operation) -> Service:
    """The service that does ``operation``."""
    return SERVICES[operation][0]


def draw_faults(rng: random.Random, services: tuple[Service, ...], rate: float) -> dict[Service, FaultKind]:
    """For ``rate`` of the draws, one of ``services`` and how it fails first."""
    if not services or rng.random() >= rate:
        return {}
    return {rng.choice(services): rng.choice(get_args(FaultKind))}


class Desk:
    """The services of one world for one contact."""

    def __init__(self, sessions: OpenSession, faults: Mapping[Service, FaultKind] | None = None) -> None:
        self._sessions = sessions
        self._faults = dict(faults or {})
        self._late: dict[Service, Answer] = {}

    def call(self, operation: Operation, inquiry: Inquiry) -> Answer:
        """Do ``operation``, or say why not. Raises only for bugs and a broken database."""
        service, run = SERVICES[operation]
        if service in self._late:
            return self._late.pop(service)
        fault = self._faults.pop(service, None)
        if fault in ("failed", "empty"):
            return faulty(service, operation, fault)
        with self._sessions() as session:
            answer = run(session, inquiry)
        if fault == "slow":
            self._late[service] = answer
            return faulty(service, operation, fault)
        return answer
