"""The layout the rest relies on: layers hold, names are ours, scripts are thin, every default configuration builds."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("db", "tools", "agents", "simulation", "evaluation", "training")
"""Not ``tests``: pytest finds ours first, whatever a distribution leaves there."""
SCRIPTS = ("collect_sft.py", "run_sft.py", "run_train.py", "run_eval.py", "quickstart.py", "chat.py")


def test_no_installed_distribution_owns_one_of_our_top_level_names():
    owners = importlib.metadata.packages_distributions()
    assert {room: owners[room] for room in ROOMS if room in owners} == {}


def test_every_package_and_test_folder_has_an_init():
    folders = [path.parent for room in (*ROOMS, "tests") for path in (ROOT / room).rglob("*.py")]
    assert [str(folder) for folder in set(folders) if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_are_thin(script: str):
    assert len([line for line in (ROOT / script).read_text().splitlines() if line.strip()]) <= 65


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_answers_without_torch_or_art(script: str):
    code = (
        "import runpy, sys; sys.argv = ['x', '--help']\n"
        "try: runpy.run_path(sys.argv.pop(0) and SCRIPT, run_name='__main__')\n"
        "except SystemExit as stop: assert not stop.code\n"
        "heavy = {'torch', 'art', 'transformers'} & set(sys.modules); assert not heavy, heavy"
    )
    done = subprocess.run(
        [sys.executable, "-c", code.replace("SCRIPT", repr(script)).replace("sys.argv.pop(0) and ", "")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--help" in done.stdout


@pytest.mark.parametrize(
    ("script", "arguments", "says"),
    [
        ("collect_sft.py", ["--dialogues", "0"], "--dialogues 0"),
        ("collect_sft.py", ["--teacher", "nobody"], "--teacher nobody"),
        ("collect_sft.py", ["--run", "../elsewhere"], "--run '../elsewhere'"),
        ("run_sft.py", ["--run", "no-such-run"], "collect_sft.py --run no-such-run"),
        ("run_train.py", ["--run", "no-such-run"], "no-such-run"),
        ("run_sft.py", ["--profile", "gpu"], "--profile gpu needs"),
        ("run_train.py", ["--profile", "gpu"], "--profile gpu needs"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(script: str, arguments: list[str], says: str, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, str(ROOT / script), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert list(tmp_path.iterdir()) == []
