"""Means with intervals, over the dialogues where each is defined."""

import pytest

from db.world import WorldFactory
from evaluation.metrics import Prices, bootstrap_mean, percentiles, score_episode, summarise
from evaluation.runner import EpisodePlan
from simulation.agenda_user import AgendaUser
from simulation.episode import play_episode
from simulation.goals import sample_goals
from simulation.policies import ScriptedPolicy
from simulation.records import DomainGoal, Fault, Goal
from tests.evaluation.samples import infrastructure_fault, make_episode, make_goal


def test_the_interval_holds_the_mean_and_shrinks_with_more_dialogues():
    few, many = bootstrap_mean([0.0, 1.0] * 20), bootstrap_mean([0.0, 1.0] * 2000)
    assert few is not None
    assert many is not None
    assert few.mean == many.mean == 0.5
    assert few.ci95[0] < 0.4 < many.ci95[0] < 0.5 < many.ci95[1] < 0.6 < few.ci95[1]


def test_the_interval_is_about_the_normal_one():
    metric = bootstrap_mean([1.0] * 900 + [0.0] * 100)
    assert metric is not None
    assert metric.ci95 == pytest.approx((0.9 - 0.0186, 0.9 + 0.0186), abs=0.003)


def test_the_same_values_give_the_same_interval_and_constants_give_none_to_speak_of():
    assert bootstrap_mean([0.0, 1.0, 1.0]) == bootstrap_mean([0.0, 1.0, 1.0])
    constant = bootstrap_mean([2.0, 2.0])
    assert constant is not None
    assert (constant.mean, constant.ci95) == (2.0, (2.0, 2.0))


def test_nothing_has_no_mean():
    assert bootstrap_mean([]) is None
    assert percentiles([]) is None


def test_percentiles():
    found = percentiles([float(number) for number in range(101)])
    assert found is not None
    assert (found.p50, found.p95) == (50.0, 95.0)


def test_broken_dialogues_are_counted_and_not_averaged():
    plans = [EpisodePlan(make_goal(name), 0, 1) for name in ("a", "b", "c")]
    faults = [None, infrastructure_fault(), Fault(who="agent", kind="Error", message="")]
    scores = [score_episode(make_episode(plan, fault)) for plan, fault in zip(plans, faults, strict=True)]
    summary = summarise(scores)
    assert summary.faults == {"agent": 1, "user": 0, "infrastructure": 1}
    assert summary.dialogues == 3
    assert summary.failures["fault"] == 1, "of the fair ones, with a reason for each"
    assert summary.metrics["reward"].mean == -42.0
    assert summary.metrics["llm_calls"].mean == 2.0
    assert "book_rate" not in summary.metrics
    assert "cost_usd" not in summary.metrics
    assert summary.latency_s is not None


def test_cost_follows_the_prices():
    score = score_episode(make_episode(EpisodePlan(make_goal("a"), 0, 1)))
    summary = summarise([score], prices=Prices(prompt=2.0, completion=8.0))
    assert summary.metrics["cost_usd"].mean == pytest.approx((200 * 2.0 + 20 * 8.0) / 1e6)


async def test_book_rate_is_over_the_goals_that_book():
    booking = sample_goals("test", 30, seed=2)
    asking = Goal(id="ask", source="convlab", domains={"hotel": DomainGoal(info={"area": "north"}, reqt=("phone",))})
    goals = [next(goal for goal in booking if any(each.book for each in goal.domains.values())), asking]
    worlds = WorldFactory()
    episodes = [await play_episode(goal, ScriptedPolicy(), AgendaUser(goal, 1), worlds, 1) for goal in goals]
    summary = summarise([score_episode(episode) for episode in episodes])
    assert summary.metrics["book_rate"].mean == 1.0
    assert summary.metrics["success"].mean == summary.metrics["grounded_success"].mean == 1.0


async def test_length_is_told_of_the_successful_dialogues_apart():
    worlds = WorldFactory()
    goals = sample_goals("test", 4, seed=7)
    done = [await play_episode(goal, ScriptedPolicy(), AgendaUser(goal, 1), worlds, 1) for goal in goals]
    failed = make_episode(EpisodePlan(make_goal("f"), 0, 1), Fault(who="agent", kind="Error", message=""))
    metrics = summarise([score_episode(episode) for episode in [*done, failed]]).metrics
    lengths = [len(episode.exchanges) for episode in done]
    assert metrics["exchanges_on_success"].mean == pytest.approx(sum(lengths) / 4)
    assert metrics["exchanges"].mean == pytest.approx((sum(lengths) + len(failed.exchanges)) / 5)
