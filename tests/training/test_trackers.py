"""Trackers with the real packages: what they keep, going on, and never standing in the way."""

import json
import logging
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tensorboardX.proto.event_pb2 import Event, SessionLog  # pyright: ignore[reportAttributeAccessIssue]

from db.errors import InputError
from evaluation.runs import RunFolder, start_run
from training.stages import QUIET, SftConfig, TrainConfig, quiet
from training.trackers import Trackers, WandbTracker, check_trackers, start_trackers, wandb_id

ROWS = {1: {"train/reward": -12.5, "loss/entropy": 0.25}, 2: {"train/reward": 40.0, "loss/entropy": 0.125}}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    with start_run(tmp_path / "demo" / "grpo", "run_train", {"steps": 3}, 7) as opened:
        yield opened


def events(path: Path) -> list[Event]:
    """TensorBoard's records: length, checksum, event, checksum."""
    found = []
    for file in sorted(path.glob("events.out.tfevents.*")):
        data = file.read_bytes()
        while data:
            (size,) = struct.unpack("<Q", data[:8])
            found.append(Event.FromString(data[12 : 12 + size]))
            data = data[16 + size :]
    return found


def scalars(path: Path) -> dict[tuple[str, int], float]:
    """As TensorBoard shows them: a session's start at a step removes what came before at that step or later."""
    shown: dict[tuple[str, int], float] = {}
    for event in events(path):
        if event.HasField("session_log") and event.session_log.status == SessionLog.START:
            shown = {key: value for key, value in shown.items() if key[1] < event.step}
        for value in event.summary.value:
            shown[value.tag, event.step] = value.simple_value
    return shown


def test_tensorboard_shows_each_steps_metrics(folder):
    with start_trackers(["tensorboard"], folder) as trackers:
        for step, row in ROWS.items():
            trackers.log(step, row)
            assert scalars(folder.path / "tensorboard")["train/reward", step] == row["train/reward"], "flushed at once"
    assert scalars(folder.path / "tensorboard") == {
        (name, step): value for step, row in ROWS.items() for name, value in row.items()
    }


def test_a_run_that_goes_on_leaves_no_step_twice(folder):
    for first, reward in ((1, 1.0), (2, 5.0)):
        with start_trackers(["tensorboard"], folder) as trackers:
            for step in range(first, first + 3):
                trackers.log(step, {"reward": reward})
    assert scalars(folder.path / "tensorboard") == {
        ("reward", 1): 1.0,
        ("reward", 2): 5.0,
        ("reward", 3): 5.0,
        ("reward", 4): 5.0,
    }


def test_wandb_keeps_a_run_without_a_network(folder, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "disabled")
    tracker = WandbTracker(folder, online=False)
    for step, row in ROWS.items():
        tracker.log(step, row)
    tracker.close()
    (place,) = (folder.path / "wandb").glob("offline-run-*")
    assert place.name.endswith(wandb_id(folder))
    (stored,) = place.glob("*.wandb")
    content = stored.read_bytes()
    for word in (b"train/reward", b"loss/entropy", b"-12.5", b"demo-grpo"):
        assert word in content


def test_a_run_that_goes_on_is_the_same_run_to_wandb_and_another_is_not(tmp_path):
    def opened(name: str) -> str:
        with start_run(tmp_path / name / "grpo", "run_train", {"steps": 3}, 7) as folder:
            return wandb_id(folder)

    assert opened("demo") == opened("demo") != opened("other")


class Broken:
    """Raises where it is told to."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.calls: list[str] = []
        self._reach("open")

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        self._reach("log")

    def close(self) -> None:
        self._reach("close")

    def _reach(self, place: str) -> None:
        self.calls.append(place)
        if place == self.where:
            raise OSError("disk full")


@pytest.mark.parametrize("where", ["open", "log", "close"])
def test_a_tracker_that_raises_gives_one_warning_and_the_others_go_on(where, caplog):
    class Kept(Broken):
        rows: dict[int, Mapping[str, float]] = {}  # noqa: RUF012

        def log(self, step: int, metrics: Mapping[str, float]) -> None:
            self.rows[step] = metrics

    with (
        caplog.at_level(logging.WARNING),
        Trackers({"broken": lambda _: Broken(where), "kept": lambda _: Kept("")}) as both,
    ):
        for step, row in ROWS.items():
            both.log(step, row)
    assert Kept.rows == ROWS
    assert [record.getMessage() for record in caplog.records] == [
        "--track broken failed (OSError: disk full): it is left out from here on, training and metrics.jsonl go on"
    ]


def test_an_unknown_tracker_or_a_missing_package_is_said_before_anything_is_loaded(monkeypatch):
    check_trackers(["tensorboard", "wandb"])
    for config in (SftConfig(track=("mlflow",)), TrainConfig(track=("mlflow",))):
        with pytest.raises(InputError, match="--track mlflow is unknown: give tensorboard or wandb"):
            config.check()
    monkeypatch.setattr("training.trackers.find_spec", lambda name: None)
    with pytest.raises(InputError, match="--track tensorboard needs the package tensorboardX: uv pip install"):
        check_trackers(["tensorboard"])


def test_tracking_is_no_part_of_what_a_run_is():
    assert SftConfig(track=("wandb",)).identity() == SftConfig().identity()
    assert TrainConfig(track=("wandb",)).identity() == TrainConfig().identity()
    json.dumps(TrainConfig().identity())


def test_wandb_is_off_unless_asked_for(monkeypatch):
    for name in QUIET:
        monkeypatch.delenv(name, raising=False)

    quiet(["tensorboard", "wandb"])
    assert "WANDB_MODE" not in os.environ
    quiet(["tensorboard"])
    assert os.environ["WANDB_MODE"] == "disabled"
