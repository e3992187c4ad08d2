"""The terminal conversation: as a person would start it, and in this process where that is enough."""

import io
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import chat

ROOT = Path(__file__).parent.parent


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch):
    def run(*options: str, said: str = "") -> None:
        monkeypatch.setattr(sys, "argv", ["chat.py", *options])
        monkeypatch.setattr(sys, "stdin", io.StringIO(said))
        chat.main()

    return run


def test_a_conversation_books_a_room_and_ends_with_the_input():
    said = "a hotel in the north please\n\nbook it for 2 people on friday for 3 nights\nthank you , bye\n"
    command = [sys.executable, "chat.py"]
    done = subprocess.run(command, cwd=ROOT, input=said, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "acorn guest house is available ." in done.stdout
    assert "your booking at acorn guest house is made , the reference is " in done.stdout
    assert done.stdout.endswith("Goodbye.\n")
    assert "find_hotels" not in done.stdout


def test_tool_calls_are_shown_on_request(say, capsys: pytest.CaptureFixture[str]):
    say("--show-tools", said="a hotel in the north please\n")
    assert "[hotel] find_hotels {'area': 'north'} -> 13 found : acorn guest house" in capsys.readouterr().out


@pytest.mark.parametrize("policy", ["no-such-run", "", "../etc"])
def test_an_unknown_policy_ends_in_one_line(say, capsys: pytest.CaptureFixture[str], policy: str):
    with pytest.raises(SystemExit) as stop:
        say("--policy", policy)
    assert stop.value.code == 2
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 1
    assert repr(policy) in said.err
    assert said.out == ""


def test_an_unknown_option_ends_with_exit_code_2(say):
    with pytest.raises(SystemExit) as stop:
        say("--poliicy", "scripted")
    assert stop.value.code == 2


def test_ctrl_c_at_the_prompt_ends_the_conversation():
    controller, terminal = pty.openpty()
    process = subprocess.Popen([sys.executable, "chat.py"], cwd=ROOT, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    try:
        seen = b""
        while b"> " not in seen:
            seen += os.read(controller, 1024)
        time.sleep(0.5)  # the prompt is written a moment before the interpreter waits for input
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        assert b"Goodbye." in os.read(controller, 1024)
    finally:
        process.kill()
        process.wait()
        os.close(controller)
