"""Every case can be resolved by its gold sequence, which earns the top reward; splits share nothing."""

from collections import Counter
from itertools import islice

import pytest

from db.support_world import SupportWorlds
from environments.casework.actions import MAX_STEPS, TERMINAL, Action
from environments.casework.benchmark import SHA256, draw_queries, load_queries
from environments.casework.casefile import Casefile
from environments.casework.cases import Case, CaseSource
from environments.casework.requests import CATEGORIES, REQUESTS
from environments.casework.reward import BEST
from environments.casework.shapes import SHAPES
from environments.casework.situations import Shop, held_out
from environments.casework.wordings import sentences


def all_cases(cases: list[Case]) -> list[Case]:
    return [*cases, *load_queries(100), *load_queries(1000)]


def test_every_case_is_resolved_by_its_gold_sequence_for_the_top_reward(worlds: SupportWorlds, cases: list[Case]):
    for case in all_cases(cases):
        with worlds.open() as world:
            casefile = Casefile(case, world)
            for action in case.gold_actions():
                assert casefile.gold_action() is action
                casefile.act(action)
            told = [(step.text, step.signals) for step in casefile.steps]
            assert casefile.resolved, (case, told)
            assert casefile.reward == pytest.approx(BEST), (case, told)
            assert casefile.breaches == 0


def test_nothing_but_the_whole_gold_sequence_resolves(worlds: SupportWorlds, cases: list[Case]):
    """No needed call can be left out, and no other action closes the case."""
    for case in cases[:150]:
        gold = case.gold_actions()
        shorter = [(*gold[:index], *gold[index + 1 :]) for index in range(len(gold) - 1)]
        others = [(*gold[:-1], action) for action in TERMINAL - {gold[-1]}]
        for actions in (*shorter, *others):
            with worlds.open() as world:
                casefile = Casefile(case, world)
                for action in actions:
                    casefile.act(action)
                assert not casefile.resolved, (case, actions)


def test_ids_and_names_of_actions_are_fixed():
    assert [action.label for action in Action] == [
        "invoke_order_service",
        "invoke_refund_service",
        "invoke_customer_service",
        "invoke_auth_service",
        "invoke_logistics_service",
        "invoke_inventory_service",
        "invoke_knowledge_base",
        "resolve_query",
        "request_customer_information",
        "route_to_billing_department",
        "route_to_technical_support",
        "escalate_to_human_agent",
        "consult_llm",
    ]
    assert [int(action) for action in Action] == list(range(13))


def test_shapes_need_one_to_four_calls_and_every_category_has_several():
    assert {len(shape.needs) for shape in SHAPES} == {1, 2, 3, 4}
    assert len({(shape.request, shape.name) for shape in SHAPES}) == len(SHAPES)
    of_category = Counter(shape.category for shape in SHAPES)
    assert set(of_category) == set(CATEGORIES)
    assert min(of_category.values()) >= 3
    assert {"auth", "refund"} <= set(CATEGORIES)


def test_all_gold_sequences_leave_room_for_faults(cases: list[Case]):
    assert max(len(case.gold_actions()) for case in all_cases(cases)) <= MAX_STEPS - 4
    assert any(case.faults for case in cases)


def test_the_same_seed_draws_the_same_cases(source: CaseSource):
    first, again, other = (list(islice(source.stream(seed, "t"), 20)) for seed in (1, 1, 2))
    assert first == again != other


def test_evaluation_shares_neither_customers_nor_sentences_with_training(cases: list[Case], shop: Shop):
    assert not any(held_out(case.customer_id) for case in cases)
    assert all(held_out(case.customer_id) for size in SHA256 for case in load_queries(size))
    for what in (*REQUESTS, "order", "latest", "pin", "code"):
        assert not set(sentences(what, "train")) & set(sentences(what, "evaluation")), what
    assert not {case.text for case in cases} & {case.text for size in SHA256 for case in load_queries(size)}


@pytest.mark.parametrize("size", SHA256)
def test_the_benchmark_is_as_committed_and_balanced(size: int):
    queries = load_queries(size)
    assert len({case.id for case in queries}) == len({case.text for case in queries}) == size
    counts = Counter(case.category for case in queries)
    assert max(counts.values()) - min(counts.values()) <= 1
    if size == 1000:
        assert {(case.request, case.shape) for case in queries} == {(shape.request, shape.name) for shape in SHAPES}


def test_the_benchmark_can_be_drawn_again():
    assert draw_queries() == {size: load_queries(size) for size in SHA256}
