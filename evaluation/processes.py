"""Play episodes in one process or several; several pay for players that keep a core busy (the scripted policy).

The same promises as `evaluation.runner.play_many`, which each process runs on its share; the parent alone writes the
run folder. A child that loses its parent ends at its next episode; a child that dies is an error, not a gap.
"""

import asyncio
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait

from db.errors import InputError
from evaluation.runner import DEFAULT_CONCURRENCY, EpisodePlan, Play, Progress, Success, judge, open_plans, play_many
from evaluation.runs import RunFolder
from simulation.records import Episode

OpenPlay = Callable[[], AbstractAsyncContextManager[Play]]
"""Opens a player inside the process that uses it; picklable (a module's function, or a `partial` of one)."""

Message = tuple[str, bool | None]
"""An episode as JSON, and whether it succeeded."""


@dataclass(frozen=True)
class Failure:
    """A child's last message when it fails."""

    message: str
    bad_input: bool


def play_in_processes(
    plans: Sequence[EpisodePlan],
    open_play: OpenPlay,
    *,
    processes: int,
    folder: RunFolder | None = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    label: str = "dialogues",
    success: Success | None = None,
    progress: bool = True,
) -> list[Episode]:
    """Like `play_many`, in ``processes`` processes, each with ``concurrency`` dialogues in progress.

    :raises InputError: infrastructure breaks everything.
    :raises RuntimeError: a child failed; its traceback is the message.
    """
    if processes == 1:

        async def play_here() -> list[Episode]:
            async with open_play() as play:
                return await play_many(
                    plans, play, folder=folder, concurrency=concurrency, label=label, success=success, progress=progress
                )

        return asyncio.run(play_here())
    finished, todo = open_plans(plans, folder)
    bar = Progress(len(plans), list(finished.values()), label, success, show=progress)
    context = get_context("spawn")
    streams: list[Connection] = []
    children = []
    try:
        for share in (todo[start::processes] for start in range(processes)):
            receiver, sender = context.Pipe(duplex=False)
            child = context.Process(target=_play_share, args=(sender, share, open_play, concurrency, success))
            child.start()
            sender.close()
            streams.append(receiver)
            children.append(child)
        for text, verdict in _received(streams):
            episode = Episode.model_validate_json(text)
            if folder is not None:
                folder.append_episode(text)
            finished[episode.id] = episode
            bar.add(episode, verdict)
    finally:
        for child in children:
            child.terminate()
            child.join()
        bar.close()
    missing = sum(plan.id not in finished for plan in plans)
    if missing:
        raise RuntimeError(f"a process ended with {missing} dialogues unplayed: give the same command to go on")
    return [finished[plan.id] for plan in plans]


def _received(streams: list[Connection]) -> Iterator[Message]:
    """What the children send, as it comes, until the last of them is done."""
    while streams:
        for stream in wait(streams):
            assert isinstance(stream, Connection)
            try:
                message: Message | Failure = stream.recv()
            except EOFError:
                streams.remove(stream)
                continue
            if isinstance(message, Failure):
                raise InputError(message.message) if message.bad_input else RuntimeError(message.message)
            yield message


def _play_share(
    sender: Connection,
    share: Sequence[EpisodePlan],
    open_play: OpenPlay,
    concurrency: int,
    success: Success | None,
) -> None:
    """A child's work: its share, each episode sent as it finishes. Ctrl-C is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    async def play_all() -> None:
        async with open_play() as play:

            async def play_and_send(plan: EpisodePlan) -> Episode:
                episode = await play(plan)
                sender.send((episode.model_dump_json(), judge(episode, success)))
                return episode

            await play_many(share, play_and_send, concurrency=concurrency, progress=False)

    try:
        asyncio.run(play_all())
    except BrokenPipeError:
        return
    except InputError as error:
        sender.send(Failure(str(error), bad_input=True))
    except Exception:
        sender.send(Failure(traceback.format_exc(), bad_input=False))
    finally:
        sender.close()
