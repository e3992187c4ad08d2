"""Discrete SAC for casework, wired from TorchRL's parts: environment wrapper, collector, replay, loss, slow copies.

Owns the wiring alone. Source of the algorithm: Christodoulou 2019, Soft Actor-Critic for Discrete Action Settings.
"""

import math
import warnings
from collections.abc import Iterator

import torch
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule
from torch import nn

from environments.casework.actions import Action
from environments.casework.env import SIZE, CaseworkEnv
from training.casework_stages import SacConfig

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "Creating .* which inherits from WeightUpdaterBase", DeprecationWarning)
    from torchrl.collectors import Collector
    from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
    from torchrl.envs import GymWrapper
    from torchrl.modules import ProbabilisticActor
    from torchrl.objectives import DiscreteSACLoss, SoftUpdate

LOSSES = ("loss_actor", "loss_qvalue", "loss_alpha", "alpha", "entropy")
_STEPS_AT_ONCE = 16
"""Taken between two rounds of updates."""
_MEMORY = 100_000
"""Steps; more than a training takes."""


def build_network(hidden: tuple[int, ...]) -> nn.Sequential:
    """A multilayer perceptron from observations to a number per action."""
    layers: list[nn.Module] = []
    width = SIZE
    for size in hidden:
        layers += [nn.Linear(width, size), nn.ReLU()]
        width = size
    return nn.Sequential(*layers, nn.Linear(width, len(Action)))


class Learner:
    """Collects steps and learns from them."""

    def __init__(self, config: SacConfig, env: CaseworkEnv) -> None:
        self.actor = build_network(config.hidden)
        self._config = config
        world = GymWrapper(env, categorical_action_encoding=True)
        world.set_seed(config.seed)
        policy = ProbabilisticActor(
            TensorDictModule(self.actor, in_keys=["observation"], out_keys=["logits"]),
            in_keys=["logits"],
            spec=world.action_spec,
            distribution_class=torch.distributions.Categorical,
        )
        critic = TensorDictModule(build_network(config.hidden), in_keys=["observation"], out_keys=["action_value"])
        self._loss = DiscreteSACLoss(
            policy,
            critic,
            action_space=world.action_spec,
            target_entropy=_entropy(config, 0),  # pyright: ignore[reportArgumentType]
            alpha_init=0.2,
        )
        self._loss.make_value_estimator(gamma=config.gamma)
        self._slow = SoftUpdate(self._loss, tau=config.target_share)
        self._optimizer = torch.optim.Adam(self._loss.parameters(), lr=config.learning_rate)
        self._memory = TensorDictReplayBuffer(storage=LazyTensorStorage(_MEMORY), batch_size=config.batch)
        self._collector = Collector(
            world,
            policy,
            frames_per_batch=_STEPS_AT_ONCE,
            total_frames=-1,
            init_random_frames=_in_rounds(config.random_steps),
            auto_register_policy_transforms=False,
        )
        self._owed = 0.0
        self._episodes = 0
        self._sums = dict.fromkeys(LOSSES, 0.0)
        self._updates = 0

    def batches(self) -> Iterator[TensorDictBase]:
        """Steps without end, some at a time; more are taken when the last ones have been learned from."""
        for batch in self._collector:
            yield batch.reshape(-1)

    def learn(self, batch: TensorDictBase) -> None:
        """Remember the steps of ``batch`` and update as often as they allow."""
        kept = batch.select("observation", "action", ("next", "observation"), *_OUTCOME)
        kept["next", "reward"] = kept["next", "reward"] * self._config.reward_scale
        # The limit of steps is part of the task and the time is observed, so nothing is to be had beyond it.
        kept["next", "terminated"] = kept["next", "done"].clone()
        self._memory.extend(kept)
        self._episodes += int(batch["next", "done"].sum())
        self._loss.get_buffer("target_entropy").fill_(_entropy(self._config, self._episodes))
        self._owed += len(batch) * self._config.updates_per_step
        while self._owed >= 1 and len(self._memory) >= self._config.batch:
            self._owed -= 1
            self._update()

    def means(self) -> dict[str, float]:
        """The losses since this was asked last."""
        means = {f"learner/{name}": total / max(self._updates, 1) for name, total in self._sums.items()}
        self._sums, self._updates = dict.fromkeys(LOSSES, 0.0), 0
        return means

    def close(self) -> None:
        self._collector.shutdown()

    def _update(self) -> None:
        losses = self._loss(self._memory.sample())
        self._optimizer.zero_grad()
        (losses["loss_actor"] + losses["loss_qvalue"] + losses["loss_alpha"]).backward()
        self._optimizer.step()
        self._slow.step()
        self._updates += 1
        for name in LOSSES:
            self._sums[name] += losses[name].item()


_OUTCOME = [("next", name) for name in ("reward", "done", "terminated", "truncated")]


def _entropy(config: SacConfig, episodes: int) -> float:
    return config.entropy_aim(episodes) * math.log(len(Action))


def _in_rounds(steps: int) -> int:
    """The next multiple of the steps that are taken at once, which the collector asks for."""
    return -(-steps // _STEPS_AT_ONCE) * _STEPS_AT_ONCE
