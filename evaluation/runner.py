"""Play many episodes at once, lose none, count none twice.

Owns the plan (which episode has which seed), concurrency, the progress bar and going on after an interruption.
Promised: an episode's seed depends on the run's seed and its id alone, so the result is the same one at a time, 64 at
once or in several processes; a finished episode is on disk before the next one starts in its place. An episode that
infrastructure broke does not count as finished: it is played again when the run goes on. What an episode is, and
whether it succeeded, is the caller's.
"""

import asyncio
import gc
import hashlib
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tqdm import tqdm

from db.errors import InputError
from evaluation.runs import RunFolder
from simulation.records import Episode, Fault, Goal

DEFAULT_CONCURRENCY = 32
DEAD_AFTER = 20
"""Infrastructure faults in a row after which the run stops instead of going through its goals in vain."""


@dataclass(frozen=True)
class EpisodePlan:
    """One episode to play."""

    goal: Goal
    repeat: int
    seed: int

    @property
    def id(self) -> str:
        """The id of the `Episode` that comes of it."""
        return f"{self.goal.id}#{self.repeat}"


Play = Callable[[EpisodePlan], Awaitable[Episode]]
Success = Callable[[Episode], bool | None]
"""Whether an episode succeeded, for the progress bar; ``None`` where that is not defined."""


def episode_seed(seed: int, episode_id: str) -> int:
    """A 31-bit seed that depends on the run's seed and the episode's id, and on nothing else."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{episode_id}".encode()).digest()[:4], "big") >> 1


def plan_episodes(goals: Iterable[Goal], seed: int, repeats: int = 1) -> list[EpisodePlan]:
    """Every goal ``repeats`` times, side by side; a goal that comes again goes on counting its repeats."""
    counts: Counter[str] = Counter()
    plans = []
    for goal in goals:
        for _ in range(repeats):
            repeat = counts[goal.id]
            counts[goal.id] += 1
            plans.append(EpisodePlan(goal, repeat, episode_seed(seed, f"{goal.id}#{repeat}")))
    return plans


class Played(Protocol):
    """What any task's episode has: a fault, if something broke it."""

    @property
    def fault(self) -> Fault | None: ...


def is_finished(episode: Played) -> bool:
    """Whether the episode needs no second try: everything but what infrastructure broke."""
    return episode.fault is None or episode.fault.who != "infrastructure"


def judge(episode: Episode, success: Success | None) -> bool | None:
    """``success`` where it is defined."""
    return success(episode) if success is not None and is_finished(episode) else None


class Progress:
    """The bar on stderr, the running success rate and the guard against a dead endpoint."""

    def __init__(
        self,
        total: int,
        done: Sequence[Episode],
        label: str,
        success: Success | None,
        *,
        show: bool,
        unit: str = "dialogue",
    ) -> None:
        self._bar = tqdm(total=total, initial=0, desc=label, unit=unit, file=sys.stderr, disable=not show)
        self._scored = self._succeeded = self._broken = self._broken_in_row = 0
        for episode in done:
            self.add(episode, judge(episode, success))

    def add(self, episode: Played, verdict: bool | None) -> None:
        """:raises InputError: `DEAD_AFTER` episodes in a row were broken by infrastructure."""
        self._scored += verdict is not None
        self._succeeded += bool(verdict)
        self._broken_in_row = 0 if is_finished(episode) else self._broken_in_row + 1
        self._broken += not is_finished(episode)
        shown = {"success": f"{self._succeeded / self._scored:.3f}"} if self._scored else {}
        self._bar.set_postfix(shown | ({"broken": self._broken} if self._broken else {}), refresh=False)
        self._bar.update()
        if self._broken_in_row >= DEAD_AFTER and episode.fault is not None:
            raise InputError(
                f"{self._broken_in_row} dialogues in a row were broken by infrastructure, the last by "
                f"{episode.fault.kind} ({' '.join(episode.fault.message.split())[:200]}): "
                "mend that and give the same command to go on"
            )

    def close(self) -> None:
        self._bar.close()


async def play_many(
    plans: Sequence[EpisodePlan],
    play: Play,
    *,
    folder: RunFolder | None = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    label: str = "dialogues",
    success: Success | None = None,
    progress: bool = True,
) -> list[Episode]:
    """Play what ``folder`` does not hold yet; the episodes of all ``plans``, in their order.

    Cancelling (Ctrl-C under `asyncio.run`) drops the dialogues in progress and keeps the finished ones.

    :param concurrency: how many dialogues are in progress at once.
    :raises InputError: infrastructure breaks everything.
    """
    finished, todo = open_plans(plans, folder)
    gc.freeze()  # what is loaded by now stays: walking it at each full collection stops all dialogues for a second
    bar = Progress(len(plans), list(finished.values()), label, success, show=progress)
    waiting = iter(todo)

    async def work() -> None:
        for plan in waiting:
            episode = await play(plan)
            if folder is not None:
                folder.append_episode(episode)
            finished[plan.id] = episode
            bar.add(episode, judge(episode, success))

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(concurrency, len(todo))):
                workers.create_task(work())
    except ExceptionGroup as group:
        known = (error for error in group.exceptions if isinstance(error, InputError))
        raise next(known, group.exceptions[0]) from None
    finally:
        bar.close()
    return [finished[plan.id] for plan in plans]


def open_plans(plans: Sequence[EpisodePlan], folder: RunFolder | None) -> tuple[dict[str, Episode], list[EpisodePlan]]:
    """The episodes that need no playing, by id, and the plans that still do."""
    wanted = {plan.id for plan in plans}
    stored = folder.episodes() if folder is not None else []
    finished = {episode.id: episode for episode in stored if episode.id in wanted and is_finished(episode)}
    return finished, [plan for plan in plans if plan.id not in finished]
