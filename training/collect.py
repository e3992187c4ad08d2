"""Collect dialogues to learn from: a teacher plays the ``sft`` goals, what earned it is kept.

Owns the files of its stage: ``episodes.jsonl`` (every dialogue played),
``transcripts.jsonl`` (what the teacher saw and said in each) and ``sft.jsonl`` (the kept ones, in ART's format).
Promises: a dialogue is played once; its transcript is on disk before its episode is counted as finished.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from agents.config import AgentConfig
from db.errors import InputError
from db.world import WorldFactory
from evaluation.grounded import grounded
from evaluation.rewards import reward
from evaluation.runner import EpisodePlan, Play, plan_episodes, play_many
from evaluation.runs import RunFolder, start_run
from simulation.agenda_user import AgendaUser
from simulation.episode import play_episode
from simulation.goals import sample_goals
from simulation.policies import Policy
from simulation.records import Episode
from training.locations import SFT_FILE
from training.stages import CollectConfig
from training.transcripts import Transcript, export, read_transcripts, take_down

COMMAND = "collect_sft"
TRANSCRIPTS = "transcripts.jsonl"

OpenTeacher = Callable[[], AbstractAsyncContextManager[Policy]]


@dataclass(frozen=True)
class Collection:
    """What was collected."""

    path: Path
    played: int
    kept: int


def collect(config: CollectConfig, open_teacher: OpenTeacher) -> Collection:
    """Play what is missing and export the dialogues worth learning from.

    :raises InputError: the configuration cannot be run, or disagrees with what the folder holds.
    """
    config.check()
    plans = plan_episodes(sample_goals("sft", config.dialogues, config.seed), config.seed)
    with start_run(config.folder, COMMAND, config.identity(), config.seed) as folder:
        episodes = asyncio.run(_play(config, open_teacher, plans, folder))
        kept = export(read_transcripts(folder.path / TRANSCRIPTS), folder.path / SFT_FILE)
    if not kept:
        raise InputError(f"none of {len(episodes)} dialogues reached --minimum-reward {config.minimum_reward:g}")
    return Collection(config.folder / SFT_FILE, len(episodes), kept)


async def _play(
    config: CollectConfig, open_teacher: OpenTeacher, plans: list[EpisodePlan], folder: RunFolder
) -> list[Episode]:
    async with _open_play(config, open_teacher, folder) as play:
        return await play_many(
            plans,
            play,
            folder=folder,
            concurrency=config.concurrency,
            label="collect",
            success=lambda episode: grounded(episode).success,
        )


@asynccontextmanager
async def _open_play(config: CollectConfig, open_teacher: OpenTeacher, folder: RunFolder) -> AsyncIterator[Play]:
    worlds = WorldFactory()
    async with open_teacher() as teacher:

        async def play(plan: EpisodePlan) -> Episode:
            user = AgendaUser(plan.goal, plan.seed, wordings=config.wordings)

            async def dialogue(chat_model: Runnable) -> Episode:
                policy = _Recorded(teacher.name, teacher.config, chat_model)
                return await play_episode(plan.goal, policy, user, worlds, plan.seed, repeat=plan.repeat)

            episode, histories = await take_down(teacher.chat_model(plan.seed), dialogue)
            score = grounded(episode)
            parts = reward(episode, score)
            kept = score.success and parts is not None and parts.total >= config.minimum_reward
            transcript = Transcript(
                episode=episode.id, kept=kept, reward=parts.total if parts else None, histories=histories
            )
            folder.append_line(TRANSCRIPTS, transcript.model_dump_json())
            return episode

        yield play


@dataclass(frozen=True)
class _Recorded:
    """A policy whose chat model of this one episode is taken down."""

    name: str
    config: AgentConfig
    model: BaseChatModel | Runnable

    def chat_model(self, seed: int) -> BaseChatModel | Runnable:
        """The recorded model, seeded already."""
        return self.model
