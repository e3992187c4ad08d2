"""ConvLab without its dependencies, and without traces in the process that loads it."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simulation.agenda_user import AgendaUser
from simulation.convlab_adapter import database, drawing_from
from simulation.goals import sample_goals
from simulation.wordings import render

_PROBE = """
import logging, random, sys, time
import numpy, pydantic
before = random.getstate(), numpy.random.get_state()[1].tolist()
started = time.process_time()
from simulation.agenda_user import AgendaUser
from simulation.goals import sample_goals
from simulation.official_evaluator import OfficialEvaluator
goal = sample_goals("sft", 1, 1)[0]
user = AgendaUser(goal, 1)
acts, _ = user.act(())
OfficialEvaluator(goal).scores()
took = time.process_time() - started
import builtins, io
assert random.getstate() == before[0] and numpy.random.get_state()[1].tolist() == before[1], "random state"
assert not logging.getLogger().handlers, "root handlers"
assert builtins.open is io.open, "open"
heavy = {"torch", "transformers", "boto3", "sentence_transformers", "fuzzywuzzy", "art"} & set(sys.modules)
assert not heavy, heavy
assert took < 1.5, took
"""


def test_loading_needs_no_torch_prints_nothing_and_leaves_no_trace():
    done = subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr == ""


def test_databases_are_the_distribution_s():
    assert len(database().dbs["hotel"]) == 33
    assert len(database().dbs["restaurant"]) == 110


def test_a_draw_without_a_generator_is_an_error():
    user = AgendaUser(sample_goals("sft", 1, 1)[0], seed=1)
    with pytest.raises(LookupError):
        user._policy.predict([])


def test_the_global_random_state_is_neither_read_nor_written():
    goal = sample_goals("sft", 1, 1)[0]
    texts = []
    for state in (1, 2):
        random.seed(state)
        before = random.getstate()
        acts, _ = AgendaUser(goal, seed=5).act(())
        texts.append(render(acts, random.Random(3)))
        assert random.getstate() == before
    assert texts[0] == texts[1]


def test_generators_nest_and_end_with_their_block():
    outer, inner = random.Random(1), random.Random(2)
    expected = random.Random(2).random()
    source = sys.modules["convlab.policy.rule.multiwoz.policy_agenda_multiwoz"].random
    with drawing_from(outer):
        with drawing_from(inner):
            assert source.random() == expected
        assert source.random() == random.Random(1).random()
    with pytest.raises(LookupError):
        source.random()


def test_only_the_adapter_imports_convlab():
    rooms = Path(__file__).parents[2]
    importing = [
        path.relative_to(rooms).as_posix()
        for room in ("db", "tools", "agents", "simulation", "evaluation", "training")
        for path in (rooms / room).rglob("*.py")
        if re.search(r"^\s*(?:from|import) convlab\b", path.read_text(), re.MULTILINE)
    ]
    assert importing == ["simulation/convlab_adapter.py"]
