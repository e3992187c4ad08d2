"""The stages of a run: killed anywhere, the same command goes on and ends where it would have ended."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from db.errors import InputError
from simulation.policies import ScriptedPolicy
from training.collect import collect
from training.gpu import build_gpu_backend, build_gpu_model
from training.locations import SFT_FILE, find_checkpoint
from training.sft import learning_rates, load_dialogues, one_history_each, plan_chunks, train_sft
from training.stages import CollectConfig, SftConfig

ROOT = Path(__file__).parents[2]
COLLECT = CollectConfig(run="r", dialogues=24, concurrency=4)
SFT = SftConfig(run="r", epochs=1, batch_dialogues=4, chunk_batches=2, warmup_steps=2)


def teacher() -> nullcontext[ScriptedPolicy]:
    return nullcontext(ScriptedPolicy(piecemeal=COLLECT.piecemeal))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted."""
    place = tmp_path_factory.mktemp("finished")
    before = Path.cwd()
    os.chdir(place)
    try:
        collect(COLLECT, teacher)
        train_sft(SFT)
    finally:
        os.chdir(before)
    return place


def sft_rows(place: Path) -> list[str]:
    return sorted((place / "runs/r/collect" / SFT_FILE).read_text().splitlines())


def weights(place: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, torch.Tensor]:
    monkeypatch.chdir(place)
    return load_file(find_checkpoint("sft", "r") / "model.safetensors")


def kill_when(script: str, arguments: list[str], place: Path, ready: Path, lines: int) -> None:
    """Start a script and ``kill -9`` it once ``ready`` has so many lines."""
    command = [sys.executable, str(ROOT / script), "--run", "r", *arguments]
    with subprocess.Popen(command, cwd=place, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None:
            if ready.exists() and ready.read_bytes().count(b"\n") >= lines:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.005)
        assert process.wait() == -signal.SIGKILL


def test_a_killed_collection_goes_on_and_loses_and_repeats_nothing(finished, tmp_path, monkeypatch):
    kill_when(
        "collect_sft.py",
        ["--dialogues", "24", "--concurrency", "4"],
        tmp_path,
        tmp_path / "runs/r/collect/episodes.jsonl",
        lines=5,
    )
    with (tmp_path / "runs/r/collect/episodes.jsonl").open("a") as torn:
        torn.write('{"id": "torn')
    monkeypatch.chdir(tmp_path)
    done = collect(COLLECT, teacher)
    assert (done.played, done.kept) == (24, 24)
    assert sft_rows(tmp_path) == sft_rows(finished)


def test_a_killed_fine_tuning_ends_with_the_same_weights(finished, tmp_path, monkeypatch):
    target = tmp_path / "runs/r/collect"
    target.mkdir(parents=True)
    (target / SFT_FILE).write_bytes((finished / "runs/r/collect" / SFT_FILE).read_bytes())
    options = ["--epochs", "1", "--batch-dialogues", "4", "--chunk-batches", "2", "--warmup-steps", "2"]
    kill_when("run_sft.py", options, tmp_path, tmp_path / "runs/r/sft/metrics.jsonl", lines=1)
    monkeypatch.chdir(tmp_path)
    train_sft(SFT)
    expected, found = weights(finished, monkeypatch), weights(tmp_path, monkeypatch)
    assert expected.keys() == found.keys()
    # Another process may sum in another order of threads; the schedule and the data are the same to the last digit.
    assert all(torch.allclose(expected[name], found[name], atol=1e-4) for name in expected)


def test_a_run_is_not_mixed_with_another_configuration(finished, monkeypatch):
    monkeypatch.chdir(finished)
    with pytest.raises(InputError, match="epochs"):
        train_sft(SftConfig(run="r", epochs=2, batch_dialogues=4, chunk_batches=2, warmup_steps=2))


def test_a_dialogue_is_one_trajectory_with_a_history_per_expert_and_router_call(finished):
    dialogues = load_dialogues(finished / "runs/r/collect" / SFT_FILE)
    assert len(dialogues) == 24
    rows = [json.loads(row) for row in sft_rows(finished)]
    assert sum(1 + len(dialogue.additional_histories) for dialogue in dialogues) == len(rows)
    for row in rows:
        assert row["messages"][0] == {"role": "system", "content": row["node"]}
        assert row["messages"][-1]["role"] == "assistant"
        assert row["node"] == "router" or row["tools"]


def test_the_gpu_profile_configures_and_says_what_a_machine_without_one_lacks(tmp_path):
    model = build_gpu_model()
    assert model.base_model == "Qwen/Qwen2.5-14B-Instruct"
    assert (model._internal_config or {}).get("init_args", {}).get("load_in_4bit")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="NVIDIA GPU"):
            build_gpu_backend(tmp_path)


def test_for_arts_own_backends_each_history_is_a_trajectory(finished):
    flat = one_history_each(load_dialogues(finished / "runs/r/collect" / SFT_FILE))
    assert len(flat) == len(sft_rows(finished))
    assert all(not trajectory.additional_histories for trajectory in flat)


def test_each_epoch_goes_once_through_all_dialogues():
    chunks = plan_chunks(10, SftConfig(epochs=2, batch_dialogues=2, chunk_batches=2))
    order = [index for chunk in chunks for index in chunk]
    assert sorted(order[:10]) == sorted(order[10:]) == list(range(10))
    assert order[:10] != order[10:]


def test_the_learning_rate_warms_up_and_falls_over_all_chunks():
    config = SftConfig(batch_dialogues=1, warmup_steps=4, learning_rate=1.0)
    rates = [*learning_rates(config, 0, 10, 20), *learning_rates(config, 10, 10, 20)]
    assert len(rates) == 20
    assert max(rates) == rates[3]
    assert rates[3:] == sorted(rates[3:], reverse=True)
