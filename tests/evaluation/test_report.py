import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from evaluation.metrics import Prices
from evaluation.players import UserConfig, open_player, pick_goals
from evaluation.report import MEANINGS, RATES, Report, ReportMetrics, build_report, report_table, score_episodes
from evaluation.runner import plan_episodes, play_many
from simulation.policies import Policy, ScriptedPolicy
from simulation.records import Episode, Fault
from tests.evaluation.samples import infrastructure_fault, make_episode, make_goals


@asynccontextmanager
async def open_scripted() -> AsyncIterator[Policy]:
    yield ScriptedPolicy()


async def play_scripted(count: int, concurrency: int) -> list[Episode]:
    async with open_player(open_scripted, UserConfig()) as play:
        plans = plan_episodes(pick_goals("test", count, seed=7), seed=7)
        return await play_many(plans, play, concurrency=concurrency, progress=False)


def sample_report(prices: Prices | None = None) -> Report:
    plans = plan_episodes(make_goals(4), seed=7)
    faults = [None, None, infrastructure_fault(), Fault(who="user", kind="UserError", message="wrote nothing")]
    episodes = [make_episode(plan, fault) for plan, fault in zip(plans, faults, strict=True)]
    return build_report(score_episodes(episodes), policy="sample", goals="test", seed=7, prices=prices)


def test_the_file_has_exactly_the_specified_fields():
    data = json.loads(sample_report(Prices(prompt=2.0, completion=8.0)).model_dump_json())
    assert list(data) == ["task", "policy", "dialogues", "seed", "goals", "metrics", "faults", "versions"]
    assert list(data["metrics"]) == list(MEANINGS) == list(ReportMetrics.model_fields)
    assert data["faults"].keys() == {"agent", "user", "infrastructure"}
    for name, value in data["metrics"].items():
        if value is not None:
            assert value.keys() == ({"p50", "p95"} if name == "latency_s" else {"mean", "ci95"})
    assert data["metrics"].keys() > RATES
    assert "concierge" in data["versions"]


def test_what_user_or_infrastructure_broke_is_counted_and_enters_no_mean():
    report = sample_report()
    assert report.dialogues == 4
    assert report.faults == {"agent": 0, "user": 1, "infrastructure": 1}
    assert report.metrics.grounded_success is not None
    assert report.metrics.grounded_success.mean == 0.0
    assert report.metrics.llm_calls is not None
    assert report.metrics.llm_calls.mean == 2.0
    assert report.metrics.book_rate is None


def test_cost_needs_prices_and_is_per_dialogue():
    assert sample_report().metrics.cost_usd is None
    cost = sample_report(Prices(prompt=2.0, completion=8.0)).metrics.cost_usd
    assert cost is not None
    assert cost.mean == pytest.approx((200 * 2.0 + 20 * 8.0) / 1e6)


def test_latency_is_per_call():
    latency = sample_report().metrics.latency_s
    assert latency is not None
    assert (latency.p50, latency.p95) == (0.25, 0.25)


def test_the_table_has_a_column_a_run_and_no_empty_row():
    report = sample_report()
    table = report_table({"one": report, "two": report})
    assert [column.header for column in table.columns] == ["metric", "one", "two"]
    assert table.row_count == len(MEANINGS) - 2 + 1  # no booking and no price, but the faults


async def test_sixty_four_at_once_score_what_one_at_a_time_scores():
    one, many = await play_scripted(64, concurrency=1), await play_scripted(64, concurrency=64)
    assert [told(episode) for episode in one] == [told(episode) for episode in many]
    assert [each.score.reward for each in score_episodes(one)] == [each.score.reward for each in score_episodes(many)]
    assert not any(episode.fault for episode in many)
    references = [booking.reference for episode in many for booking in episode.bookings]
    assert len(references) == len(set(references)) > 0


def told(episode: Episode) -> dict[str, object]:
    """All of an episode but how long things took."""
    data = episode.model_copy(deep=True, update={"wall_s": 0.0})
    for exchange in data.exchanges:
        for call in exchange.turn.model_calls if exchange.turn else []:
            call.latency_s = 0.0
    return data.model_dump()
