"""What a teacher showed: the histories of a dialogue, taken down through ART's LangGraph integration.

A teacher (the scripted expert, or a large model behind an endpoint) has no token ids to keep, so this is the light
sister of ``capture``: each expert's longest history once, each router call once, in ART's form for supervised
fine-tuning (``{"messages": [...], "tools": [...]}``). Only an episode that earned it is exported.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import art
from art.langgraph import init_chat_model, wrap_rollout
from art.langgraph.llm_wrapper import CURRENT_CONFIG
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel, JsonValue, ValidationError

from evaluation.runs import read_lines
from training.capture import RecordedChatModel, current_node, sweep_litter
from training.chat import langchain_messages
from training.policy_model import as_messages

T = TypeVar("T")


class TaughtHistory(BaseModel):
    """One history: every assistant message in it is the teacher's."""

    node: str
    messages: list[dict[str, JsonValue]]
    tools: list[dict[str, JsonValue]] | None = None


class Transcript(BaseModel):
    """The histories of one episode, and whether they are fit to learn from."""

    episode: str
    kept: bool
    reward: float | None
    histories: list[TaughtHistory]


@dataclass
class _Notebook:
    """Stands in for ART's file logger."""

    histories: list[TaughtHistory] = field(default_factory=list)

    def log(self, name: str, entry: dict[str, object]) -> None:
        """ART calls this after every completion."""
        output = entry["output"]
        assert isinstance(output, AIMessage)
        messages = langchain_messages([*as_messages(entry["input"]), output])  # pyright: ignore[reportArgumentType]
        node = current_node()
        taught = TaughtHistory(node=node, messages=messages, tools=entry["tools"] or None)  # pyright: ignore[reportArgumentType]
        for index, earlier in enumerate(self.histories):
            if earlier.node == node and messages[: len(earlier.messages)] == earlier.messages:
                self.histories[index] = taught
                return
        self.histories.append(taught)

    def load_logs(self) -> list[tuple[str, dict[str, object]]]:
        """Nothing, so that ART does not merge by message equality."""
        return []


async def take_down(
    teacher: BaseChatModel | Runnable, play: Callable[[RecordedChatModel], Awaitable[T]]
) -> tuple[T, list[TaughtHistory]]:
    """Run ``play`` with ``teacher`` as its chat model; what it returns, and the histories that came about."""
    notebook = _Notebook()
    values: list[T] = []

    async def fn() -> art.Trajectory:
        CURRENT_CONFIG.get()["logger"] = notebook
        logging = init_chat_model()
        logging.llm = teacher  # pyright: ignore[reportAttributeAccessIssue]
        values.append(await play(RecordedChatModel(logging)))
        return art.Trajectory()

    model = art.Model(
        name="teacher",
        project="concierge",
        inference_base_url="http://127.0.0.1",
        inference_api_key="none",
        inference_model_name="teacher",
    )
    with sweep_litter():
        await wrap_rollout(model, fn)()
    return values[0], notebook.histories


def read_transcripts(path: Path) -> Iterator[Transcript]:
    """The transcripts in a file, each episode once; a line torn by a kill is left out."""
    seen: set[str] = set()
    for _, line in read_lines(path):
        try:
            transcript = Transcript.model_validate_json(line)
        except ValidationError:
            continue
        if transcript.episode not in seen:
            seen.add(transcript.episode)
            yield transcript


def export(transcripts: Iterable[Transcript], path: Path) -> int:
    """Write the kept histories as ART's JSONL for supervised fine-tuning; how many dialogues there are."""
    count = 0
    draft = path.with_suffix(".draft")
    with draft.open("w", encoding="utf-8") as lines:
        for transcript in transcripts:
            if not transcript.kept:
                continue
            count += 1
            for history in transcript.histories:
                row = {"episode": transcript.episode, **history.model_dump()}
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    draft.replace(path)
    return count
