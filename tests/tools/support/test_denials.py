"""Every service refuses what it must, says why, and leaves the shop as it was; alone and among other episodes."""

import asyncio
from dataclasses import replace

import pytest

from db.support_world import SupportWorld, SupportWorlds
from tests.tools.support.conftest import Find, changed, find_in
from tests.tools.support.denials import DENIED, IN_WINDOW, PLAIN, Denied
from tools.support.desk import Desk
from tools.support.results import Denial, Operation


@pytest.mark.parametrize("denied", DENIED, ids=lambda each: each.name)
def test_a_denied_operation_says_why_and_changes_nothing(denied: Denied, shop: SupportWorld, find: Find):
    inquiry = find(denied.where)
    desk = Desk(shop.sessions)
    for operation in denied.before:
        assert desk.call(operation, inquiry).outcome == "done"
    before = dict(shop.changes())
    answer = desk.call(denied.operation, changed(inquiry, denied.said))
    assert (answer.outcome, answer.denial) == ("refused", denied.why)
    assert answer.text.startswith("Refused: ")
    assert shop.changes() == before


def test_every_denial_is_in_the_table():
    assert {denied.why for denied in DENIED} == set(Denial)


@pytest.mark.parametrize("proof", ["contact", "customer_id"])
def test_a_proof_holds_for_one_contact_and_one_customer(proof: str, shop: SupportWorld, find: Find):
    inquiry = find(f"{IN_WINDOW} AND {PLAIN}")
    other = find(f"{IN_WINDOW} AND {PLAIN} AND c.id > {inquiry.customer_id}")
    desk = Desk(shop.sessions)
    assert desk.call(Operation.VERIFY_IDENTITY, inquiry).outcome == "done"
    stranger = replace(inquiry, contact="another") if proof == "contact" else other
    assert desk.call(Operation.REFUND_FULL, stranger).denial is Denial.NOT_VERIFIED
    assert desk.call(Operation.REFUND_FULL, inquiry).outcome == "done"


def test_anothers_order_is_unknown(shop: SupportWorld, find: Find):
    inquiry = find(f"{IN_WINDOW} AND {PLAIN}")
    other = find(f"{IN_WINDOW} AND {PLAIN} AND c.id > {inquiry.customer_id}")
    desk = Desk(shop.sessions)
    desk.call(Operation.VERIFY_IDENTITY, inquiry)
    for operation in (Operation.FIND_ORDER, Operation.REFUND_FULL, Operation.READ_REFUND, Operation.TRACK_SHIPMENT):
        assert desk.call(operation, replace(inquiry, order_id=other.order_id)).denial is Denial.UNKNOWN_ORDER


async def test_denials_hold_among_32_concurrent_episodes(support_worlds: SupportWorlds):
    """All episodes are about the same customers, and half of them do what the other half must not."""

    async def episode(number: int) -> None:
        denied = DENIED[number % len(DENIED)]
        with support_worlds.open() as world:
            inquiry = find_in(world, denied.where)
            desk = Desk(world.sessions)
            for operation in denied.before:
                await asyncio.sleep(0)
                assert desk.call(operation, inquiry).outcome == "done"
            before = dict(world.changes())
            await asyncio.sleep(0)
            answer = desk.call(denied.operation, changed(inquiry, denied.said))
            assert answer.denial is denied.why
            await asyncio.sleep(0)
            assert world.changes() == before

    running = asyncio.Semaphore(32)

    async def one_of_32(number: int) -> None:
        async with running:
            await episode(number)

    async with asyncio.TaskGroup() as group:
        for number in range(2 * len(DENIED)):
            group.create_task(one_of_32(number))
