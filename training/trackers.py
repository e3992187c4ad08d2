"""Trackers: each step's metrics in TensorBoard or Weights & Biases as well, by ``--track``.

Owns opening, logging to and closing them. Promises that a tracker never stops training: one that raises gives a single
warning and is left out from then on, since ``metrics.jsonl`` has every row anyway. A run that goes on continues the
same tracker run: TensorBoard drops what a file holds from the step on at which the next begins, and W&B, given the
same id, refuses steps it has seen.

TensorBoard's files are written by tensorboardX: 0.3 MB and nothing new beside it. ``torch.utils.tensorboard`` needs
tensorboard itself (72 MB more, with a web server, gRPC and Pillow); Trackio brings 30 packages and imports in 2.7 s
instead of 0.7. Only reading the files needs ``tensorboard``.
"""

import hashlib
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from db.errors import InputError
from evaluation.runs import RunFolder

log = logging.getLogger(__name__)

PACKAGES = {"tensorboard": "tensorboardX", "wandb": "wandb"}
"""Tracker -> the package that it needs."""
PROJECT = "concierge"
"""Of W&B's runs."""
INIT_TIMEOUT_S, FINISH_TIMEOUT_S = 30.0, 60.0
"""How long W&B may wait for its server at the start and at the end; what it could not send stays in the folder."""


class Tracker(Protocol):
    """Where a run's metrics go besides its folder."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Take one step's metrics."""
        ...

    def close(self) -> None:
        """Write out what is still held."""
        ...


OpenTracker = Callable[[int], Tracker]
"""Opens a tracker at the first step that this process logs."""


class Trackers:
    """Several trackers as one that never raises; a context manager that closes them."""

    def __init__(self, openers: Mapping[str, OpenTracker]) -> None:
        self._waiting = dict(openers)
        self._open: dict[str, Tracker] = {}

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Hand the metrics to every tracker that still works."""
        for name, opener in self._waiting.items():
            self._attempt(name, lambda name=name, opener=opener: self._open.update({name: opener(step)}))
        self._waiting.clear()
        for name, tracker in list(self._open.items()):
            if not self._attempt(name, lambda tracker=tracker: tracker.log(step, metrics)):
                del self._open[name]

    def close(self) -> None:
        """Close what is open; a second time there is nothing left to do."""
        while self._open:
            name, tracker = self._open.popitem()
            self._attempt(name, tracker.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _attempt(self, name: str, call: Callable[[], None]) -> bool:
        try:
            call()
        except Exception as error:
            log.warning(
                "--track %s failed (%s: %s): it is left out from here on, training and metrics.jsonl go on",
                name,
                type(error).__name__,
                error,
            )
            return False
        return True


def check_trackers(names: Sequence[str]) -> None:
    """:raises InputError: a tracker is unknown, or its package is not installed."""
    for name in names:
        if name not in PACKAGES:
            raise InputError(f"--track {name} is unknown: give {' or '.join(PACKAGES)}")
        if find_spec(PACKAGES[name]) is None:
            raise InputError(f"--track {name} needs the package {PACKAGES[name]}: uv pip install {PACKAGES[name]}")


def start_trackers(names: Sequence[str], folder: RunFolder) -> Trackers:
    """The trackers of ``folder``'s run, whose files lie in it; each is opened when there is something to log."""
    openers: dict[str, OpenTracker] = {
        "tensorboard": lambda step: TensorBoardTracker(folder.path / "tensorboard", step),
        "wandb": lambda step: WandbTracker(folder),
    }
    return Trackers({name: openers[name] for name in names})


class TensorBoardTracker:
    """Event files for ``tensorboard --logdir runs``.

    Written here and now: ``SummaryWriter`` hands events to a thread, which dies of a full disk without a word, and
    then blocks whoever logs.
    """

    def __init__(self, path: Path, first_step: int) -> None:
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto.event_pb2 import Event, SessionLog  # pyright: ignore[reportAttributeAccessIssue]

        path.mkdir(parents=True, exist_ok=True)
        self._writer = EventsWriter(str(path / "events"), f".{first_step:06}.{os.getpid()}")
        start = SessionLog(status=SessionLog.START)
        self._writer.write_event(Event(step=first_step, wall_time=time.time(), session_log=start))

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write and flush, so that a browser shows it now."""
        from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
        from tensorboardX.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]

        values = [Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        self._writer.write_event(Event(step=step, wall_time=time.time(), summary=Summary(value=values)))
        self._writer.flush()

    def close(self) -> None:
        """End the event file."""
        self._writer.close()


def wandb_id(folder: RunFolder) -> str:
    """What W&B knows the run by: the same whenever the run goes on, another for a run begun anew."""
    start = folder.started_with
    return hashlib.sha256(f"{_name(folder)} {start.started} {start.seed} {start.config}".encode()).hexdigest()[:16]


def _name(folder: RunFolder) -> str:
    return f"{folder.path.parent.name}-{folder.path.name}"


class WandbTracker:
    """A W&B run: sent to its server where a key is known, else kept in ``wandb/`` for ``wandb sync``."""

    def __init__(self, folder: RunFolder, online: bool | None = None) -> None:
        import wandb

        if online is None:
            online = wandb.login(prompt=False, verify=False)  # whether a key is known, which only W&B can say
        config = folder.started_with
        self._run = wandb.init(
            project=PROJECT,
            name=_name(folder),
            id=wandb_id(folder),
            resume="allow" if online else None,  # a run that is not sent cannot ask what came before
            mode="online" if online else "offline",  # over WANDB_MODE, which the scripts set for ART's sake
            dir=str(folder.path),
            config={**config.config, "seed": config.seed, "revision": config.revision},
            reinit="create_new",  # neither another library's run nor W&B's global one
            settings=wandb.Settings(
                console="off",
                disable_git=True,
                save_code=False,
                x_disable_stats=True,
                init_timeout=INIT_TIMEOUT_S,
                finish_timeout=FINISH_TIMEOUT_S,
                finish_timeout_raises=True,
            ),
        )

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Queue one row."""
        self._run.log(dict(metrics), step=step)

    def close(self) -> None:
        """Send or store the rest."""
        self._run.finish()
