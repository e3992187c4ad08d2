"""What is being evaluated or trained: a name, a way of prompting, a chat model for each episode.

Owns the protocol and the scripted policy. Policies behind an endpoint are `endpoint`'s, trained ones `training`'s.
"""

import random
from typing import Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from agents.config import COMPACT, AgentConfig
from agents.scripted import ScriptedModel


class Policy(Protocol):
    """A policy plays any number of episodes at once."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def config(self) -> AgentConfig:
        """How its experts are prompted."""
        ...

    def chat_model(self, seed: int) -> BaseChatModel | Runnable:
        """The model for one episode, called inside it; ``seed`` is the episode's."""
        ...


class ScriptedPolicy:
    """The rule-based expert: the ceiling for every other policy, and the CPU profile's teacher.

    ``piecemeal`` is the share of dialogues, from 0 to 1, in which it tells one fact at a time: a teacher's manner that
    costs exchanges. The ceiling never does.
    """

    name = "scripted"

    def __init__(self, config: AgentConfig = COMPACT, piecemeal: float = 0.0) -> None:
        self.config = config
        self.piecemeal = piecemeal

    def chat_model(self, seed: int) -> BaseChatModel:
        """A fresh one each time; ``seed`` decides its manner, nothing else."""
        piecemeal = random.Random(f"manner-{seed}").random() < self.piecemeal
        return ScriptedModel(placeholders=self.config.placeholders, piecemeal=piecemeal)
