import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from db.errors import InputError
from evaluation.runner import plan_episodes
from evaluation.runs import RunFiles, drop_torn_line, package_versions, start_run, write_atomically
from tests.evaluation.samples import make_episode, make_goals


def test_config_names_revision_versions_and_seed(tmp_path: Path):
    with start_run(tmp_path / "a", "run_eval", {"policy": "scripted"}, seed=7) as folder:
        config = folder.config()
    assert (config.command, config.seed, config.config) == ("run_eval", 7, {"policy": "scripted"})
    assert config.versions["convlab"] == "3.0.1"
    assert config.versions.keys() >= {"python", "langgraph", "pydantic"}
    assert len(config.revision.removesuffix("-dirty")) == 40 or config.revision == "unknown"


def test_the_same_run_goes_on_and_remembers_it(tmp_path: Path):
    for expected in (0, 1, 2):
        with start_run(tmp_path / "a", "run_eval", {"policy": "scripted"}, seed=7) as folder:
            assert folder.resumed == (expected > 0)
            assert len(folder.config().resumed) == expected


@pytest.mark.parametrize(
    ("command", "config", "seed", "said"),
    [
        ("run_eval", {"policy": "untrained"}, 7, 'policy was "scripted" and is now "untrained"'),
        ("run_eval", {"policy": "scripted"}, 8, "seed was 7 and is now 8"),
        ("run_sft", {"policy": "scripted"}, 7, 'command was "run_eval" and is now "run_sft"'),
        ("run_eval", {"policy": "scripted", "goals": "test"}, 7, 'goals was null and is now "test"'),
    ],
)
def test_another_configuration_is_refused_in_one_line(tmp_path: Path, command: str, config: dict, seed: int, said: str):
    start_run(tmp_path / "a", "run_eval", {"policy": "scripted"}, seed=7).close()
    with pytest.raises(InputError) as refusal:
        start_run(tmp_path / "a", command, config, seed)
    message = str(refusal.value)
    assert said in message
    assert "name another run" in message
    assert "\n" not in message


def test_only_one_process_writes_a_run(tmp_path: Path):
    with start_run(tmp_path / "a", "run_eval", {}, seed=7), pytest.raises(InputError, match="another process"):
        start_run(tmp_path / "a", "run_eval", {}, seed=7)
    start_run(tmp_path / "a", "run_eval", {}, seed=7).close()


def test_a_file_or_an_empty_folder_is_no_run(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        start_run(tmp_path / "file", "run_eval", {}, seed=7)
    with pytest.raises(InputError, match="no run at"):
        RunFiles(tmp_path).config()
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="no run configuration"):
        RunFiles(tmp_path).config()


def test_a_torn_last_line_is_dropped_and_the_next_episode_is_whole(tmp_path: Path):
    first, second = (make_episode(plan) for plan in plan_episodes(make_goals(2), seed=7))
    with start_run(tmp_path, "run_eval", {}, seed=7) as folder:
        folder.append_episode(first)
    with (tmp_path / "episodes.jsonl").open("a") as file:
        file.write(second.model_dump_json()[:50])
    assert RunFiles(tmp_path).episodes() == [first]
    with start_run(tmp_path, "run_eval", {}, seed=7) as folder:
        assert folder.episodes() == [first]
        folder.append_episode(second)
        assert folder.episodes() == [first, second]


def test_a_file_torn_in_its_first_line_is_empty(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    assert not drop_torn_line(path)
    path.write_text('{"a"')
    assert drop_torn_line(path)
    assert path.read_text() == ""
    assert not drop_torn_line(path)


def test_a_damaged_line_inside_is_named(tmp_path: Path):
    (tmp_path / "episodes.jsonl").write_text('{"id": 3}\n')
    with pytest.raises(InputError, match=r"episodes\.jsonl line 1"):
        RunFiles(tmp_path).episodes()
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n{"step"\n')
    with pytest.raises(InputError, match=r"metrics\.jsonl line 2"):
        RunFiles(tmp_path).metrics()


def test_a_step_played_again_counts_once(tmp_path: Path):
    with start_run(tmp_path, "run_train", {}, seed=7) as folder:
        folder.log_metrics(2, {"reward": 1.0})
        folder.log_metrics(1, {"reward": 0.0})
        folder.log_metrics(2, {"reward": 3.0})
    assert RunFiles(tmp_path).metrics() == [{"step": 1, "reward": 0.0}, {"step": 2, "reward": 3.0}]


def test_kill_minus_nine_loses_no_finished_episode(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from evaluation.runs import start_run;"
        "from evaluation.runner import plan_episodes; from tests.evaluation.samples import *;"
        f"folder = start_run(Path({str(tmp_path)!r}), 'run_eval', {{}}, 7);"
        "[(folder.append_episode(make_episode(plan)), print(plan.id, flush=True))"
        " for plan in plan_episodes(make_goals(5000), 7)]"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    announced = [child.stdout.readline().strip() for _ in range(20)]
    os.kill(child.pid, signal.SIGKILL)
    announced += child.stdout.read().split("\n")[:-1]
    child.stdout.close()
    child.wait()
    with start_run(tmp_path, "run_eval", {}, seed=7) as folder:
        stored = [episode.id for episode in folder.episodes()]
    assert stored[: len(announced)] == announced
    assert len(stored) - len(announced) <= 1
    assert len(set(stored)) == len(stored)


def test_json_is_replaced_whole_or_not_at_all(tmp_path: Path):
    path = write_atomically(tmp_path / "deep" / "report.json", "{}")
    write_atomically(path, json.dumps({"a": 1}))
    assert json.loads(path.read_text()) == {"a": 1}
    assert [file.name for file in path.parent.iterdir()] == ["report.json"]


def test_versions_leave_out_what_is_not_installed():
    assert all(package_versions().values())
