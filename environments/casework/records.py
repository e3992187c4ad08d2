"""What is kept of a case that was played: enough to report it, and to read it again, without a model.

Everything here crosses a file (``episodes.jsonl``), so it is pydantic and append-only: a new field needs a default.
"""

from typing import Literal

from pydantic import BaseModel

from environments.casework.actions import Action
from environments.casework.cases import Case
from environments.casework.reward import Signal
from simulation.records import Fault
from tools.support.results import Operation, Outcome


class StepRecord(BaseModel):
    """One step."""

    action: Action | None
    """``None``: a format fault."""
    output: str | None = None
    """What a language model wrote; ``None`` for policies that choose ids."""
    operation: Operation | None
    outcome: Outcome | None
    text: str
    signals: dict[Signal, float]
    breach: bool
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_s: float = 0.0


class CaseEpisode(BaseModel):
    """One case as a policy played it."""

    id: str
    """``{case.id}#{repeat}``."""
    case: Case
    seed: int
    policy: str
    steps: list[StepRecord]
    reward: float
    resolved: bool
    ended: Literal["closed", "limit", "fault"]
    fault: Fault | None = None
    wall_s: float = 0.0

    @property
    def breaches(self) -> int:
        return sum(step.breach for step in self.steps)

    @property
    def format_faults(self) -> int:
        return sum(step.action is None for step in self.steps)
