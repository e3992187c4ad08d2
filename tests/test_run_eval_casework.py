"""``run_eval.py --task casework``: the reports, going on, scoring again, and bad input."""

import json
from pathlib import Path

import pytest

from tests.test_run_eval import RunEval, run_eval, stored_ids

__all__ = ["run_eval"]

CASEWORK = ("--task", "casework")


def test_gold_is_evaluated_resumed_and_scored_again(tmp_path: Path, run_eval: RunEval):
    arguments = (*CASEWORK, "--policy", "gold", "--run", "x")
    first = run_eval(*arguments)
    assert first.returncode == 0, first.stderr
    folder = tmp_path / "runs" / "x" / "eval-gold-casework-100"
    report = json.loads((folder / "report.json").read_text())
    assert (report["task"], report["policy"], report["queries"], report["seed"]) == ("casework", "gold", 100, 7)
    assert list(report["metrics"]) == ["resolution", "reward", "steps", "policy_breaches", "format_faults"]
    assert report["metrics"]["resolution"] == {"mean": 1.0, "ci95": [1.0, 1.0]}
    assert report["metrics"]["reward"]["mean"] == pytest.approx(20.0)
    assert report["metrics"]["steps"]["mean"] == report["gold_steps"]
    assert len(report["categories"]) == 8
    assert "eval-gold-casework-100/report.html" in first.stdout
    assert len(stored_ids(folder)) == 100

    lines = (folder / "episodes.jsonl").read_text().splitlines(keepends=True)
    page = (folder / "report.html").read_text()
    (folder / "episodes.jsonl").write_text("".join(lines[:60]) + lines[60][:50])
    assert run_eval(*arguments).returncode == 0
    assert len(stored_ids(folder)) == len(set(stored_ids(folder))) == 100

    (folder / "report.json").unlink()
    assert run_eval(*CASEWORK, "--rescore", str(folder)).returncode == 0
    assert json.loads((folder / "report.json").read_text())["metrics"] == report["metrics"]
    assert "resolved" in page
    assert "http" not in page.replace("http-equiv", "")


def test_concurrency_changes_nothing(tmp_path: Path, run_eval: RunEval):
    for concurrency in ("1", "32"):
        done = run_eval(*CASEWORK, "--policy", "random", "--out", concurrency, "--concurrency", concurrency)
        assert done.returncode == 0, done.stderr
    one, many = (json.loads((tmp_path / name / "report.json").read_text())["metrics"] for name in ("1", "32"))
    assert one == many
    assert one["resolution"]["mean"] < 0.1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--policy", "gold", "--queries", "50"), "--queries 50"),
        (("--policy", "nobody"), "--policy nobody"),
        (("--policy", "sac", "--run", "none"), "collect_sft.py --task casework --run none"),
        (("--rescore", "runs/none"), "no run at runs/none"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    tmp_path: Path, run_eval: RunEval, arguments: tuple[str, ...], said: str
):
    done = run_eval(*CASEWORK, *arguments)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()
