"""Run folders: ``runs/<name>/`` explains its own numbers and survives ``kill -9``.

A folder holds ``config.json`` (command, configuration, seed, git revision, package versions), ``metrics.jsonl``
(one row a step), ``episodes.jsonl`` (one `Episode` a line, append-only) and the reports. Promised: a line counts once
its newline is on disk, a torn last line is dropped, one process writes at a time, and a folder never mixes two
configurations. What the metrics mean and which episodes are still missing is left to the callers.
"""

import fcntl
import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from pydantic import BaseModel, JsonValue, ValidationError

from db.errors import InputError
from simulation.records import Episode

VERSIONED = (
    "convlab",
    "gymnasium",
    "langchain-core",
    "langchain-openai",
    "langgraph",
    "numpy",
    "openai",
    "openpipe-art",
    "pydantic",
    "sqlalchemy",
    "torch",
    "torchrl",
    "transformers",
)


class Resumption(BaseModel):
    """A later start of the same command."""

    at: str
    revision: str


class RunConfig(BaseModel):
    """``config.json``. Only ``command``, ``config`` and ``seed`` must agree when a run goes on."""

    command: str
    config: dict[str, JsonValue]
    seed: int
    revision: str
    """Git commit, ``-dirty`` when the tree differed from it, ``unknown`` outside a repository."""
    versions: dict[str, str]
    started: str
    resumed: list[Resumption] = []


def write_atomically(path: Path, text: str) -> Path:
    """Replace ``path`` by ``text`` so that a reader, or a crash, sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
    return path


def package_versions() -> dict[str, str]:
    """Python's and the installed packages' versions; a package that is not installed is absent."""
    found = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def git_revision(root: Path = Path(__file__).parent.parent) -> str:
    """The commit this code is at, ``-dirty`` appended when tracked files differ from it."""
    try:
        command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The finished lines of a ``.jsonl`` file with their numbers; what follows the last newline is not one."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if line.endswith("\n") and line.strip():
                yield number, line


def drop_torn_line(path: Path) -> bool:
    """Cut what a killed process wrote of its last line; ``True`` when there was something to cut."""
    if not path.exists():
        return False
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    if end == len(data):
        return False
    os.truncate(path, end)
    return True


class RunFiles:
    """A run folder for reading: needs no lock, may be used while the run goes on."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def report_html(self) -> Path:
        return self.path / "report.html"

    @property
    def report_json(self) -> Path:
        return self.path / "report.json"

    def config(self) -> RunConfig:
        """:raises InputError: there is no run here."""
        try:
            return RunConfig.model_validate_json((self.path / "config.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"no run at {self.path}: give the folder of a run, such as runs/scripted") from None
        except ValidationError as error:
            problem = str(error).splitlines()[0]
            raise InputError(f"{self.path / 'config.json'} is no run configuration ({problem})") from None

    def episodes(self) -> list[Episode]:
        """Every stored episode once, in the order of first appearance; a later line replaces an earlier one.

        :raises InputError: a line other than a torn last one is no episode.
        """
        found: dict[str, Episode] = {}
        for number, line in read_lines(self.path / "episodes.jsonl"):
            try:
                episode = Episode.model_validate_json(line)
            except ValidationError:
                raise InputError(
                    f"{self.path / 'episodes.jsonl'} line {number} is no episode: delete that line to go on"
                ) from None
            found[episode.id] = episode
        return list(found.values())

    def metrics(self) -> list[dict[str, float]]:
        """The rows of ``metrics.jsonl`` (``step`` and values) in order of step; a repeated step keeps its last row."""
        rows: dict[float, dict[str, float]] = {}
        for number, line in read_lines(self.path / "metrics.jsonl"):
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                raise InputError(
                    f"{self.path / 'metrics.jsonl'} line {number} is no JSON: delete that line to go on"
                ) from None
            rows[row.get("step", number)] = row
        return [rows[step] for step in sorted(rows)]


class RunFolder(RunFiles):
    """A run folder that this process alone writes, from `start_run` on; use it as a context manager."""

    def __init__(self, path: Path, lock: IO[bytes], config: RunConfig, resumed: bool) -> None:
        super().__init__(path)
        self._lock = lock
        self._open: dict[str, IO[bytes]] = {}
        self.started_with = config
        self.resumed = resumed
        """Whether the folder held an earlier start of the same run."""

    def append_episode(self, episode: Episode | str) -> None:
        """Keep a finished episode (or its JSON line); it is on its way to disk when this returns."""
        line = episode if isinstance(episode, str) else episode.model_dump_json()
        self.append_line("episodes.jsonl", line)

    def log_metrics(self, step: int, values: Mapping[str, float]) -> None:
        """Add one row of metrics; a name may hold a slash, as ``train/reward``."""
        self.append_line("metrics.jsonl", json.dumps({"step": step, **values}))

    def append_line(self, name: str, line: str) -> None:
        """Add one line to a file of this folder; what a kill tore before is cut off first."""
        if name not in self._open:
            drop_torn_line(self.path / name)
            self._open[name] = (self.path / name).open("ab", buffering=0)
        self._open[name].write(line.encode() + b"\n")

    def close(self) -> None:
        for file in (*self._open.values(), self._lock):
            file.close()
        self._open.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def start_run(path: Path, command: str, config: Mapping[str, JsonValue], seed: int) -> RunFolder:
    """Open ``path`` for writing: a new run, or the same one again.

    :param config: what decides the result, JSON values only; leave out what does not (concurrency, keys).
    :raises InputError: the folder holds another command or configuration, is being written, or is no folder.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / ".lock").open("ab")
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{path} is a file: name another run, or move the file away") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _start_locked(path, lock, command, dict(config), seed)
    except BlockingIOError:
        lock.close()
        raise InputError(f"{path} is being written by another process: wait for it, or name another run") from None
    except BaseException:
        lock.close()
        raise


def _start_locked(path: Path, lock: IO[bytes], command: str, config: dict[str, JsonValue], seed: int) -> RunFolder:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    revision = git_revision()
    resumed = (path / "config.json").exists()
    if resumed:
        stored = RunFiles(path).config()
        _check_same(path, stored, command, config, seed)
        run = stored.model_copy(update={"resumed": [*stored.resumed, Resumption(at=now, revision=revision)]})
    else:
        run = RunConfig(
            command=command, config=config, seed=seed, revision=revision, versions=package_versions(), started=now
        )
    write_atomically(path / "config.json", run.model_dump_json(indent=2) + "\n")
    return RunFolder(path, lock, run, resumed)


def _check_same(path: Path, stored: RunConfig, command: str, config: dict[str, JsonValue], seed: int) -> None:
    before: dict[str, JsonValue] = {"command": stored.command, "seed": stored.seed, **stored.config}
    now: dict[str, JsonValue] = {"command": command, "seed": seed, **config}
    changed = [
        f"{name} was {json.dumps(before.get(name))} and is now {json.dumps(now.get(name))}"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    ]
    if changed:
        raise InputError(
            f"{path} holds a run with other settings ({'; '.join(changed)}): "
            "repeat those settings to go on, name another run, or delete the folder"
        )
