"""The teacher learns, is kept, and teaches: small trainings; the full one is slow."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from db.errors import InputError
from db.support_world import SupportWorlds
from environments.casework.actions import Action
from environments.casework.benchmark import load_queries
from environments.casework.cases import Case
from environments.casework.env import SIZE
from environments.casework.episode import play_case
from environments.casework.policies import GoldPolicy, RandomPolicy
from environments.casework.text import Decision, read_output
from evaluation.casework import read_episodes
from evaluation.runs import RunFiles
from training.casework_collect import collect_casework, export, taught_chat
from training.casework_sac import check_actor, load_sac, train_sac
from training.casework_stages import SacConfig
from training.stages import CollectConfig

TINY = SacConfig("r", episodes=40, random_steps=64, batch=32, hidden=(16, 16), check_every=20, check_cases=4)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def cases() -> list[Case]:
    return load_queries(100)


def weights(run: str) -> dict[str, torch.Tensor]:
    return torch.load(Path("runs") / run / "sac" / "actor.pt", weights_only=True)["actor"]


def test_a_teacher_is_trained_once_and_its_curve_is_kept():
    policy = train_sac(TINY)
    rows = RunFiles(TINY.folder).metrics()
    assert [row["step"] >= step for row, step in zip(rows, (20, 40), strict=True)] == [True, True]
    assert {"greedy/resolution", "greedy/reward", "greedy/steps", "train/reward", "learner/alpha"} <= set(rows[0])
    assert (TINY.folder / "report.html").exists()
    again = train_sac(TINY)
    assert again.name == policy.name == load_sac("r").name
    assert len(RunFiles(TINY.folder).metrics()) == len(rows)
    assert policy.choose(np.zeros(SIZE, dtype=np.float32)) in set(Action)
    with pytest.raises(InputError, match="gamma"):
        train_sac(replace(TINY, gamma=0.5))


def test_the_seed_decides_the_training():
    for run, seed in (("a", 1), ("b", 1), ("c", 2)):
        train_sac(replace(TINY, run=run, seed=seed))
    one, same, other = weights("a"), weights("b"), weights("c")
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_a_training_that_was_broken_off_starts_again():
    train_sac(TINY)
    whole = weights("r")
    (TINY.folder / "actor.pt").unlink()
    train_sac(TINY)
    assert all(torch.equal(whole[name], each) for name, each in weights("r").items())
    assert len(RunFiles(TINY.folder).metrics()) == 2


def test_without_a_teacher_the_message_says_how_to_get_one():
    with pytest.raises(InputError, match=r"collect_sft\.py --task casework --run nobody"):
        load_sac("nobody")


async def test_chats_teach_what_the_text_form_reads(cases: list[Case]):
    worlds = SupportWorlds()
    for case in cases:
        episode = await play_case(case, GoldPolicy(), worlds, seed=0)
        messages = taught_chat(episode)
        assert [message["role"] for message in messages] == ["system", "user", *(["assistant", "user"] * 10)][
            : len(messages)
        ]
        outputs = [read_output(each["content"]) for each in messages if each["role"] == "assistant"]
        assert all(isinstance(output, Decision) and output.reasoning for output in outputs)
        assert [output.action for output in outputs if isinstance(output, Decision)] == list(case.gold_actions())


async def test_only_what_earned_enough_is_exported(cases: list[Case], tmp_path: Path):
    worlds = SupportWorlds()
    gold = [await play_case(case, GoldPolicy(), worlds, seed=0) for case in cases[:10]]
    random = [await play_case(case, RandomPolicy(), worlds, seed=n) for n, case in enumerate(cases)]
    good = [*gold, *(episode for episode in random if episode.reward >= 5.0)]
    assert export([*random, *gold], 5.0, tmp_path / "sft.jsonl") == len(good)
    rows = [json.loads(line) for line in (tmp_path / "sft.jsonl").read_text().splitlines()]
    assert {tuple(row) for row in rows} == {("episode", "node", "messages", "tools")}
    assert all(episode.resolved for episode in random if episode.reward >= 5.0)


def test_a_collection_trains_its_teacher_and_goes_on(monkeypatch: pytest.MonkeyPatch):
    """Forty episodes teach next to nothing, so gold plays in the place of what they taught."""
    monkeypatch.setattr(CollectConfig, "sac", TINY)
    monkeypatch.setattr("training.casework_collect.train_sac", lambda config: train_sac(config) and GoldPolicy())
    config = CollectConfig(task="casework", run="r", dialogues=60)
    done = collect_casework(config)
    assert (done.played, done.kept) == (60, 60)
    lines = (config.folder / "episodes.jsonl").read_text().splitlines(keepends=True)
    (config.folder / "episodes.jsonl").write_text("".join(lines[:30]))
    assert collect_casework(config) == done
    assert len(read_episodes(config.folder)) == 60
    assert len(done.path.read_text().splitlines()) == 60
    with pytest.raises(InputError, match="dialogues was 60 and is now 61"):
        collect_casework(replace(config, dialogues=61))


@pytest.mark.slow
def test_the_full_teacher_resolves_nearly_all():
    policy = train_sac(SacConfig("full"))
    reached = check_actor(policy, load_queries(1000), SupportWorlds())
    gold = sum(len(case.gold_actions()) for case in load_queries(1000)) / 1000
    assert reached["greedy/resolution"] >= 0.97
    assert abs(reached["greedy/steps"] - gold) <= 0.3
