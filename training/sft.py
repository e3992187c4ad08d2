"""Supervised fine-tuning on collected dialogues, through ART: ``model.train_sft`` chunk by chunk.

Owns the data order, the schedule, the metrics and going on after a kill: each chunk ends in a checkpoint, and which
dialogues a chunk holds follows from the seed. On the CPU profile the model starts from nothing.
"""

import asyncio
import json
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import art
import torch
from art.trajectories import History
from tqdm import tqdm

from evaluation.html import refresh_curves
from evaluation.runs import start_run
from training.backend import LocalBackend, TorchBackend
from training.gpu import build_gpu_backend, build_gpu_model
from training.learner import LearnerConfig
from training.locations import MODEL_NAME, PROJECT, art_dir, base_dir, collected, device_of, model_dir, stage_folder
from training.optimizers import OptimizerConfig
from training.service import TorchConfig
from training.small_model import SmallModelConfig, build_small_model
from training.stages import SftConfig
from training.trackers import start_trackers
from training.vocabulary import build_vocabulary

COMMAND = "run_sft"


@dataclass(frozen=True)
class Trained:
    """Where a stage left its policy."""

    checkpoint: Path
    step: int
    metrics: dict[str, float]
    """Of the last step."""


def train_sft(config: SftConfig) -> Trained:
    """Train until ``config.epochs`` are done.

    :raises InputError: there are no dialogues, no machine, or the folder holds another run.
    """
    config.check()
    device = device_of(config.profile)
    sft_file = collected(config.run)
    if config.threads:
        torch.set_num_threads(config.threads)
    with (
        start_run(stage_folder(config.run, "sft"), COMMAND, config.identity(), config.seed) as folder,
        start_trackers(config.track, folder) as trackers,
    ):

        def on_chunk(number: int, metrics: Mapping[str, float]) -> None:
            folder.log_metrics(number, metrics)
            trackers.log(number, metrics)
            refresh_curves(folder, "SFT")

        dialogues = load_dialogues(sft_file)
        if config.profile == "gpu":
            backend, model = build_gpu_backend(art_dir(config.run, "sft")), build_gpu_model()
            dialogues = one_history_each(dialogues)
        else:
            backend, model = _small_backend(config, device, sft_file)
        return asyncio.run(_train(config, backend, model, dialogues, on_chunk))


def _small_backend(config: SftConfig, device: str, sft_file: Path) -> tuple[LocalBackend, art.TrainableModel]:
    base = base_dir(config.run)
    if not (base / "config.json").exists():
        _build_base(sft_file, base, config.seed)
    learner = LearnerConfig(optimizer=OptimizerConfig(kind="muon", adam_betas=(0.9, 0.98), weight_decay=0.01))
    backend = TorchBackend(
        art_dir(config.run, "sft"),
        TorchConfig(
            device=device,
            learner=learner,
            swap_values=config.swap_values,
            noisy_words=config.noisy_words,
            serve=False,
        ),
    )
    return backend, art.TrainableModel(name=MODEL_NAME, project=PROJECT, base_model=str(base), report_metrics=[])


def one_history_each(dialogues: list[art.Trajectory]) -> list[art.Trajectory]:
    """A trajectory per history: ART's own backends leave additional histories out of SFT."""
    return [
        art.Trajectory.model_construct(
            messages_and_choices=history.messages_and_choices, tools=history.tools, additional_histories=[], reward=0.0
        )
        for dialogue in dialogues
        for history in [dialogue, *dialogue.additional_histories]
    ]


def load_dialogues(path: Path) -> list[art.Trajectory]:
    """One trajectory per dialogue, the histories of its experts side by side."""
    dialogues: dict[str, art.Trajectory] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            history = History.model_construct(messages_and_choices=row["messages"], tools=row["tools"])
            if row["episode"] not in dialogues:
                dialogues[row["episode"]] = art.Trajectory.model_construct(
                    messages_and_choices=history.messages_and_choices,
                    tools=history.tools,
                    additional_histories=[],
                    reward=0.0,
                )
            else:
                dialogues[row["episode"]].additional_histories.append(history)
    return list(dialogues.values())


def _build_base(sft_file: Path, base: Path, seed: int) -> None:
    """The untrained model and its tokenizer; the configuration file comes last and says that all is there."""
    tokenizer = build_vocabulary(sft_file)
    tokenizer.save_pretrained(base)
    build_small_model(tokenizer, SmallModelConfig(), seed).save_pretrained(base)


async def _train(
    config: SftConfig,
    backend: LocalBackend,
    model: art.TrainableModel,
    dialogues: list[art.Trajectory],
    on_chunk: Callable[[int, Mapping[str, float]], None],
) -> Trained:
    await model.register(backend)
    chunks = plan_chunks(len(dialogues), config)
    steps = sum(len(chunk) for chunk in chunks) // config.batch_dialogues
    metrics: dict[str, float] = {}
    done = await model.get_step()
    with tqdm(total=len(chunks), initial=done, desc="sft", unit="chunk") as bar:
        for number in range(done, len(chunks)):
            started = time.monotonic()
            rates = learning_rates(config, number * config.chunk_batches, len(chunks[number]), steps)
            metrics = await _train_chunk(backend, model, [dialogues[index] for index in chunks[number]], config, rates)
            metrics["time/train_s"] = time.monotonic() - started
            on_chunk(number + 1, metrics)
            bar.set_postfix(loss=f"{metrics['loss/train']:.3f}")
            bar.update()
    step = await model.get_step()
    await backend.close()
    return Trained(model_dir(config.run, "sft") / "checkpoints" / f"{step:04d}", step, metrics)


async def _train_chunk(
    backend: LocalBackend,
    model: art.TrainableModel,
    dialogues: list[art.Trajectory],
    config: SftConfig,
    rates: list[float],
) -> dict[str, float]:
    """``model.train_sft`` without its log file: the mean of the metrics, which the run folder keeps."""
    rows: list[dict[str, float]] = []
    train_config = art.TrainSFTConfig(learning_rate=rates, batch_size=config.batch_dialogues)
    async for metrics in backend._train_sft(model, dialogues, train_config, {}):
        rows.append(metrics)
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}


def plan_chunks(count: int, config: SftConfig) -> list[list[int]]:
    """Which dialogues each chunk holds: shuffled epochs, cut into pieces of ``chunk_batches`` batches."""
    total = max(config.batch_dialogues, math.ceil(count * config.epochs))
    order: list[int] = []
    for epoch in range(math.ceil(config.epochs)):
        indices = list(range(count))
        random.Random(f"{config.seed}-{epoch}").shuffle(indices)
        order += indices
    order = order[:total]
    size = config.batch_dialogues * config.chunk_batches
    return [order[start : start + size] for start in range(0, total, size)]


def learning_rates(config: SftConfig, first: int, dialogues: int, steps: int) -> list[float]:
    """One rate per batch of a chunk whose first batch is number ``first`` of ``steps``: warm-up, then to zero."""
    rates = []
    for step in range(first, first + math.ceil(dialogues / config.batch_dialogues)):
        warmup = min(1.0, (step + 1) / config.warmup_steps)
        rates.append(config.peak_learning_rate * warmup * max(0.02, 1 - step / max(steps, 1)))
    return rates
