import asyncio
from pathlib import Path

import pytest

from db.errors import InputError
from evaluation.processes import play_in_processes
from evaluation.runner import DEAD_AFTER, EpisodePlan, episode_seed, plan_episodes, play_many
from evaluation.runs import RunFiles, start_run
from simulation.records import Episode
from tests.evaluation.samples import (
    infrastructure_fault,
    make_episode,
    make_goals,
    open_broken_play,
    open_dead_play,
    open_sample_play,
)


class Counter:
    """Plays sample episodes, counting; stops the world after ``limit``; breaks the ids in ``broken``."""

    def __init__(self, limit: int | None = None, broken: frozenset[str] = frozenset()) -> None:
        self.played: list[str] = []
        self.at_once = self.most_at_once = 0
        self._limit = limit
        self._broken = broken

    async def __call__(self, plan: EpisodePlan) -> Episode:
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        await asyncio.sleep(plan.seed % 3 / 1000)
        self.at_once -= 1
        if self._limit is not None and len(self.played) >= self._limit:
            raise asyncio.CancelledError
        self.played.append(plan.id)
        return make_episode(plan, infrastructure_fault() if plan.id in self._broken else None)


def always(episode: Episode) -> bool:
    return bool(episode.id)


def test_seeds_depend_on_the_run_seed_and_the_id_alone():
    goals = make_goals(5)
    seeds = {plan.id: plan.seed for plan in plan_episodes(goals, seed=7, repeats=2)}
    assert seeds == {plan.id: plan.seed for plan in plan_episodes(reversed(goals), seed=7, repeats=2)}
    assert len(set(seeds.values())) == 10
    assert seeds["goal-1#0"] == episode_seed(7, "goal-1#0") != episode_seed(8, "goal-1#0")


def test_a_goal_that_comes_again_is_another_episode():
    plans = plan_episodes([*make_goals(2), *make_goals(1)], seed=7, repeats=2)
    assert [plan.id for plan in plans] == ["goal-0#0", "goal-0#1", "goal-1#0", "goal-1#1", "goal-0#2", "goal-0#3"]


async def test_many_at_once_give_what_one_at_a_time_gives_in_the_order_planned():
    plans = plan_episodes(make_goals(100), seed=7)
    one, many = Counter(), Counter()
    assert await play_many(plans, one, concurrency=1, progress=False) == await play_many(
        plans, many, concurrency=64, progress=False
    )
    assert (one.most_at_once, many.most_at_once) == (1, 64)
    assert one.played == [plan.id for plan in plans] != many.played


async def test_a_finished_episode_is_never_played_twice(tmp_path: Path):
    plans = plan_episodes(make_goals(30), seed=7)
    with start_run(tmp_path, "run_eval", {}, seed=7) as folder:
        await play_many(plans[:10], Counter(), folder=folder, progress=False)
        second = Counter()
        episodes = await play_many(plans, second, folder=folder, progress=False)
    assert sorted(second.played) == sorted(plan.id for plan in plans[10:])
    assert episodes == [make_episode(plan) for plan in plans]
    assert len(RunFiles(tmp_path).episodes()) == 30


async def test_what_infrastructure_broke_is_played_again_and_counts_once(tmp_path: Path):
    plans = plan_episodes(make_goals(5), seed=7)
    with start_run(tmp_path, "run_eval", {}, seed=7) as folder:
        broken = frozenset({plans[1].id, plans[3].id})
        first = await play_many(plans, Counter(broken=broken), folder=folder, progress=False)
        assert sum(episode.fault is not None for episode in first) == 2
        again = Counter()
        await play_many(plans, again, folder=folder, progress=False)
    assert set(again.played) == broken
    stored = RunFiles(tmp_path).episodes()
    assert len(stored) == 5
    assert not any(episode.fault for episode in stored)


async def test_cancelling_keeps_what_was_finished(tmp_path: Path):
    plans = plan_episodes(make_goals(200), seed=7)
    enough = asyncio.Event()
    started: list[str] = []

    async def play(plan: EpisodePlan) -> Episode:
        await asyncio.sleep(0.001)
        started.append(plan.id)
        if len(started) == 40:
            enough.set()
        return make_episode(plan)

    with start_run(tmp_path, "run_eval", {}, seed=7) as folder:
        task = asyncio.create_task(play_many(plans, play, folder=folder, concurrency=8, progress=False))
        await enough.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        kept = {episode.id for episode in folder.episodes()}
        rest = Counter()
        await play_many(plans, rest, folder=folder, progress=False)
    assert 30 <= len(kept) < 200
    assert set(rest.played) == {plan.id for plan in plans} - kept


async def test_a_dead_endpoint_stops_the_run_in_one_line(tmp_path: Path):
    plans = plan_episodes(make_goals(200), seed=7)
    with (
        start_run(tmp_path, "run_eval", {}, seed=7) as folder,
        pytest.raises(InputError, match=r"Connection error\. nobody listens"),
    ):
        await play_many(
            plans,
            Counter(broken=frozenset(plan.id for plan in plans)),
            folder=folder,
            concurrency=4,
            progress=False,
        )
    assert DEAD_AFTER <= len(RunFiles(tmp_path).episodes()) <= DEAD_AFTER + 4


async def test_a_bug_in_the_player_surfaces_as_itself():
    async with open_broken_play() as play:
        with pytest.raises(ZeroDivisionError):
            await play_many(plan_episodes(make_goals(3), seed=7), play, progress=False)


async def test_the_bar_is_on_stderr_with_the_running_success(capsys: pytest.CaptureFixture[str]):
    await play_many(plan_episodes(make_goals(4), seed=7), Counter(), label="eval", success=always)
    shown = capsys.readouterr()
    assert "eval" in shown.err
    assert "success=1.000" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("processes", [1, 2])
def test_processes_do_not_change_the_result(tmp_path: Path, processes: int):
    plans = plan_episodes(make_goals(40), seed=7)
    with start_run(tmp_path, "run_eval", {}, seed=7) as folder:
        folder.append_episode(make_episode(plans[3]))
        episodes = play_in_processes(
            plans, open_sample_play, processes=processes, folder=folder, success=always, progress=False
        )
    assert episodes == [make_episode(plan) for plan in plans]
    assert len((tmp_path / "episodes.jsonl").read_text().splitlines()) == 40


def test_a_child_that_fails_is_an_error_with_its_traceback():
    with pytest.raises(RuntimeError, match="ZeroDivisionError: goal-"):
        play_in_processes(plan_episodes(make_goals(4), seed=7), open_broken_play, processes=2, progress=False)


def test_a_dead_endpoint_in_a_child_is_one_line():
    with pytest.raises(InputError, match="in a row"):
        play_in_processes(plan_episodes(make_goals(80), seed=7), open_dead_play, processes=2, progress=False)
