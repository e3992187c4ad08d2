"""Dialogues on acts: the yardstick's speed, and its numbers beside those measured of ConvLab on its own."""

import time
from collections.abc import Callable, Sequence
from statistics import fmean

import pytest

from simulation.act_level import ActSystem, HonestSystem, RuleBot, Tracker, play_acts, score_acts
from simulation.fixes import ALL_FIXES, NO_FIXES, Fixes
from simulation.goals import sample_goals
from simulation.records import Goal
from simulation.unavailability import refused_details


def run(goals: Sequence[Goal], system: Callable[[Goal, int], ActSystem], fixes: Fixes) -> dict[str, float]:
    dialogues = [play_acts(goal, system(goal, seed), seed, fixes) for seed, goal in enumerate(goals)]
    scores = [score_acts(goal, dialogue, fixes) for goal, dialogue in zip(goals, dialogues, strict=True)]
    names = ("complete", "success", "book_rate", "inform_recall", "inform_precision")
    means = {name: fmean(value for score in scores if (value := getattr(score, name)) is not None) for name in names}
    return means | {"turns": fmean(dialogue.turns for dialogue in dialogues)}


def honest(goal: Goal, seed: int) -> HonestSystem:
    return HonestSystem(refused_details(goal))


def bot(goal: Goal, seed: int) -> RuleBot:
    return RuleBot(seed)


def _without_failing_bookings(goal: Goal) -> Goal:
    """ConvLab's goal model has none, and its bot never refuses."""
    domains = {domain: wanted.model_copy(update={"fail_book": {}}) for domain, wanted in goal.domains.items()}
    return goal.model_copy(update={"domains": domains})


@pytest.fixture(scope="module")
def goals() -> list[Goal]:
    return sample_goals("test", 200, seed=21)


def test_unrepaired_an_honest_system_loses_a_few_successes_to_the_evaluator(goals: list[Goal]):
    """Measured of ConvLab: complete 1, success .984 (.999 with fix 1), book 1, inform .848/1."""
    stock = run(goals, honest, NO_FIXES)
    assert (stock["complete"], stock["book_rate"], stock["inform_recall"]) == (1.0, 1.0, 1.0)
    assert 0.96 < stock["success"] < 1.0
    assert 0.78 < stock["inform_precision"] < 0.9


def test_repaired_it_loses_none(goals: list[Goal]):
    repaired = run(goals, honest, ALL_FIXES)
    assert {value for name, value in repaired.items() if name != "turns"} == {1.0}
    assert repaired["turns"] < 10.5


def test_convlab_s_own_bot_scores_as_measured(goals: list[Goal]):
    """Measured: complete 1, success .986, book 1, inform .690/1, 10.4 turns."""
    without = [_without_failing_bookings(goal) for goal in goals]
    stock = run(without, bot, NO_FIXES)
    assert stock["complete"] == 1.0
    assert stock["success"] > 0.96
    assert stock["inform_precision"] == pytest.approx(0.69, abs=0.05)
    assert stock["turns"] == pytest.approx(10.4, abs=1.0)


def test_convlab_s_own_bot_answers_for_another_venue_than_it_recommends(goals: list[Goal]):
    """It recommends one match at random and answers with the first one's phone: defect 6 hid that."""
    assert run(goals, bot, ALL_FIXES)["inform_recall"] < 0.8


def test_the_simulator_alone_is_no_bottleneck(goals: list[Goal]):
    started = time.process_time()
    run(goals, honest, ALL_FIXES)
    assert len(goals) / (time.process_time() - started) > 120


def test_references_are_resolved_by_the_tracker():
    tracker = Tracker()
    tracker.hear([("inform", "hotel", "area", "north"), ("inform", "hotel", "day", "monday")])
    heard = tracker.hear(
        [("inform", "restaurant", "area", "same area as the hotel"), ("inform", "restaurant", "day", "the same day")]
    )
    assert [value for *_, value in heard] == ["north", "monday"]
    assert tracker.info["restaurant"] == {"area": "north"}
