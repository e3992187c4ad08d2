"""What the services do when they may: the answer, its facts, and what changes for the customer."""

from dataclasses import dataclass

import pytest

from db.support_world import SupportWorld
from tests.tools.support.conftest import NEW_ADDRESS, NEW_EMAIL, PLAIN, Find, changed
from tests.tools.support.denials import BOTH, IN_WINDOW, LOCKED, PLACED, SHIPPED, VERIFY
from tools.support.desk import Desk
from tools.support.results import Fact, Operation

GOOD = f"{IN_WINDOW} AND {PLAIN}"


@dataclass(frozen=True)
class Allowed:
    """After ``before``, ``operation`` reveals ``fact`` and makes ``change`` (table, field, value)."""

    operation: Operation
    where: str
    before: tuple[Operation, ...]
    fact: Fact
    change: tuple[str, str, str]


ALLOWED = (
    Allowed(Operation.CANCEL_ORDER, PLACED, VERIFY, Fact.ORDER_CANCELLED, ("orders", "status", "cancelled")),
    Allowed(Operation.REFUND_PART, GOOD, VERIFY, Fact.REFUND_MADE, ("refunds", "amount_cents", "100")),
    Allowed(Operation.CHANGE_ADDRESS, GOOD, VERIFY, Fact.ADDRESS_CHANGED, ("customers", "address", NEW_ADDRESS)),
    Allowed(Operation.CHANGE_EMAIL, GOOD, BOTH, Fact.EMAIL_CHANGED, ("customers", "email", NEW_EMAIL)),
    Allowed(Operation.UNLOCK_ACCOUNT, LOCKED, BOTH, Fact.ACCOUNT_UNLOCKED, ("accounts", "locked", "0")),
    Allowed(Operation.RESET_PASSWORD, GOOD, VERIFY, Fact.PASSWORD_RESET, ("accounts", "reset_day", "1000")),
    Allowed(Operation.OPEN_TRACE, "s.status = 'lost'", (), Fact.TRACE_OPENED, ("shipments", "status", "traced")),
    Allowed(Operation.REDIRECT_SHIPMENT, SHIPPED, VERIFY, Fact.REDIRECTED, ("shipments", "address", NEW_ADDRESS)),
)


@pytest.mark.parametrize("allowed", ALLOWED, ids=lambda each: each.operation)
def test_an_allowed_change_is_made_and_journalled(allowed: Allowed, shop: SupportWorld, find: Find):
    inquiry = find(allowed.where)
    desk = Desk(shop.sessions)
    for operation in allowed.before:
        desk.call(operation, inquiry)
    answer = desk.call(allowed.operation, inquiry)
    assert (answer.outcome, answer.facts) == ("done", (allowed.fact,))
    assert allowed.change in {(entity, field, value) for (entity, _, field), value in shop.changes().items()}


def test_a_full_refund_is_what_was_paid_and_a_cancelled_order_is_refunded(shop: SupportWorld, find: Find):
    inquiry = find(PLACED)
    desk = Desk(shop.sessions)
    for operation in (Operation.VERIFY_IDENTITY, Operation.CANCEL_ORDER, Operation.REFUND_FULL):
        assert desk.call(operation, inquiry).outcome == "done"
    assert inquiry.order_id is not None
    assert ("refunds", inquiry.order_id, "amount_cents") in shop.changes()


def test_reserved_units_are_out_of_stock(shop: SupportWorld, find: Find):
    inquiry = find(f"{GOOD} AND g.on_hand > 0")
    desk = Desk(shop.sessions)
    text = desk.call(Operation.CHECK_STOCK, inquiry).text
    desk.call(Operation.VERIFY_IDENTITY, inquiry)
    assert desk.call(Operation.RESERVE_UNIT, inquiry).facts == (Fact.UNIT_RESERVED,)
    assert desk.call(Operation.CHECK_STOCK, inquiry).text != text


@pytest.mark.parametrize(
    ("operation", "where", "facts"),
    [
        (Operation.FIND_ORDER, PLACED, (Fact.ORDER_PLACED, Fact.PAYMENT_CAPTURED)),
        (Operation.FIND_ORDER, GOOD, (Fact.WINDOW_OPEN, Fact.PAYMENT_CAPTURED)),
        (Operation.TRACK_SHIPMENT, SHIPPED, (Fact.IN_TRANSIT,)),
        (Operation.TRACK_SHIPMENT, PLACED, (Fact.NOT_SENT,)),
        (Operation.READ_REFUND, GOOD, (Fact.NO_REFUND,)),
        (Operation.READ_REFUND, "r.settled_day IS NOT NULL", (Fact.REFUND_SETTLED,)),
        (Operation.READ_REFUND, "r.settled_day IS NULL AND r.day > 990", (Fact.REFUND_ON_ITS_WAY,)),
        (Operation.READ_REFUND, "r.settled_day IS NULL AND r.day < 990", (Fact.REFUND_OVERDUE,)),
        (Operation.CHECK_STOCK, "g.on_hand = 0", (Fact.OUT_OF_STOCK,)),
        (Operation.VERIFY_IDENTITY, LOCKED, (Fact.IDENTITY_VERIFIED, Fact.ACCOUNT_LOCKED)),
    ],
)
def test_what_is_found(operation: Operation, where: str, facts: tuple[Fact, ...], shop: SupportWorld, find: Find):
    answer = Desk(shop.sessions).call(operation, find(where))
    assert (answer.outcome, answer.facts) == ("done", facts)
    assert shop.changes() == {}


def test_without_a_number_the_latest_order_is_found(shop: SupportWorld, find: Find):
    inquiry = find(GOOD)
    answer = Desk(shop.sessions).call(Operation.FIND_ORDER, changed(inquiry, {"order_id": None}))
    assert answer.order_id == inquiry.order_id


def test_a_search_takes_any_characters(shop: SupportWorld, find: Find):
    desk, inquiry = Desk(shop.sessions), find(GOOD)
    for words in (('"', "OR", "NEAR("), ("*",), ("kettle'", "; --"), ("returns", "policy")):
        assert desk.call(Operation.SEARCH_ARTICLES, changed(inquiry, {"words": words})).outcome in ("done", "refused")
    found = desk.call(Operation.SEARCH_ARTICLES, changed(inquiry, {"words": ("Returns", "policies")}))
    assert found.facts == (Fact.ARTICLE_POLICY,)
