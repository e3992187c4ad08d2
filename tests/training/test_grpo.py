"""The loop: goals, groups, updates, restarts, on real dialogues with a user whose patience depends on the policy."""

import asyncio
import signal
import sys
from asyncio.subprocess import DEVNULL, create_subprocess_exec
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from agents.config import COMPACT
from db.world import WorldFactory
from simulation.goals import sample_goals
from simulation.records import Goal
from simulation.users import AgentTurn, UserTurn
from tests.training.killed_run import PHASES
from tests.training.policies import registered, target_of
from tests.training.users import CONFIG, BrokenUser, ImpatientUser
from training.grpo import GrpoConfig, GrpoTask, NothingUsableError, learning_rate, plan_step, train_grpo
from training.manifest import checkpoint_dir
from training.policy_model import ChatSettings
from training.rollouts import RolloutPlan, RolloutSettings, rollout
from training.service import TorchService


@pytest.fixture(scope="session")
def goals() -> list[Goal]:
    return sample_goals("train", 6, seed=0)


@pytest.fixture(scope="session")
def worlds() -> WorldFactory:
    return WorldFactory()


@pytest.fixture
def task(goals, worlds) -> GrpoTask:
    return GrpoTask(goals, ImpatientUser, worlds)


def _weights(service: TorchService) -> torch.Tensor:
    return torch.cat([parameter.detach().reshape(-1) for parameter in service.model.parameters()]).clone()


async def test_a_run_trains_logs_and_keeps_its_episodes(random_dir, tmp_path, task):
    rows: list[tuple[int, Mapping[str, float]]] = []
    episodes = []
    async with registered(random_dir, tmp_path) as (backend, model, service):
        before = _weights(service)
        reached = await train_grpo(
            CONFIG,
            backend,
            model,
            task,
            on_step=lambda step, metrics: rows.append((step, metrics)),
            on_episode=lambda step, episode: episodes.append((step, episode)),
            progress=False,
        )
        assert reached == service.step == 2
        assert not torch.equal(before, _weights(service))
    assert [step for step, _ in rows] == [1, 2]
    for _, metrics in rows:
        assert metrics["loss/probs_corr"] > 0.999
        assert {"loss/entropy", "loss/clip_fraction", "loss/kl_div", "loss/learning_rate"} <= metrics.keys()
        assert metrics["train/reward_spread"] > 0
        assert 0 <= metrics["train/tool_error_rate"] <= 1
        assert metrics["train/dropped"] == 0
        assert metrics["train/rollouts"] >= 8
    assert {step for step, _ in episodes} == {0, 1}
    assert all(episode.fault is None for _, episode in episodes)


async def test_a_run_cut_in_two_ends_with_the_same_weights(random_dir, tmp_path, task):
    async with registered(random_dir, tmp_path / "straight") as (backend, model, service):
        await train_grpo(CONFIG, backend, model, task, progress=False)
        straight = _weights(service)
    async with registered(random_dir, tmp_path / "cut") as (backend, model, service):
        stepped = asyncio.Event()
        running = asyncio.ensure_future(
            train_grpo(CONFIG, backend, model, task, on_step=lambda *_: stepped.set(), progress=False)
        )
        await stepped.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    async with registered(random_dir, tmp_path / "cut") as (backend, model, service):
        assert service.step == 1
        await train_grpo(CONFIG, backend, model, task, progress=False)
        assert torch.equal(_weights(service), straight)


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
async def test_a_killed_run_ends_with_the_weights_of_an_unbroken_one(random_dir, tmp_path, task, phase):
    async with registered(random_dir, tmp_path / "straight") as (backend, model, service):
        await train_grpo(CONFIG, backend, model, task, progress=False)
        straight = _weights(service)
    command = ("-m", "tests.training.killed_run", phase, str(random_dir), str(tmp_path / "killed"))
    root = Path(__file__).parents[2]
    child = await create_subprocess_exec(sys.executable, *command, cwd=root, stdout=DEVNULL)
    assert await child.wait() == -signal.SIGKILL
    async with registered(random_dir, tmp_path / "killed") as (backend, model, service):
        assert service.step == (2 if phase == "logging" else 1)
        await train_grpo(CONFIG, backend, model, task, progress=False)
        assert service.step == 2
        assert torch.equal(_weights(service), straight)


async def test_a_logger_that_raises_does_not_stop_training(random_dir, tmp_path, task, caplog):
    def broken(*_: object) -> None:
        raise OSError("disk full")

    async with registered(random_dir, tmp_path) as (backend, model, _):
        await train_grpo(CONFIG, backend, model, task, on_step=broken, on_episode=broken, progress=False)
    assert "a logger failed; training goes on" in caplog.text


async def test_rollouts_that_infrastructure_broke_are_dropped_not_scored(random_dir, tmp_path, goals, worlds):
    rows = []

    def sometimes(goal: Goal, seed: int) -> ImpatientUser:
        rows_so_far = len(made)
        made.append(goal)
        return BrokenUser(goal, seed) if rows_so_far % 4 == 0 else ImpatientUser(goal, seed)

    made: list[Goal] = []
    async with registered(random_dir, tmp_path) as (backend, model, _):
        await train_grpo(
            CONFIG,
            backend,
            model,
            GrpoTask(goals, sometimes, worlds),
            on_step=lambda _, metrics: rows.append(metrics),
            progress=False,
        )
    assert all(metrics["train/dropped"] == metrics["train/rollouts"] / 4 for metrics in rows)


async def test_a_run_in_which_nothing_works_stops_and_says_why(random_dir, tmp_path, goals, worlds):
    async with registered(random_dir, tmp_path) as (backend, model, service):
        config = GrpoConfig(steps=9, goals_per_step=1, group_size=2, resample_rounds=0)
        with pytest.raises(NothingUsableError, match="ConnectionError: no route to the user"):
            await train_grpo(config, backend, model, GrpoTask(goals, BrokenUser, worlds), progress=False)
        assert service.step == 2, "steps without a usable rollout are skipped and counted"


async def test_ties_are_replaced_within_bounds_and_skipped(random_dir, tmp_path, goals, worlds):
    class PatientUser(ImpatientUser):
        async def reply(self, agent: AgentTurn) -> UserTurn:
            return UserTurn("the south then .", (), False)

    rows = []
    async with registered(random_dir, tmp_path) as (backend, model, service):
        before = _weights(service)
        config = GrpoConfig(steps=1, goals_per_step=2, group_size=2, max_tokens=4, max_exchanges=2, resample_rounds=2)
        task = GrpoTask(goals, PatientUser, worlds)
        await train_grpo(config, backend, model, task, on_step=lambda _, metrics: rows.append(metrics), progress=False)
        assert torch.equal(before, _weights(service))
        assert service.step == 1
        assert checkpoint_dir(service.output_dir, 1).is_dir()
    assert rows[0]["train/skipped"] == 1
    assert rows[0]["train/groups_tied"] == 6
    assert rows[0]["train/reward_spread"] == 0


async def test_a_broken_episode_keeps_its_calls_and_is_not_usable(random_dir, tmp_path, goals, worlds):
    class LeavingUser(ImpatientUser):
        async def reply(self, agent: AgentTurn) -> UserTurn:
            raise ConnectionError("line dropped")

    async with registered(random_dir, tmp_path) as (_, model, service):
        plan = RolloutPlan(goals[0], 0, 1, 2)
        settings = RolloutSettings(COMPACT, ChatSettings(max_tokens=4))
        played = await rollout(target_of(model, service), plan, settings, LeavingUser, worlds)
    assert not played.usable
    assert played.episode.fault is not None
    assert played.episode.fault.who == "infrastructure"
    assert len(played.trajectory.additional_histories) >= 1
    assert played.trajectory.metadata["scenario_id"] == goals[0].id


def test_every_goal_is_seen_once_an_epoch_and_steps_follow_from_the_seed(goals):
    config = GrpoConfig(goals_per_step=4, group_size=3, seed=5)
    plans = [plan_step(config, goals, step, 0) for step in range(3)]
    order = [plan.goal.id for step in plans for plan in step[::3]]
    assert sorted(order[:6]) == sorted(order[6:]) == sorted(goal.id for goal in goals)
    assert plans == [plan_step(config, goals, step, 0) for step in range(3)]
    assert plans[0] != plan_step(GrpoConfig(goals_per_step=4, group_size=3, seed=6), goals, 0, 0)
    group = plans[0][:3]
    assert len({plan.user_seed for plan in group}) == 1
    assert len({plan.policy_seed for plan in group}) == 3
    again = {plan.policy_seed for step in plans for plan in step}
    assert len(again) == 36


def test_the_learning_rate_warms_up_and_decays():
    config = GrpoConfig(steps=11, learning_rate=1.0, warmup_steps=1)
    rates = [learning_rate(config, step) for step in range(11)]
    assert rates[0] == 0.5
    assert rates[1] == pytest.approx(0.91)
    assert rates[-1] == pytest.approx(0.1)
    assert learning_rate(GrpoConfig(learning_rate=1.0, schedule="constant"), 30) == 1.0
