"""GRPO: groups of rollouts of one goal, advantages relative to the group, one update, again.

Owns the loop: which goals at which step, dropping what broke, leaving out and replacing groups whose rewards tie,
the learning rate, what is logged. Promises: everything about step ``n`` follows from the seed and the checkpoint of
step ``n``, so that a killed run goes on where it was and repeats no finished step; a logger that raises stops nothing.
"""

import asyncio
import gc
import hashlib
import logging
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import art
from tqdm import tqdm

from agents.config import COMPACT, AgentConfig
from db.world import WorldFactory
from simulation.records import Episode, Goal
from training.backend import TorchBackend
from training.capture import CaptureTarget
from training.checkpoints import prune_checkpoints
from training.credit import SMOOTHING
from training.policy_model import ChatSettings
from training.rollouts import MakeUser, Rollout, RolloutPlan, RolloutSettings, rollout
from training.stages import Credit

log = logging.getLogger(__name__)

Log = Callable[[int, Mapping[str, float]], None]
"""Called after each step with the step's number and its metrics."""

KeepEpisode = Callable[[int, Episode], None]
"""Called for each rollout with the step it was sampled at, usable or not."""


class NothingUsableError(RuntimeError):
    """Every rollout of several steps in a row failed."""


@dataclass(frozen=True)
class GrpoConfig:
    """One GRPO run."""

    steps: int = 40
    """Updates in all, counted from the first checkpoint; a run that goes on takes those that are left."""
    goals_per_step: int = 8
    """Groups sampled at once."""
    group_size: int = 8
    """Rollouts of one goal."""
    learning_rate: float = 3e-4
    """At the first step."""
    schedule: Literal["constant", "linear"] = "linear"
    """``linear`` decays to a tenth."""
    warmup_steps: int = 0
    temperature: float = 1.0
    """1 keeps the sampled log-probabilities those of the trained distribution."""
    max_tokens: int = 64
    """Longest completion."""
    max_exchanges: int = 20
    loss: Literal["cispo", "ppo"] = "cispo"
    epsilon: float | None = None
    """Clip range below; ART's default for the loss when left out."""
    epsilon_high: float | None = None
    kl_coef: float = 0.0
    """Weight of the KL penalty to the first checkpoint; 0 turns it off."""
    scale_rewards: bool = True
    """Divide advantages by the group's standard deviation."""
    spread_floor: float = SMOOTHING
    """Added to that deviation (``training.credit.credit_groups``)."""
    advantage_balance: float = 0.0
    """ART's: 0 weighs bad and good rollouts alike, 1 learns from the good ones alone."""
    credit: Credit = "outcome"
    """How a trajectory's advantage is spread over its calls (``training.credit``)."""
    resample_rounds: int = 1
    """How often groups whose rewards tie are replaced by fresh goals within a step."""
    keep_every: int = 10
    """Checkpoints kept besides the first and the last."""
    seed: int = 0


@dataclass(frozen=True)
class GrpoTask:
    """What is trained on: nothing of this is decided by the trainer."""

    goals: Sequence[Goal]
    make_user: MakeUser
    worlds: WorldFactory
    agent: AgentConfig = COMPACT


@dataclass
class _Sampled:
    """The rollouts of one step."""

    rollouts: list[Rollout] = field(default_factory=list)
    groups: list[art.TrajectoryGroup] = field(default_factory=list)
    """Those with something to learn from."""
    spreads: list[float] = field(default_factory=list)
    tied: int = 0
    too_small: int = 0
    """Groups of which fewer than two rollouts are usable."""
    seconds: float = 0.0


async def train_grpo(
    config: GrpoConfig,
    backend: TorchBackend,
    model: art.TrainableModel,
    task: GrpoTask,
    *,
    on_step: Log | None = None,
    on_episode: KeepEpisode | None = None,
    progress: bool = True,
) -> int:
    """Train ``model``, registered with ``backend``, up to step ``config.steps``; returns the step reached.

    Raises:
        NothingUsableError: If every rollout of three steps in a row failed.
    """
    service = backend.service(model)
    target = CaptureTarget(model, service.tokenizer, service.endpoint)
    failures = 0
    # What is alive now stays alive: without this the collector walks all of torch and ART every few hundred dialogues.
    gc.collect()
    gc.freeze()
    with tqdm(total=config.steps, initial=service.step, desc="grpo", unit="step", disable=not progress) as bar:
        while service.step < config.steps:
            step = service.step
            sampled = await _sample_step(config, step, target, task, on_episode)
            failures = 0 if any(each.usable for each in sampled.rollouts) else failures + 1
            if failures == 3:
                raise NothingUsableError(_why(sampled))
            started = time.monotonic()
            metrics = await _update(config, step, backend, model, sampled)
            metrics |= _rollout_metrics(sampled) | {"time/train_s": time.monotonic() - started}
            prune_checkpoints(service.output_dir, _kept(config, service.step))
            if on_step is not None:
                _safely(on_step, service.step, metrics)
            bar.set_postfix(
                {name: f"{metrics.get(f'train/{name}', 0.0):.2f}" for name in ("reward", "success", "exchanges")}
            )
            bar.update(service.step - step)
    return service.step


async def _sample_step(
    config: GrpoConfig, step: int, target: CaptureTarget, task: GrpoTask, on_episode: KeepEpisode | None
) -> _Sampled:
    """Sample groups until ``goals_per_step`` have a spread of rewards, or the rounds are used up."""
    started = time.monotonic()
    sampled = _Sampled()
    settings = RolloutSettings(
        agent=task.agent,
        chat=ChatSettings(temperature=config.temperature, max_tokens=config.max_tokens),
        max_exchanges=config.max_exchanges,
    )
    for round_number in range(config.resample_rounds + 1):
        wanted = config.goals_per_step - len(sampled.groups)
        if wanted == 0:
            break
        plans = plan_step(config, task.goals, step, round_number)[: wanted * config.group_size]
        played = await asyncio.gather(*(rollout(target, plan, settings, task.make_user, task.worlds) for plan in plans))
        for each in played:
            sampled.rollouts.append(each)
            if on_episode is not None:
                _safely(on_episode, step, each.episode)
        for start in range(0, len(played), config.group_size):
            _add_group(sampled, played[start : start + config.group_size])
    sampled.seconds = time.monotonic() - started
    return sampled


def plan_step(config: GrpoConfig, goals: Sequence[Goal], step: int, round_number: int) -> list[RolloutPlan]:
    """The rollouts of a step's round, group by group, from the seed alone.

    Round 0 goes through ``goals`` in shuffled epochs; later rounds, which replace ties, draw freely.
    """
    count = config.goals_per_step
    if round_number == 0:
        chosen = []
        for position in range(step * count, (step + 1) * count):
            epoch, place = divmod(position, len(goals))
            order = list(range(len(goals)))
            random.Random(f"{config.seed}-epoch-{epoch}").shuffle(order)
            chosen.append(goals[order[place]])
    else:
        drawing = random.Random(f"{config.seed}-{step}-{round_number}")
        chosen = [goals[drawing.randrange(len(goals))] for _ in range(count)]
    plans = []
    for number, goal in enumerate(chosen):
        key = f"{config.seed}-{step}-{round_number}-{number}-{goal.id}"
        for member in range(config.group_size):
            plans.append(RolloutPlan(goal, member, _seed(key), _seed(f"{key}-{member}")))
    return plans


def _seed(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") >> 1


def _add_group(sampled: _Sampled, members: Sequence[Rollout]) -> None:
    usable = [each.trajectory for each in members if each.usable]
    if len(usable) < 2:
        sampled.too_small += 1
        return
    rewards = [trajectory.reward for trajectory in usable]
    sampled.spreads.append(statistics.pstdev(rewards))
    if len(set(rewards)) == 1:
        sampled.tied += 1
        return
    sampled.groups.append(art.TrajectoryGroup(usable))


async def _update(
    config: GrpoConfig, step: int, backend: TorchBackend, model: art.TrainableModel, sampled: _Sampled
) -> dict[str, float]:
    """One optimiser step, or, where every group ties, the next number for the same weights."""
    if not sampled.groups:
        await backend.service(model).skip()
        return {"train/skipped": 1.0}
    backend.credit, backend.spread_floor = config.credit, config.spread_floor
    result = await backend.train(
        model,
        sampled.groups,
        learning_rate=learning_rate(config, step),
        loss_fn=config.loss,
        epsilon=config.epsilon,
        epsilon_high=config.epsilon_high,
        kl_penalty_coef=config.kl_coef,
        kl_penalty_reference_step=0 if config.kl_coef else None,
        scale_rewards=config.scale_rewards,
        advantage_balance=config.advantage_balance,
    )
    packing = backend.packing
    assert packing is not None
    return {
        **result.metrics,
        "train/skipped": 0.0,
        "data/rows": float(packing.rows),
        "data/tokens": float(packing.tokens_after),
        "data/tokens_unmerged": float(packing.tokens_before),
        "data/overlong": float(packing.overlong),
    }


def learning_rate(config: GrpoConfig, step: int) -> float:
    """The rate of the update that leads from ``step`` to the next."""
    rate = config.learning_rate
    if config.schedule == "linear":
        rate *= 1 - 0.9 * step / max(config.steps - 1, 1)
    return rate * min(1.0, (step + 1) / (config.warmup_steps + 1))


def _rollout_metrics(sampled: _Sampled) -> dict[str, float]:
    usable = [each for each in sampled.rollouts if each.usable]
    metrics = {
        "train/rollouts": float(len(sampled.rollouts)),
        "train/dropped": float(len(sampled.rollouts) - len(usable)),
        "train/groups_tied": float(sampled.tied),
        "train/groups_too_small": float(sampled.too_small),
        "train/groups_trained": float(len(sampled.groups)),
        "train/reward_spread": statistics.fmean(sampled.spreads) if sampled.spreads else 0.0,
        "time/sample_s": sampled.seconds,
    }
    if usable:
        metrics["train/reward"] = statistics.fmean(each.trajectory.reward for each in usable)
        for name in usable[0].trajectory.metrics:
            metrics[f"train/{name}"] = statistics.fmean(float(each.trajectory.metrics[name]) for each in usable)
        calls = sum(float(each.trajectory.metrics["tool_calls"]) for each in usable)
        errors = sum(float(each.trajectory.metrics["tool_errors"]) for each in usable)
        metrics["train/tool_error_rate"] = errors / calls if calls else 0.0
        won = [float(each.trajectory.metrics["exchanges"]) for each in usable if each.trajectory.metrics["success"]]
        if won:
            metrics["train/exchanges_on_success"] = statistics.fmean(won)
    return metrics


def _kept(config: GrpoConfig, step: int) -> set[int]:
    return {0, step, *range(0, step, config.keep_every)}


def _why(sampled: _Sampled) -> str:
    faults = [each.episode.fault for each in sampled.rollouts if each.episode.fault is not None]
    first = f"the first by {faults[0].kind}: {faults[0].message}" if faults else "without a stored reason"
    return f"all {len(sampled.rollouts)} rollouts of three steps in a row failed, {first}"


def _safely(call: Callable[..., None], *arguments: object) -> None:
    try:
        call(*arguments)
    except Exception:
        log.exception("a logger failed; training goes on")
