"""GRPO on the policy that SFT left: goals of the train split, rollouts through the graph, ART's update.

Owns ``run_train.py``'s stage: where it starts, its run folder, the report that is refreshed while it trains. The loop
is ``grpo``'s.
"""

import asyncio
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import art
import torch

from agents.config import COMPACT
from db.errors import InputError
from db.world import WorldFactory
from evaluation.grounded import grounded
from evaluation.html import refresh_curves
from evaluation.metrics import bootstrap_mean
from evaluation.rewards import reward
from evaluation.runs import RunFolder, start_run
from simulation.agenda_user import AgendaUser
from simulation.goals import sample_goals
from simulation.records import Episode
from training.backend import TorchBackend
from training.gpu import check_gpu
from training.grpo import GrpoConfig, GrpoTask, train_grpo
from training.learner import LearnerConfig
from training.locations import MODEL_NAME, PROJECT, art_dir, device_of, find_checkpoint, model_dir, stage_folder
from training.optimizers import OptimizerConfig
from training.service import TorchConfig
from training.sft import Trained
from training.stages import MAX_TOKENS, TrainConfig
from training.trackers import Trackers, start_trackers

COMMAND = "run_train"
REFRESH_S = 10.0
"""Seconds between two writings of the report."""


def train(config: TrainConfig) -> Trained:
    """Train up to ``config.steps`` updates.

    :raises InputError: there is no SFT policy, no machine, or the folder holds another run.
    """
    config.check()
    if config.profile == "gpu":
        check_gpu()
        raise InputError(
            "--profile gpu trains by SFT so far: GRPO on ART's LocalBackend is not wired in; use --profile cpu"
        )
    device = device_of(config.profile)
    start = find_checkpoint("sft", config.run)
    if config.threads:
        torch.set_num_threads(config.threads)
    identity = config.identity()
    with (
        start_run(stage_folder(config.run, "grpo"), COMMAND, identity, config.seed) as folder,
        start_trackers(config.track, folder) as trackers,
    ):
        return asyncio.run(_train(config, device, start, Watch(folder, trackers)))


def grpo_config(config: TrainConfig) -> GrpoConfig:
    """The loop's settings from the script's."""
    return GrpoConfig(
        steps=config.steps,
        goals_per_step=config.goals_per_step,
        group_size=config.group_size,
        learning_rate=config.learning_rate,
        warmup_steps=config.warmup_steps,
        temperature=config.temperature,
        max_tokens=MAX_TOKENS,
        loss=config.loss,
        kl_coef=config.kl_coef,
        advantage_balance=config.advantage_balance,
        scale_rewards=config.scale_rewards,
        spread_floor=config.spread_floor,
        credit=config.credit,
        seed=config.seed,
    )


async def _train(config: TrainConfig, device: str, start: Path, watch: "Watch") -> Trained:
    learner = LearnerConfig(optimizer=OptimizerConfig(kind=config.optimizer), minibatches=config.minibatches)
    backend = TorchBackend(art_dir(config.run, "grpo"), TorchConfig(device=device, learner=learner, serve=False))
    model = art.TrainableModel(name=MODEL_NAME, project=PROJECT, base_model=str(start), report_metrics=[])
    await model.register(backend)
    task = GrpoTask(
        goals=sample_goals("train", config.goals, config.seed),
        make_user=lambda goal, seed: AgendaUser(goal, seed, wordings=config.wordings),
        worlds=WorldFactory(),
        agent=COMPACT,
    )
    step = await train_grpo(
        grpo_config(config), backend, model, task, on_step=watch.on_step, on_episode=watch.on_episode
    )
    watch.refresh()
    await backend.close()
    return Trained(model_dir(config.run, "grpo") / "checkpoints" / f"{step:04d}", step, watch.last)


class Watch:
    """Writes metrics and episodes down, hands the metrics to the trackers, and renews the report now and then."""

    def __init__(self, folder: RunFolder, trackers: Trackers) -> None:
        self.last: dict[str, float] = {}
        self._folder = folder
        self._trackers = trackers
        self._played: list[Episode] = []
        self._written = 0.0

    def on_step(self, step: int, metrics: Mapping[str, float]) -> None:
        """The step's metrics, with the intervals that its rollouts give."""
        self.last = {**metrics, **intervals(self._played)}
        self._played = []
        self._folder.log_metrics(step, self.last)
        self._trackers.log(step, self.last)
        if time.monotonic() - self._written > REFRESH_S:
            self.refresh()

    def on_episode(self, step: int, episode: Episode) -> None:
        """Rollouts are kept under the step they were sampled at."""
        self._played.append(episode)
        self._folder.append_episode(episode.model_copy(update={"id": f"{step}/{episode.id}"}))

    def refresh(self) -> None:
        refresh_curves(self._folder, "GRPO")
        self._written = time.monotonic()


def intervals(episodes: Sequence[Episode]) -> dict[str, float]:
    """95% bootstrap intervals of a step's means, as ``NAME_low`` and ``NAME_high``.

    Goals are drawn again and not rollouts, since those of one goal are no independent samples. What is no fair sample
    of the policy is left out, as in the means.
    """
    groups: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for episode in episodes:
        score = grounded(episode)
        parts = reward(episode, score)
        if parts is None:
            continue
        values = {"success": score.success, "exchanges": len(episode.exchanges), "reward": parts.total}
        for name, value in values.items():
            groups[name][episode.goal.id].append(float(value))
    found = {}
    for name, by_goal in groups.items():
        metric = bootstrap_mean([statistics.fmean(values) for values in by_goal.values()])
        if metric is not None:
            found[f"train/{name}_low"], found[f"train/{name}_high"] = metric.ci95
    return found
