"""The script with real dialogues; in a process of its own where it is stopped."""

import json
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from agents.scripted import ScriptedModel
from evaluation.runs import RunFiles
from run_eval import main
from tests.evaluation.openai_server import OpenAIServer, serve

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


RunEval = Callable[..., Done]


@pytest.fixture
def run_eval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunEval:
    """The script's ``main`` in an empty working directory without keys."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "USER_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> Done:
        code = 0
        try:
            main(arguments)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        shown = capsys.readouterr()
        return Done(code, shown.out, shown.err)

    return run


def stored_ids(folder: Path) -> list[str]:
    finished = (folder / "episodes.jsonl").read_text().split("\n")[:-1]
    return [json.loads(line)["id"] for line in finished]


def test_the_scripted_policy_is_evaluated_resumed_and_scored_again(tmp_path: Path, run_eval: RunEval):
    arguments = ("--policy", "scripted", "--dialogues", "20", "--seed", "7", "--out", "runs/scripted")
    first = run_eval(*arguments)
    assert first.returncode == 0, first.stderr
    folder = tmp_path / "runs" / "scripted"
    report = json.loads((folder / "report.json").read_text())
    assert (report["policy"], report["dialogues"], report["goals"], report["seed"]) == ("scripted", 20, "test", 7)
    assert report["metrics"]["grounded_success"]["mean"] > 0.9
    assert "grounded_success" in first.stdout
    assert "runs/scripted/report.html" in first.stdout
    assert "20/20" in first.stderr
    assert len(stored_ids(folder)) == 20

    page = (folder / "report.html").read_text()
    (folder / "report.json").unlink()
    assert run_eval("--rescore", "runs/scripted").returncode == 0
    assert json.loads((folder / "report.json").read_text()) == report
    assert (folder / "report.html").read_text() == page

    again = run_eval(*arguments)
    assert again.returncode == 0, again.stderr
    assert len(stored_ids(folder)) == 20

    other = run_eval(*arguments, "--wordings", "heldout")
    assert other.returncode == 2
    assert other.stderr.count("\n") == 1
    assert 'wordings was "all" and is now "heldout"' in other.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--policy", "scripted", "--goals", "nowhere.zip"), "nowhere.zip is neither a split"),
        (("--policy", "scripted", "--goals", "broken.zip"), "broken.zip"),
        (("--policy", "scripted", "--dialogues", "0"), "--dialogues 0"),
        (("--policy", "endpoint:m", "--processes", "2"), "--processes 2"),
        (("--policy", "endpoint:m", "--base-url", "nowhere"), "'nowhere' is no address"),
        (("--policy", "scripted", "--user", "llm"), "--user-model"),
        (("--rescore", "runs/none"), "no run at runs/none"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    tmp_path: Path, run_eval: RunEval, arguments: tuple[str, ...], said: str
):
    (tmp_path / "broken.zip").write_text("not a zip file")
    done = run_eval(*arguments)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_stopped_goes_on(tmp_path: Path, run_eval: RunEval, stop: signal.Signals):
    arguments = ("--policy", "scripted", "--dialogues", "60", "--out", "runs/x", "--concurrency", "4")
    folder = tmp_path / "runs" / "x"
    with subprocess.Popen(
        [sys.executable, str(ROOT / "run_eval.py"), *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as child:
        while not (folder / "episodes.jsonl").exists() or not stored_ids(folder):
            assert child.poll() is None
        child.send_signal(stop)
        _, errors = child.communicate()
    if stop == signal.SIGINT:
        assert child.returncode == 130
        assert "of 60 dialogues are kept in runs/x; give the same command to go on" in errors.splitlines()[-1]
        assert "Traceback" not in errors
    before = (folder / "episodes.jsonl").read_text().rsplit("\n", 1)[0]
    assert 0 < len(before.splitlines()) < 60
    done = run_eval(*arguments)
    assert done.returncode == 0, done.stderr
    assert (folder / "episodes.jsonl").read_text().startswith(before)
    assert len(stored_ids(folder)) == len(set(stored_ids(folder))) == 60


def test_two_processes_score_what_one_scores(tmp_path: Path, run_eval: RunEval):
    arguments = ("--policy", "scripted", "--dialogues", "12")
    assert run_eval(*arguments, "--out", "one").returncode == 0
    assert run_eval(*arguments, "--out", "two", "--processes", "2").returncode == 0
    one, two = (json.loads((tmp_path / name / "report.json").read_text()) for name in ("one", "two"))
    assert one["faults"] == two["faults"]
    for name in ("success", "grounded_success", "exchanges", "reward", "llm_calls"):
        assert one["metrics"][name] == two["metrics"][name]


def test_corpus_goals_come_from_a_file(tmp_path: Path, run_eval: RunEval):
    goal = {"hotel": {"info": {"area": "north"}, "reqt": ["phone"]}, "message": ["You are looking for a place to stay"]}
    with zipfile.ZipFile(tmp_path / "val.json.zip", "w") as archive:
        archive.writestr("val.json", json.dumps({"SNG1.json": {"goal": goal}}))
    done = run_eval("--policy", "scripted", "--goals", "val.json.zip", "--run", "corpus")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "runs" / "corpus" / "eval-scripted-val"
    assert stored_ids(folder) == ["SNG1#0"]


def test_an_endpoint_is_evaluated_with_its_key_tokens_and_cost(
    tmp_path: Path, run_eval: RunEval, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with serve(OpenAIServer(ScriptedModel(placeholders=False), api_key="secret")) as server:
        arguments = ("--policy", "endpoint:scripted-model", "--base-url", server.base_url, "--dialogues", "3")
        prices = ("--prompt-usd", "2", "--completion-usd", "8")
        done = run_eval(*arguments, *prices, "--out", "x")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "x" / "report.json").read_text())
    assert report["policy"] == "endpoint:scripted-model"
    assert report["metrics"]["prompt_tokens"]["mean"] > 0
    assert report["metrics"]["cost_usd"]["mean"] > 0
    assert not any("secret" in path.read_text() for path in (tmp_path / "x").iterdir())


class BriefUser(ScriptedModel):
    """Plays a user that asks one thing and leaves."""

    def answer(self, messages: Sequence[BaseMessage]) -> AIMessage:
        spoken = sum(isinstance(message, AIMessage) for message in messages)
        return AIMessage("i need a hotel in the north" if spoken == 0 else "thank you , goodbye [DONE]")


def test_a_language_model_plays_the_user(tmp_path: Path, run_eval: RunEval):
    with serve(OpenAIServer(BriefUser())) as server:
        user = ("--user", "llm", "--user-model", "brief", "--user-base-url", server.base_url)
        done = run_eval("--policy", "scripted", "--dialogues", "2", *user, "--out", "x")
    assert done.returncode == 0, done.stderr
    episodes = RunFiles(tmp_path / "x").episodes()
    assert [episode.user for episode in episodes] == ["llm:brief"] * 2
    assert all(episode.ended == "user" and len(episode.exchanges) == 2 for episode in episodes)
    assert json.loads((tmp_path / "x" / "config.json").read_text())["config"]["user_model"] == "brief"


def test_help_describes_every_option(run_eval: RunEval):
    done = run_eval("--help")
    assert done.returncode == 0
    for option in (
        "--policy",
        "--dialogues",
        "--goals",
        "--seed",
        "--run",
        "--out",
        "--profile",
        "--rescore",
        "--user",
    ):
        assert option in done.stdout
