"""The text form of casework: a chat whose answers are ``{"reasoning": "...", "action_id": 0}``.

Owns what a language model reads and how its output is read. Anything but one JSON object with exactly these two keys is
a format fault: it takes a step, costs reward, and is answered by a correction that says what was wrong.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypedDict

from environments.casework.actions import Action
from environments.casework.casefile import Casefile, Step

_SYSTEM: Final = Path(__file__).parent / "prompts" / "system.md"
_FORM: Final = 'Answer with one JSON object such as {"reasoning": "...", "action_id": 0}'


class Message(TypedDict):
    """One message of the chat."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Decision:
    """An output that could be read."""

    action: Action
    reasoning: str


@dataclass(frozen=True)
class FormatFault:
    """An output that could not, and what the model is told about it."""

    correction: str


def opening(query: str) -> list[Message]:
    """The chat before the first step."""
    return [{"role": "system", "content": _system()}, {"role": "user", "content": f"Customer: {query}"}]


def chat(query: str, steps: Sequence[Step], outputs: Sequence[str]) -> list[Message]:
    """The chat after ``steps``, whose outputs were ``outputs``: what the model reads next."""
    messages = opening(query)
    for step, output in zip(steps, outputs, strict=True):
        messages.append({"role": "assistant", "content": output})
        messages.append({"role": "user", "content": step.text})
    return messages


def write_output(action: Action, reasoning: str) -> str:
    """The output that chooses ``action``."""
    return json.dumps({"reasoning": reasoning, "action_id": int(action)}, ensure_ascii=False)


def read_output(output: str) -> Decision | FormatFault:
    """The decision that ``output`` states; strict, so that what is trained is what is meant."""
    try:
        said = json.loads(output)
    except ValueError:
        return FormatFault(f"That is no JSON object. {_FORM} and nothing around it.")
    if not isinstance(said, dict) or set(said) != {"reasoning", "action_id"}:
        return FormatFault(f"The object needs the keys reasoning and action_id and no others. {_FORM}.")
    action_id = said["action_id"]
    if not isinstance(said["reasoning"], str):
        return FormatFault(f"reasoning has to be a text. {_FORM}.")
    if not isinstance(action_id, int) or isinstance(action_id, bool) or not 0 <= action_id < len(Action):
        return FormatFault(f"action_id has to be a whole number from 0 to {len(Action) - 1}. {_FORM}.")
    return Decision(Action(action_id), said["reasoning"])


def act_on(casefile: Casefile, output: str) -> Step:
    """Take the step that ``output`` states, or count it as a format fault."""
    read = read_output(output)
    if isinstance(read, FormatFault):
        return casefile.reject(read.correction)
    return casefile.act(read.action)


@cache
def _system() -> str:
    return _SYSTEM.read_text(encoding="utf-8").strip()
