"""How fast the policy samples and learns: ``uv run python -m benchmarks.learning [--policy CHECKPOINT]``.

Sampling: dialogues with growing contexts, by ``training.engine`` and by ``transformers``' ``generate``, on the same
model, prompts and cores; each turn adds ``--read`` tokens and samples ``--write``. Calls: what a model call costs
besides sampling, through the in-process chat model, the capture layer and the HTTP server. With a trained policy also
one GRPO step on real dialogues: what the update costs with and without shared prefixes, and where the time of
the rollouts goes (a signal asks every millisecond of CPU time whose code is innermost). All times are CPU seconds of
this process where a busy machine would distort the clock's.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

import tyro
from rich.console import Console
from rich.table import Table

from benchmarks.shares import sampled
from training.stages import quiet

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from training.engine import PolicyEngine
    from training.rollouts import Rollout
    from training.service import TorchService

ROOT = str(Path(__file__).parent.parent)
OWNERS = {
    f"{ROOT}/training/engine": "sampling",
    f"{ROOT}/training/decoder": "sampling",
    f"{ROOT}/training/prefixes": "sampling",
    "/art/preprocessing/": "proving traces",
    f"{ROOT}/training/capture": "proving traces",
    f"{ROOT}/training/chat": "prompts and answers",
    f"{ROOT}/training/endpoint": "prompts and answers",
    f"{ROOT}/training/policy_model": "prompts and answers",
    "/site-packages/sqlalchemy/": "graph and simulator",
    "/site-packages/langgraph/": "graph and simulator",
    "/convlab/": "graph and simulator",
    **{f"{ROOT}/{room}/": "graph and simulator" for room in ("db", "tools", "agents", "simulation", "evaluation")},
}
"""Part of a file's path -> who it works for; the innermost frame that matches owns the sample."""


@dataclass(frozen=True)
class BenchmarkConfig:
    """What to measure; the defaults take about a minute on one core."""

    policy: Path | None = None
    """A checkpoint of a trained policy; a random model of the CPU profile's size when left out."""
    threads: int = 1
    """Torch's threads."""
    turns: int = 6
    """Turns of one dialogue."""
    read: int = 24
    """Tokens added to the context before each turn."""
    write: int = 14
    """Tokens sampled in each turn."""
    concurrency: tuple[int, ...] = (1, 8, 32)
    """Dialogues at once."""
    repeats: int = 3
    """Each measurement is the best of so many."""
    groups: int = 8
    """Groups of the GRPO step."""
    group_size: int = 8


def main(config: BenchmarkConfig) -> None:
    quiet()
    import torch

    torch.set_num_threads(config.threads)
    console = Console()
    with TemporaryDirectory() as scratch:
        base = config.policy or _random_policy(Path(scratch) / "base")
        from training.checkpoints import load_model

        model = load_model(base, "cpu")
        size = sum(parameter.numel() for parameter in model.parameters()) / 1e6
        console.print(f"{size:.2f} M parameters, {config.threads} thread(s), torch {torch.__version__}")
        console.print(_sampling(model, config))
        asyncio.run(_with_service(base, Path(scratch) / "art", config, console))


def _random_policy(path: Path) -> Path:
    from training.small_model import SmallModelConfig, build_small_model
    from training.tokenizer import build_tokenizer

    words = [f"word{number}" for number in range(700)]
    tokenizer = build_tokenizer([" ".join(words), "router hotel find_hotels"], [])
    tokenizer.save_pretrained(path)
    build_small_model(tokenizer, SmallModelConfig(), 0).save_pretrained(path)
    return path


# --- sampling ----------------------------------------------------------------------------------------------------


def _sampling(model: "PreTrainedModel", config: BenchmarkConfig) -> Table:
    from training.engine import PolicyEngine

    table = Table("dialogues at once", "engine, tokens/s", "generate, tokens/s", "ratio")
    for count in config.concurrency:
        engine = PolicyEngine(model)
        ours = max(_play_engine(model, config, count, engine) for _ in range(config.repeats))
        theirs = max(_play_generate(model, config, count) for _ in range(config.repeats))
        table.add_row(str(count), f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.1f}")
    return table


def _heard(vocabulary: int, length: int, dialogue: int, turn: int) -> list[int]:
    drawing = random.Random(f"{dialogue}-{turn}")
    return [drawing.randrange(10, vocabulary) for _ in range(length)]


def _play_engine(model: "PreTrainedModel", config: BenchmarkConfig, count: int, engine: "PolicyEngine") -> float:
    """Tokens/s. The engine is warm, as in training, but has forgotten what it computed before."""
    from training.engine import SamplingParams

    engine.update(model, engine.step + 1)
    vocabulary = int(model.config.vocab_size)

    async def dialogue(number: int) -> None:
        ids: list[int] = []
        for turn in range(config.turns):
            ids = ids + _heard(vocabulary, config.read, number, turn)
            params = SamplingParams(max_tokens=config.write, seed=turn)
            ids = ids + (await engine.generate(ids, params)).token_ids

    async def play() -> float:
        started = time.process_time()
        await asyncio.gather(*(dialogue(number) for number in range(count)))
        return count * config.turns * config.write / (time.process_time() - started)

    return asyncio.run(play())


def _play_generate(model: "PreTrainedModel", config: BenchmarkConfig, count: int) -> float:
    import torch

    vocabulary = int(model.config.vocab_size)
    ids = torch.empty((count, 0), dtype=torch.long)
    started = time.process_time()
    for turn in range(config.turns):
        heard = [_heard(vocabulary, config.read, number, turn) for number in range(count)]
        ids = torch.cat([ids, torch.tensor(heard)], 1)
        with torch.inference_mode():
            ids = model.generate(  # pyright: ignore[reportCallIssue]
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=config.write,
                min_new_tokens=config.write,
                do_sample=True,
                top_k=0,
                pad_token_id=0,
            )
    return count * config.turns * config.write / (time.process_time() - started)


# --- calls and a step --------------------------------------------------------------------------------------------


async def _with_service(base: Path, root: Path, config: BenchmarkConfig, console: Console) -> None:
    import art

    from training.backend import TorchBackend
    from training.service import TorchConfig

    backend = TorchBackend(root, TorchConfig())
    model = art.TrainableModel(name="policy", project="benchmark", base_model=str(base), report_metrics=[])
    await model.register(backend)
    console.print(await _calls(model, backend.service(model)))
    if config.policy is not None:
        await _step(backend, model, config, console)
    await backend.close()


async def _calls(model, service: "TorchService") -> Table:
    """Sequential calls that sample one token: what is left after the engine's own time is overhead."""
    from langchain_core.messages import HumanMessage, SystemMessage

    from training.capture import CaptureTarget, capture
    from training.policy_model import ChatSettings, PolicyChatModel

    calls = 100
    prompt = [SystemMessage("router"), HumanMessage("hotel word1 word2 word3 word4 word5 word6 word7 word8 word9")]
    settings = ChatSettings(max_tokens=1, seed=0)

    async def ask(chat) -> None:
        for _ in range(calls):
            await chat.ainvoke(prompt)

    async def in_process() -> None:
        await ask(PolicyChatModel(service.endpoint, settings))

    def captured(transport: str) -> Callable[[], Awaitable[object]]:
        target = CaptureTarget(model, service.tokenizer, service.endpoint, transport)  # pyright: ignore[reportArgumentType]
        return lambda: capture(target, settings, ask)

    table = Table("way of calling the model", "ms per call besides sampling")
    ways: dict[str, Callable[[], Awaitable[object]]] = {
        "in-process chat model": in_process,
        "in-process, captured and proved": captured("in_process"),
        "HTTP (ChatOpenAI), captured and proved": captured("http"),
    }
    for name, way in ways.items():
        await way()
        before, started = service.endpoint.engine.stats.seconds, time.perf_counter()
        await way()
        spent = time.perf_counter() - started - (service.endpoint.engine.stats.seconds - before)
        table.add_row(name, f"{spent / calls * 1e3:.2f}")
    return table


async def _step(backend, model, config: BenchmarkConfig, console: Console) -> None:
    import art

    from training.credit import credit_groups
    from training.packing import merge_prefixes, pack

    service: TorchService = backend.service(model)
    await _sample(model, service, config, groups=1)
    requests = service.endpoint.engine.stats.requests
    with sampled(OWNERS, "LangChain, ART, asyncio") as counts:
        started = time.process_time()
        played = await _sample(model, service, config, config.groups)
        sampling_s = time.process_time() - started
    size = config.group_size
    groups = [
        art.TrajectoryGroup([each.trajectory for each in played[start : start + size] if each.usable])
        for start in range(0, len(played), size)
    ]
    started = time.process_time()
    await backend.train(model, groups, learning_rate=1e-6)
    update_s = time.process_time() - started
    engine = service.endpoint.engine.stats
    console.print(
        f"one GRPO step: {len(played)} dialogues, {engine.requests - requests} calls; rollouts {sampling_s:.1f} s, "
        f"update {update_s:.1f} s with its checkpoint (the first also loads torch's compiler)"
    )
    calls = credit_groups(groups, service.tokenizer)
    if calls:
        table = Table("rows", "number", "tokens", "update, s")
        for name, rows in (
            ("one per call", [row for call in calls for row in merge_prefixes([call])[0]]),
            ("shared prefixes", merge_prefixes(calls)[0]),
        ):
            took = min(_update_s(service, pack(rows, 0, "benchmark")) for _ in range(config.repeats))
            table.add_row(name, str(len(rows)), str(sum(len(row.ids) for row in rows)), f"{took:.2f}")
        console.print(table)
    shares = Table("of the rollouts", "share")
    for layer, count in counts.most_common():
        shares.add_row(layer, f"{count / counts.total():.0%}")
    console.print(shares)


async def _sample(model, service: "TorchService", config: BenchmarkConfig, groups: int) -> "list[Rollout]":
    from agents.config import COMPACT
    from db.world import WorldFactory
    from simulation.agenda_user import AgendaUser
    from simulation.goals import sample_goals
    from training.capture import CaptureTarget
    from training.grpo import GrpoConfig, plan_step
    from training.policy_model import ChatSettings
    from training.rollouts import RolloutSettings, rollout

    target = CaptureTarget(model, service.tokenizer, service.endpoint)
    settings = RolloutSettings(COMPACT, ChatSettings(max_tokens=64))
    plans = plan_step(
        GrpoConfig(goals_per_step=groups, group_size=config.group_size), sample_goals("train", groups, 0), 0, 0
    )
    worlds = WorldFactory()
    return list(await asyncio.gather(*(rollout(target, plan, settings, AgendaUser, worlds) for plan in plans)))


def _update_s(service: "TorchService", packed) -> float:
    from art import dev

    from training.learner import LearnerConfig, learn

    started = time.process_time()
    list(
        learn(
            service.model,
            service.optimizer,
            packed,
            learning_rate=0.0,
            dev_config=cast(dev.TrainConfig, {}),
            config=LearnerConfig(),
        )
    )
    return time.process_time() - started


if __name__ == "__main__":
    main(tyro.cli(BenchmarkConfig))
