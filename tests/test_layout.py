"""The layout the rest relies on: layers hold, names are ours, scripts are thin, every default configuration builds."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("db", "tools", "agents", "simulation", "environments", "evaluation", "training")
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


def readme_commands() -> list[list[str]]:
    """The project's own scripts as the README calls them, with their options."""
    lines = (ROOT / "README.md").read_text().splitlines()
    return [line.split("#")[0].split()[2:] for line in lines if line.startswith("uv run ") and ".py" in line]


def test_the_readme_names_all_scripts():
    assert {command[0] for command in readme_commands()} == set(SCRIPTS)


@pytest.mark.parametrize("command", [command for command in readme_commands() if len(command) > 1], ids=" ".join)
def test_the_readmes_options_exist(command: list[str]):
    done = subprocess.run([sys.executable, command[0], "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert [option for option in command[1:] if option.startswith("--") and option not in done.stdout] == []


def test_ci_runs_what_the_readme_says():
    assert "make check" in (ROOT / ".ci/run").read_text()
    assert "uv run pytest" in (ROOT / "Makefile").read_text()
    assert "make check" in (ROOT / "README.md").read_text()


def test_the_lock_names_public_default_hosts_only():
    lock = (ROOT / "uv.lock").read_text()
    hosts = {part.split("/")[0] for part in lock.split("https://")[1:]}
    assert hosts == {"pypi.org", "files.pythonhosted.org"}
