"""Trained policies by name: ``untrained``, ``sft`` and ``grpo`` of a run, or ``RUN`` for the furthest it got.

Owns how a policy is sampled when it is used and not trained: greedily, by default.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoTokenizer

from agents.config import COMPACT, AgentConfig
from training.checkpoints import load_model
from training.endpoint import PolicyEndpoint
from training.engine import PolicyEngine
from training.locations import MODEL_NAME, Profile, device_of, find_checkpoint
from training.policy_model import ChatSettings, PolicyChatModel
from training.stages import MAX_TOKENS


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
    yield TrainedPolicy(f"{name}@{weights_label(checkpoint)}", COMPACT, endpoint, temperature)


def weights_label(checkpoint: Path) -> str:
    """Stage and step, ``grpo-0012``: dialogues of different weights must not be taken for one another's."""
    stage = next((part for part in reversed(checkpoint.parts) if part in ("sft", "grpo")), "")
    return f"{stage}-{checkpoint.name}"
