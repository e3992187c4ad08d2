"""Collect casework to learn from: the SAC teacher plays training cases, what earned enough is kept as chats.

Owns the files of its stage, as ``collect`` does for bookings: ``episodes.jsonl`` (every case played) and ``sft.jsonl``
(the kept ones: one chat a line, ``{"episode", "node", "messages", "tools"}``). The teacher chooses ids; the reason that
its outputs give is written by ``environments.casework.reasoning``.
"""

import asyncio
import json
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from db.errors import InputError
from db.support_world import SupportWorlds
from environments.casework.cases import CaseSource
from environments.casework.reasoning import explain
from environments.casework.records import CaseEpisode
from environments.casework.situations import read_shop
from environments.casework.text import Message, opening, write_output
from evaluation.casework import play_missing
from evaluation.runs import start_run
from training.casework_sac import train_sac
from training.locations import SFT_FILE
from training.stages import CollectConfig

COMMAND = "collect_sft"
NODE = "support"
"""Whose chats they are."""


@dataclass(frozen=True)
class CaseCollection:
    """What was collected."""

    path: Path
    played: int
    kept: int


def collect_casework(config: CollectConfig) -> CaseCollection:
    """Train or load the teacher, play what is missing, export what is worth learning from.

    :raises InputError: the configuration cannot be run, or disagrees with what the folder holds.
    """
    config.check()
    teacher = train_sac(config.sac)
    with SupportWorlds().open() as world:
        source = CaseSource(read_shop(world.sessions), "train")
    cases = list(islice(source.stream(config.seed, "sft"), config.dialogues))
    with start_run(config.folder, COMMAND, config.identity(), config.seed) as folder:
        episodes = asyncio.run(
            play_missing(
                folder,
                cases,
                nullcontext(teacher),
                label="collect",
                seed=config.seed,
                concurrency=config.concurrency,
            )
        )
        kept = export(episodes, config.least_reward, folder.path / SFT_FILE)
    if not kept:
        raise InputError(f"none of {len(episodes)} cases reached a reward of {config.least_reward:g}")
    return CaseCollection(config.folder / SFT_FILE, len(episodes), kept)


def export(episodes: Iterable[CaseEpisode], least_reward: float, path: Path) -> int:
    """Write the chats of the episodes worth at least ``least_reward``; how many there are."""
    count = 0
    draft = path.with_suffix(".draft")
    with draft.open("w", encoding="utf-8") as lines:
        for episode in episodes:
            if episode.fault is not None or episode.reward < least_reward:
                continue
            count += 1
            row = {"episode": episode.id, "node": NODE, "messages": taught_chat(episode), "tools": None}
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    draft.replace(path)
    return count


def taught_chat(episode: CaseEpisode) -> Sequence[Message]:
    """The episode as a chat: what the model would have read, and what it should have written."""
    messages = opening(episode.case.text)
    for index, step in enumerate(episode.steps):
        if index:
            messages.append({"role": "user", "content": episode.steps[index - 1].text})
        assert step.action is not None
        messages.append({"role": "assistant", "content": write_output(step.action, explain(episode.steps, index))})
    return messages
