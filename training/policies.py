"""Trained policies by name: ``untrained``, ``sft`` and ``grpo`` of a run, or ``RUN`` for the furthest it got.

Owns where a run's weights lie and how a policy is sampled when it is used and not trained: greedily, by default.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import torch
from transformers import AutoTokenizer

from agents.config import COMPACT, AgentConfig
from db.errors import InputError
from training.checkpoints import latest_checkpoint, load_model
from training.endpoint import PolicyEndpoint
from training.engine import PolicyEngine
from training.policy_model import ChatSettings, PolicyChatModel
from training.stages import MAX_TOKENS, MODEL_NAME, PROJECT, Profile, Stage, stage_folder


@dataclass(frozen=True)
class TrainedPolicy:
    """A policy whose weights are in this process."""

    name: str
    config: AgentConfig
    endpoint: PolicyEndpoint
    temperature: float

    def chat_model(self, seed: int) -> PolicyChatModel:
        """The model for one episode; ``seed`` matters only above temperature 0."""
        settings = ChatSettings(temperature=self.temperature, max_tokens=MAX_TOKENS, seed=seed, logprobs=False)
        return PolicyChatModel(self.endpoint, settings)


@asynccontextmanager
async def open_policy(
    name: str, profile: Profile, seed: int, run: str = "", temperature: float = 0.0
) -> AsyncIterator[TrainedPolicy]:
    """The policy called ``name``; ``run`` is where ``untrained``, ``sft`` and ``grpo`` are looked for.

    :raises InputError: there is no such policy, or no machine for it.
    """
    checkpoint = find_checkpoint(name, run)
    device = device_of(profile)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    torch.manual_seed(seed)
    endpoint = PolicyEndpoint(PolicyEngine(load_model(checkpoint, device)), tokenizer, MODEL_NAME)
    yield TrainedPolicy(name, COMPACT, endpoint, temperature)


def device_of(profile: Profile) -> str:
    """The torch device of ``profile``.

    :raises InputError: this machine has none.
    """
    if profile == "gpu" and not torch.cuda.is_available():
        raise InputError("--profile gpu needs an NVIDIA GPU, and torch finds none here: use --profile cpu")
    return "cuda" if profile == "gpu" else "cpu"


def find_checkpoint(name: str, run: str = "") -> Path:
    """The directory of weights that ``name`` means: ``untrained``, ``sft``, ``grpo`` (of ``run``), RUN or RUN/STAGE.

    :raises InputError: nothing was trained under that name.
    """
    stages = ("untrained", "sft", "grpo")
    where, _, stage = (run, "", name) if name in stages else name.partition("/")
    if stage not in ("", *stages):
        raise InputError(f"--policy {name} is unknown: give RUN, RUN/sft, RUN/grpo or RUN/untrained")
    if stage == "untrained":
        base = base_dir(where)
        if (base / "config.json").exists():
            return base
    else:
        wanted: tuple[Stage, ...] = ("grpo", "sft") if not stage else tuple(s for s in get_args(Stage) if s == stage)
        for candidate in wanted:
            found = latest_checkpoint(model_dir(where, candidate))
            if found is not None and found[0] > 0:
                return found[1]
    raise InputError(f"no policy {name!r} in runs/{where or '?'}: name a run trained by run_sft.py, or scripted")


def base_dir(run: str) -> Path:
    """Where the untrained model of a run lies."""
    return stage_folder(run, "sft") / "base"


def model_dir(run: str, stage: Stage) -> Path:
    """Where ART keeps a stage's model: ``checkpoints/NNNN`` below it."""
    return art_dir(run, stage) / PROJECT / "models" / MODEL_NAME


def art_dir(run: str, stage: Stage) -> Path:
    """ART's folder of a stage."""
    return stage_folder(run, stage) / "art"
