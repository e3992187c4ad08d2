"""A short reason per step, for trajectories whose teacher gives none: what a clerk would say who saw what it saw.

A reason is a function of the step taken, of what the last answer said and of nothing else that a reader of the text
does not know. ``data/reasons.toml`` has the sentences.
"""

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from environments.casework.records import StepRecord
from tools.support.results import FAULTS

_SENTENCES: Final = Path(__file__).parent / "data" / "reasons.toml"


def explain(steps: Sequence[StepRecord], index: int) -> str:
    """Why step ``index`` was taken."""
    step, before = steps[index], steps[index - 1] if index else None
    sentences = _sentences()
    if before is not None and before.outcome in FAULTS and before.action == step.action:
        return sentences["again"][before.outcome or "failed"]
    if step.operation is not None:
        return sentences["operation"][step.operation]
    assert step.action is not None
    return sentences["action"][step.action.label]


@cache
def _sentences() -> dict[str, dict[str, str]]:
    return tomllib.loads(_SENTENCES.read_text(encoding="utf-8"))
