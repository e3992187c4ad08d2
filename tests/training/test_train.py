"""The GRPO stage as it is watched: a real training of a tiny policy, its run folder, its page and its trackers."""

import re
from collections.abc import Mapping

import pytest

from db.world import WorldFactory
from evaluation.runs import start_run
from simulation.goals import sample_goals
from tests.training.policies import registered
from tests.training.test_trackers import scalars
from tests.training.users import CONFIG, ImpatientUser
from training.grpo import GrpoTask, train_grpo
from training.trackers import TensorBoardTracker, Tracker, Trackers
from training.train import Watch

SHOWN = ("success", "exchanges", "reward", "tool_error_rate", "entropy", "kl_div", "clip_fraction", "probs_corr")


class Full:
    """A tracker whose disk is full."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        raise OSError("disk full")

    def close(self) -> None:
        pass


def full(_: int) -> Tracker:
    return Full()


async def test_a_training_is_watched_with_intervals_and_no_tracker_stops_it(random_dir, tmp_path, caplog):
    task = GrpoTask(sample_goals("train", 6, seed=0), ImpatientUser, WorldFactory())
    pages = []
    openers = {"full": full, "tensorboard": lambda step: TensorBoardTracker(tmp_path / "tensorboard", step)}
    with start_run(tmp_path / "run", "run_train", {}, 0) as folder, Trackers(openers) as trackers:
        watch = Watch(folder, trackers)

        def on_step(step: int, metrics: Mapping[str, float]) -> None:
            watch.on_step(step, metrics)
            pages.append(folder.report_html.read_text())

        async with registered(random_dir, tmp_path) as (backend, model, service):
            await train_grpo(CONFIG, backend, model, task, on_step=on_step, on_episode=watch.on_episode, progress=False)
            assert service.step == 2
        watch.refresh()
        rows, page = folder.metrics(), folder.report_html.read_text()
        assert len(folder.episodes()) == sum(row["train/rollouts"] for row in rows)
    assert "<figure" in pages[0], "shown while it trains"
    for row in rows:
        for name in ("success", "exchanges", "reward"):
            low, mean, high = (row[f"train/{name}{end}"] for end in ("_low", "", "_high"))
            assert low <= mean <= high
    assert any(row["train/exchanges_low"] < row["train/exchanges_high"] for row in rows)
    titles = re.findall(r"<figcaption>(.*?)</figcaption>", page)
    assert set(SHOWN) | {"reward_spread", "learning_rate"} <= set(titles)
    assert (
        titles[:4] == ["success", "exchanges", "exchanges_on_success", "reward"] or "exchanges_on_success" not in titles
    )
    assert page.count('class="band') == 3
    shown = scalars(tmp_path / "tensorboard")
    for row in rows:
        for name in row.keys() - {"step"}:
            assert shown[name, int(row["step"])] == pytest.approx(row[name], rel=1e-6)
    assert caplog.text.count("--track full failed") == 1
