"""Services that are slow, fail or return nothing, once."""

import random
from typing import get_args

import pytest

from db.support_world import SupportWorld
from tests.tools.support.conftest import PLAIN, Find
from tests.tools.support.denials import IN_WINDOW
from tools.support.desk import Desk, FaultKind, draw_faults
from tools.support.results import Fact, Operation, Service


@pytest.mark.parametrize("kind", ["slow", "failed", "empty"])
def test_a_fault_strikes_once_and_a_refund_is_made_once(kind: FaultKind, shop: SupportWorld, find: Find):
    inquiry = find(f"{IN_WINDOW} AND {PLAIN}")
    desk = Desk(shop.sessions, {"refund": kind})
    desk.call(Operation.VERIFY_IDENTITY, inquiry)
    first = desk.call(Operation.REFUND_FULL, inquiry)
    assert (first.outcome, first.facts) == (kind, ())
    assert bool(shop.changes()) == (kind == "slow")
    assert desk.call(Operation.REFUND_FULL, inquiry).facts == (Fact.REFUND_MADE,)
    assert len(shop.changes()) == 1


def test_faults_are_drawn_from_the_seed():
    services = get_args(Service)
    draws = [draw_faults(random.Random(seed), services, 0.5) for seed in range(400)]
    assert draws == [draw_faults(random.Random(seed), services, 0.5) for seed in range(400)]
    assert 120 < sum(map(bool, draws)) < 280
    assert {kind for draw in draws for kind in draw.values()} == {"slow", "failed", "empty"}
    assert draw_faults(random.Random(0), (), 1.0) == {}
