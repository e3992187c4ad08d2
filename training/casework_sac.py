"""The casework teacher: discrete SAC, trained into ``runs/RUN/sac`` and loaded from there as a policy.

Owns the training's files: the learning curve (``metrics.jsonl``, ``report.html``) and the weights (``actor.pt``). What
learns is ``casework_learner``.
"""

import hashlib
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from db.errors import InputError
from db.support_world import SupportWorlds
from environments.casework.actions import Action
from environments.casework.casefile import Casefile
from environments.casework.cases import Case, CaseSource
from environments.casework.env import CaseworkEnv, Vector, observe
from environments.casework.policies import Move, Player, View
from environments.casework.situations import read_shop
from evaluation.html import refresh_curves
from evaluation.runs import RunFolder, start_run
from training.casework_learner import Learner, build_network
from training.casework_stages import SacConfig, sac_folder

COMMAND = "collect_sft/sac"
WEIGHTS = "actor.pt"


class SacPolicy:
    """A trained actor, greedy."""

    def __init__(self, name: str, actor: nn.Module) -> None:
        self.name = name
        self._actor = actor

    def player(self, casefile: Casefile, seed: int) -> Player:
        return _SacPlayer(self)

    @torch.inference_mode()
    def choose(self, vector: Vector) -> Action:
        """The likeliest action."""
        return Action(int(self._actor(torch.from_numpy(vector)).argmax()))


@dataclass(frozen=True)
class _SacPlayer:
    policy: SacPolicy

    async def decide(self, view: View) -> Move:
        return Move(self.policy.choose(view.vector()))


def load_sac(run: str) -> SacPolicy:
    """The teacher of ``run``; its name holds a digest of the weights, so that two are never mixed.

    :raises InputError: none was trained.
    """
    path = sac_folder(run) / WEIGHTS
    if not path.exists():
        raise InputError(f"no SAC teacher at {path}: run collect_sft.py --task casework --run {run} first")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    stored = torch.load(path, weights_only=True)
    actor = build_network(tuple(stored["hidden"]))
    actor.load_state_dict(stored["actor"])
    return SacPolicy(f"sac:{digest}", actor.eval())


def train_sac(config: SacConfig) -> SacPolicy:
    """Train the teacher of ``config.run``, or load it when it has been trained already.

    A training that was broken off starts again: it takes minutes.

    :raises InputError: the folder holds a teacher that was trained otherwise.
    """
    config.check()
    with start_run(config.folder, COMMAND, config.identity(), config.seed) as folder:
        if not (folder.path / WEIGHTS).exists():
            (folder.path / "metrics.jsonl").unlink(missing_ok=True)
            _train(config, folder)
    return load_sac(config.run)


def _train(config: SacConfig, folder: RunFolder) -> None:
    torch.manual_seed(config.seed)
    worlds = SupportWorlds()
    with worlds.open() as world:
        source = CaseSource(read_shop(world.sessions), "train")
    env = CaseworkEnv(worlds, lambda seed: source.draw(random.Random(seed), f"sac-{seed}"))
    check = [source.draw(random.Random(f"check/{number}"), f"check-{number}") for number in range(config.check_cases)]
    learner = Learner(config, env)
    started, episodes, checked, rewards = time.perf_counter(), 0, 0, 0.0
    for batch in learner.batches():
        rewards += float(batch["next", "reward"].sum())
        episodes += int(batch["next", "done"].sum())
        learner.learn(batch)
        over = episodes >= config.episodes
        if over or episodes - checked >= config.check_every:
            row = check_actor(SacPolicy("", learner.actor), check, worlds) | learner.means()
            row |= {"train/reward": rewards / (episodes - checked), "wall_s": time.perf_counter() - started}
            folder.log_metrics(episodes, row)
            refresh_curves(folder, f"SAC teacher of {config.run}")
            checked, rewards = episodes, 0.0
        if over:
            break
    learner.close()
    env.close()
    _save(config, folder, learner.actor)


def check_actor(policy: SacPolicy, cases: Sequence[Case], worlds: SupportWorlds) -> dict[str, float]:
    """What the greedy policy reaches on ``cases``: a point of the learning curve."""
    played: list[Casefile] = []
    for case in cases:
        with worlds.open() as world:
            casefile = Casefile(case, world)
            while not casefile.over:
                casefile.act(policy.choose(observe(casefile)))
        played.append(casefile)
    return {
        "greedy/resolution": sum(each.resolved for each in played) / len(played),
        "greedy/reward": sum(each.reward for each in played) / len(played),
        "greedy/steps": sum(len(each.steps) for each in played) / len(played),
    }


def _save(config: SacConfig, folder: RunFolder, actor: nn.Module) -> None:
    draft = folder.path / f".{WEIGHTS}"
    torch.save({"hidden": list(config.hidden), "actor": actor.state_dict()}, draft)
    draft.replace(folder.path / WEIGHTS)
