"""The reward is a pure function that no sequence of actions outwits."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from db.support_world import SupportWorlds
from environments.casework.actions import ACTION_OF, TERMINAL, Action
from environments.casework.casefile import Casefile
from environments.casework.cases import Case
from environments.casework.reward import (
    BEST,
    COSTS,
    EARNED,
    SFT_MINIMUM,
    SIGNALS,
    Event,
    Signal,
    score_events,
)
from environments.casework.shapes import SHAPES
from tools.support.results import Answer, Denial, Fact, Operation

ACTIONS = st.sampled_from(list(Action))
EDITS = st.lists(st.tuples(st.sampled_from(["insert", "drop", "swap"]), st.integers(0, 9), st.none() | ACTIONS))


def play(case: Case, worlds: SupportWorlds, actions: Sequence[Action | None]) -> Casefile:
    with worlds.open() as world:
        casefile = Casefile(case, world)
        for action in actions:
            if casefile.over:
                break
            if action is None:
                casefile.reject("no action")
            else:
                casefile.act(action)
    return casefile


def signals_of(casefile: Casefile) -> dict[Signal, float]:
    total = dict.fromkeys(SIGNALS, 0.0)
    for step in casefile.steps:
        for signal, value in step.signals.items():
            total[signal] += value
    return total


def edited(gold: Sequence[Action], edits: Sequence[tuple[str, int, Action | None]]) -> list[Action | None]:
    """The sequence with anything put in, left out, or exchanged with what follows."""
    actions: list[Action | None] = list(gold)
    for kind, place, action in edits:
        if kind == "insert":
            actions.insert(place, action)
        elif kind == "drop" and place < len(actions):
            del actions[place]
        elif kind == "swap" and place + 1 < len(actions):
            actions[place : place + 2] = reversed(actions[place : place + 2])
    return actions


@settings(max_examples=400, deadline=None)
@given(index=st.integers(0, 599), edits=EDITS, freely=st.none() | st.lists(ACTIONS, min_size=1, max_size=10))
def test_no_sequence_of_actions_beats_the_gold_one(
    index: int,
    edits: list[tuple[str, int, Action | None]],
    freely: list[Action] | None,
    worlds: SupportWorlds,
    cases: list[Case],
):
    """Sequences near the gold one, and any."""
    case = cases[index]
    gold = case.gold_actions()
    actions = edited(gold, edits) if freely is None else freely
    casefile = play(case, worlds, actions)
    assert casefile.reward <= BEST + 1e-9
    if casefile.reward > BEST - 1e-9:
        assert casefile.resolved
        assert len(casefile.steps) == len(gold)
    if casefile.over and not casefile.resolved:
        assert casefile.reward < SFT_MINIMUM
    for signal, most in EARNED.items():
        assert signals_of(casefile)[signal] <= most + 1e-9


def test_a_case_that_stays_open_ends_worse_the_longer_it_lasts(worlds: SupportWorlds, cases: list[Case]):
    rng = random.Random(0)
    for case in cases[:100]:
        open_actions = [action for action in Action if action not in TERMINAL]
        actions = [*case.gold_actions()[:-1], *rng.choices(open_actions, k=10)]
        rewards = [step.reward for step in play(case, worlds, actions).steps]
        assert all(reward < 0 for reward in rewards[len(case.gold_actions()) - 1 :])


def first(cases: list[Case], request: str, shape: str) -> Case:
    return next(case for case in cases if (case.request, case.shape) == (request, shape) and not case.faults)


ORDER, REFUND, AUTH = Action.INVOKE_ORDER_SERVICE, Action.INVOKE_REFUND_SERVICE, Action.INVOKE_AUTH_SERVICE
CUSTOMER, KNOWLEDGE, HINT = Action.INVOKE_CUSTOMER_SERVICE, Action.INVOKE_KNOWLEDGE_BASE, Action.CONSULT_LLM
RESOLVE, ESCALATE, BILLING = (
    Action.RESOLVE_QUERY,
    Action.ESCALATE_TO_HUMAN_AGENT,
    Action.ROUTE_TO_BILLING_DEPARTMENT,
)


@pytest.mark.parametrize(
    ("signal", "actions", "value"),
    [
        ("right_tool", (ORDER,), 1.0),
        ("information_found", (ORDER,), 1.0),
        ("correct_order", (ORDER, AUTH), 4 / 3),
        ("right_terminal", (ORDER, AUTH, REFUND, RESOLVE), EARNED["right_terminal"]),
        ("resolution", (ORDER, AUTH, REFUND, RESOLVE), EARNED["resolution"]),
        ("policy_respected", (ORDER, AUTH, REFUND, RESOLVE), EARNED["policy_respected"]),
        ("valid_format", (ORDER, AUTH, REFUND, RESOLVE), EARNED["valid_format"]),
        ("valid_format", (None, ORDER), -1.0),
        ("efficiency", (ORDER, AUTH, REFUND, RESOLVE), EARNED["efficiency"]),
        ("efficiency", (HINT,), -2.0),
        ("repeated_call", (ORDER, ORDER, ORDER), -2.0),
        ("irrelevant_tool", (KNOWLEDGE,), -1.0),
        ("premature_resolution", (ORDER, RESOLVE), -4.0),
        ("wrong_routing", (ORDER, BILLING), -4.0),
        ("needless_escalation", (ESCALATE,), -4.0),
        ("policy_breach", (ORDER, REFUND, REFUND), -6.0),
        ("policy_breach", (CUSTOMER,), -3.0),
        ("policy_respected", (ORDER, REFUND, AUTH, REFUND, RESOLVE), 0.0),
        ("correct_order", (ORDER, REFUND, AUTH, REFUND, RESOLVE), 4 / 3),
        ("policy_breach", (ORDER, AUTH, REFUND, REFUND), -3.0),
    ],
)
def test_each_signal_occurs_when_it_should(
    signal: Signal, actions: tuple[Action | None, ...], value: float, worlds: SupportWorlds, cases: list[Case]
):
    casefile = play(first(cases, "refund_full", "in window"), worlds, actions)
    assert signals_of(casefile)[signal] == pytest.approx(value)


def test_there_are_fourteen_signals_and_gold_is_twenty():
    assert len(SIGNALS) == 14
    assert set(EARNED) | set(COSTS) == set(SIGNALS)
    assert BEST == 20.0


def test_scoring_is_pure():
    shape = next(shape for shape in SHAPES if shape.name == "placed")
    found = Answer("order", Operation.FIND_ORDER, "done", "", (Fact.ORDER_PLACED,))
    refused = Answer("auth", Operation.RESET_PASSWORD, "refused", "", denial=Denial.NOT_VERIFIED)
    events = [
        Event(AUTH, refused, Operation.RESET_PASSWORD),
        Event(ACTION_OF["order"], found, Operation.FIND_ORDER),
        Event(RESOLVE, consistent=True),
    ]
    scored = score_events(shape.needs, shape.terminal, events)
    assert scored == score_events(shape.needs, shape.terminal, events)
    assert sum(sum(step.values()) for step in scored) == pytest.approx(BEST - 0.5 - 3.0 - EARNED["policy_respected"])


def test_one_hint_per_case(worlds: SupportWorlds, cases: list[Case]):
    casefile = play(cases[0], worlds, [HINT, HINT])
    assert cases[0].gold_actions()[0].label in casefile.steps[0].text
    assert casefile.steps[1].text == "No further hint is given in this case."
