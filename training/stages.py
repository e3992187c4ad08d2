"""The stages of a run: what each script is told, and where it puts what it makes.

``runs/RUN/collect`` -> ``runs/RUN/sft`` -> ``runs/RUN/grpo``, each a run folder; evaluations lie beside them. Light on
purpose: ``--help`` and bad input must not wait for torch or ART.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from db.errors import InputError
from environments.casework.reward import SFT_MINIMUM
from evaluation.runner import DEFAULT_CONCURRENCY
from simulation.endpoint import PREFIX, EndpointConfig
from simulation.wordings import Wordings
from training.casework_stages import SacConfig
from training.locations import Profile, check_device, collected, find_checkpoint, stage_folder
from training.trackers import check_trackers

Credit = Literal["outcome", "turn", "node"]
"""How an advantage is spread over a dialogue's calls. ``outcome``: every sampled token gets the trajectory's, as in
GRPO (Shao et al. 2024, DeepSeekMath). ``turn``: a call gets the return from its own exchange on, relative to the
siblings' at the same exchange. ``node``: as outcome, but the router's tokens and the experts' weigh half each, however
many they are."""
MAX_TOKENS = 64
"""Longest completion of the small policy."""

QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # ART's litellm fetches a price list at import otherwise
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",  # kernels this small lose more by meeting than they gain by sharing; --threads overrules
    "OMP_WAIT_POLICY": "PASSIVE",  # threads that spin between tiny kernels take the cores from the simulator
    "KMP_BLOCKTIME": "0",
    "WANDB_MODE": "disabled",
    "WANDB_SILENT": "true",
}


def quiet(track: Sequence[str] = ()) -> None:
    """What scripts set before heavy imports, unless the user has set it otherwise, or tracks with W&B."""
    for name, value in QUIET.items():
        if name != "WANDB_MODE" or "wandb" not in track:
            os.environ.setdefault(name, value)


@dataclass(frozen=True)
class CollectConfig:
    """Let a teacher play the sft goals and keep the dialogues worth learning from.

    They land in runs/RUN/collect. The same command goes on where it was interrupted. With --task casework the teacher
    is SAC, trained first into runs/RUN/sac, and plays cases at the support desk.
    """

    task: Literal["multiwoz", "casework"] = "multiwoz"
    """Bookings with simulated users, or cases at the support desk."""
    run: str = "demo"
    """Name of the run."""
    profile: Profile = "cpu"
    """``cpu`` collects in the compact style of the small model, ``gpu`` in full prompts for a large one."""
    seed: int = 0
    """Decides goals, users and references."""
    dialogues: int = 6000
    """How many dialogues the teacher plays."""
    teacher: str = "scripted"
    """``scripted``, or ``endpoint:MODEL`` with a key in OPENAI_API_KEY."""
    base_url: str = "https://api.openai.com/v1"
    """The server of ``endpoint:MODEL``."""
    piecemeal: float = 0.6
    """Share of dialogues in which the scripted teacher tells one fact at a time, so that the user has to ask again:
    what the turn penalty of GRPO can unlearn."""
    wordings: Wordings = "train"
    """Which of the user's sentences: those held out are for evaluation."""
    minimum_reward: float = 0.0
    """Dialogues that end below it are not learned from; cases need 5 in any event."""
    sac_episodes: int = 3000
    """Casework: how many cases the teacher learns from."""
    concurrency: int = DEFAULT_CONCURRENCY
    """Dialogues in progress at once; changes speed, not what is collected."""

    def check(self) -> None:
        """:raises InputError: what can be known before anything is loaded is wrong."""
        stage_folder(self.run, "collect")
        if self.dialogues < 1:
            raise InputError(f"--dialogues {self.dialogues} plays nothing: give 1 or more")
        if self.task == "casework":
            self.sac.check()
        if self.concurrency < 1:
            raise InputError(f"--concurrency {self.concurrency} plays nothing: give 1 or more")
        if not 0 <= self.piecemeal <= 1:
            raise InputError(f"--piecemeal {self.piecemeal:g} is no share: give 0 to 1")
        if self.teacher != "scripted" and not self.teacher.removeprefix(PREFIX).strip(PREFIX):
            raise InputError(f"--teacher {self.teacher} names no model: give one such as endpoint:gpt-4.1")
        if self.teacher != "scripted" and not self.teacher.startswith(PREFIX):
            raise InputError(f"--teacher {self.teacher} is unknown: give scripted or endpoint:MODEL")

    @property
    def folder(self) -> Path:
        return stage_folder(self.run, "collect")

    @property
    def endpoint(self) -> EndpointConfig:
        """The teacher's endpoint, when it is one."""
        return EndpointConfig(self.teacher.removeprefix(PREFIX), self.base_url, temperature=0.0)

    @property
    def sac(self) -> SacConfig:
        """How casework's teacher is trained."""
        return SacConfig(self.run, self.seed, episodes=self.sac_episodes)

    @property
    def least_reward(self) -> float:
        """What a case has to earn to be learned from."""
        return max(self.minimum_reward, SFT_MINIMUM)

    def identity(self) -> dict[str, JsonValue]:
        """What has to agree for two starts to be the same collection, beside the seed."""
        if self.task == "casework":
            sac = self.sac.identity()
            return {"task": self.task, "dialogues": self.dialogues, "minimum_reward": self.least_reward, "sac": sac}
        return {
            "profile": self.profile,
            "dialogues": self.dialogues,
            "teacher": self.teacher,
            "piecemeal": self.piecemeal,
            "wordings": self.wordings,
            "minimum_reward": self.minimum_reward,
        }


@dataclass(frozen=True)
class SftConfig:
    """Teach the policy the collected dialogues.

    Weights and metrics land in runs/RUN/sft. The same command goes on where it was interrupted.
    """

    run: str = "demo"
    """Name of the run."""
    profile: Profile = "cpu"
    """``cpu`` trains a small model from nothing, ``gpu`` a LoRA adapter of Qwen2.5-14B-Instruct."""
    seed: int = 0
    """Decides the initial weights and the order of the dialogues."""
    epochs: float = 3.0
    """Passes over the dialogues; may be a fraction."""
    batch_dialogues: int = 4
    """Dialogues in one optimiser step."""
    learning_rate: float = 0.0
    """After warm-up; falls linearly to zero. 0 takes the profile's: 3e-3 on the CPU, 2e-4 on a GPU."""
    warmup_steps: int = 30
    swap_values: bool = True
    """On the CPU: show venues, days and numbers swapped for others, so that copying is learnt and not the values."""
    noisy_words: bool = True
    """On the CPU: replace or drop words of the user that do not change what it means, so that other wordings work."""
    chunk_batches: int = 100
    """Optimiser steps between checkpoints."""
    threads: int = 0
    """Torch's threads; 0 leaves the choice to torch."""
    track: tuple[str, ...] = ()
    """``tensorboard``, ``wandb``, or both: where each step's metrics go besides the run's own ``metrics.jsonl``."""

    @property
    def peak_learning_rate(self) -> float:
        """The rate that ``learning_rate`` means."""
        return self.learning_rate or (3e-3 if self.profile == "cpu" else 2e-4)

    def check(self) -> None:
        """:raises InputError: what can be known before anything is loaded is wrong."""
        check_trackers(self.track)
        check_device(self.profile)
        collected(self.run)
        if self.epochs <= 0 or self.batch_dialogues < 1 or self.chunk_batches < 1 or self.warmup_steps < 1:
            raise InputError(
                f"--epochs {self.epochs} --batch-dialogues {self.batch_dialogues} --chunk-batches {self.chunk_batches} "
                f"--warmup-steps {self.warmup_steps}: all must be above 0"
            )

    def identity(self) -> dict[str, JsonValue]:
        """What has to agree for two starts to be the same training, beside the seed."""
        return {
            "profile": self.profile,
            "epochs": self.epochs,
            "batch_dialogues": self.batch_dialogues,
            "learning_rate": self.learning_rate,
            "warmup_steps": self.warmup_steps,
            "chunk_batches": self.chunk_batches,
            "swap_values": self.swap_values,
            "noisy_words": self.noisy_words,
        }


@dataclass(frozen=True)
class TrainConfig:
    """Improve the policy by GRPO: groups of dialogues of one goal, a reward of -1 per exchange, +80 or -40 at the end.

    Weights, metrics, rollouts and the report land in runs/RUN/grpo. The same command goes on where it was interrupted.
    """

    run: str = "demo"
    """Name of the run."""
    profile: Profile = "cpu"
    """Where it trains."""
    seed: int = 0
    """Decides goals, users and sampling."""
    steps: int = 100
    """Updates in all."""
    goals: int = 4000
    """Goals of the train split to draw from."""
    goals_per_step: int = 40
    """Groups per update that have something to compare: few goals teach their own values instead of copying."""
    group_size: int = 4
    """Dialogues of one goal."""
    learning_rate: float = 1.5e-4
    """At the first update; falls linearly to a tenth."""
    warmup_steps: int = 2
    """Updates before the rate is reached."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    minibatches: int = 1
    """Optimiser steps per update."""
    temperature: float = 1.0
    """Of sampling."""
    loss: Literal["cispo", "ppo"] = "cispo"
    kl_coef: float = 0.0
    """Weight of the penalty for leaving the SFT policy."""
    advantage_balance: float = 0.0
    """0 weighs bad and good dialogues alike, 1 learns from the good ones alone."""
    scale_rewards: bool = True
    """Divide advantages by the group's spread, as GRPO does; without, an exchange more weighs next to nothing beside
    success."""
    spread_floor: float = 5.0
    """Added to that spread, so that groups that differ by an exchange weigh less than groups that differ by success."""
    credit: Credit = "outcome"
    """How a dialogue's advantage is spread over its tokens."""
    wordings: Wordings = "train"
    """Which of the user's sentences: those held out are for evaluation."""
    threads: int = 0
    """Torch's threads; 0 leaves the choice to torch."""
    track: tuple[str, ...] = ()
    """``tensorboard``, ``wandb``, or both: where each step's metrics go besides the run's own ``metrics.jsonl``."""

    def check(self) -> None:
        """:raises InputError: what can be known before anything is loaded is wrong."""
        check_trackers(self.track)
        check_device(self.profile)
        find_checkpoint("sft", self.run)
        if self.group_size < 2 or self.goals_per_step < 1 or self.steps < 1:
            raise InputError(
                f"--steps {self.steps} --goals-per-step {self.goals_per_step} --group-size {self.group_size}: "
                "a group needs 2 dialogues to compare, the others 1"
            )
        if self.spread_floor < 0:
            raise InputError(f"--spread-floor {self.spread_floor:g} is below 0: give 0 or more")

    def identity(self) -> dict[str, JsonValue]:
        """What has to agree for two starts to be the same training, beside the seed."""
        same = asdict(self)
        for name in ("run", "seed", "threads", "track"):
            del same[name]
        return same
