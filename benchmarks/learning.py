"""How fast the policy samples and learns: ``uv run python -m benchmarks.learning [--policy CHECKPOINT]``.

Sampling: dialogues with growing contexts, by ``training.engine`` and by ``transformers``' ``generate``, on the same
model, prompts and cores; each turn adds ``--read`` tokens and samples ``--write``. Calls: what a model call costs
besides sampling, through the in-process chat model, the capture layer and the HTTP server. With a trained policy also
one GRPO step on real dialogues: what the update costs with and without shared prefixes, and where the time of
the rollouts goes (a signal asks every millisecond of CPU time whose code is innermost). ``--peers`` adds vLLM's CPU
build to the sampling and TRL's ``GRPOTrainer`` to the step, on the same model, data and cores. All times are CPU
seconds of this process (or the peer's) where a busy machine would distort the clock's.
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
    from training.packing import Row
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
    "/site-packages/sqlalchemy/": "graph: router, experts, tools, database",
    "/site-packages/langgraph/": "graph: router, experts, tools, database",
    **{f"{ROOT}/{room}/": "graph: router, experts, tools, database" for room in ("db", "tools", "agents")},
    "/convlab/": "simulator: users, scoring",
    **{f"{ROOT}/{room}/": "simulator: users, scoring" for room in ("simulation", "evaluation")},
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
    peers: bool = False
    """Compare with vLLM and TRL too, which uv downloads (several GB) and runs on their own; needs a policy."""
    peer_rows: int = 64
    """Rows of the step that TRL is timed on, drawn at random: TRL takes long."""


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
        console.print(_sampling(model, config, console))
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


def _sampling(model: "PreTrainedModel", config: BenchmarkConfig, console: Console) -> Table:
    from training.engine import PolicyEngine

    table = Table("dialogues at once", "engine, tokens/s", "generate, tokens/s", "ratio", "vLLM, tokens/s", "ratio")
    vllm = _play_vllm(model, config, console) if config.peers and config.policy else {}
    for count in config.concurrency:
        engine = PolicyEngine(model)
        ours = max(_play_engine(model, config, count, engine) for _ in range(config.repeats))
        theirs = max(_play_generate(model, config, count) for _ in range(config.repeats))
        peer = (f"{vllm[count]:.0f}", f"{ours / vllm[count]:.1f}") if count in vllm else ()
        table.add_row(str(count), f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.1f}", *peer)
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


def _play_vllm(model: "PreTrainedModel", config: BenchmarkConfig, console: Console) -> dict[int, float]:
    from benchmarks.peers import PeerError, vllm_tokens_per_s

    assert config.policy is not None
    vocabulary = int(model.config.vocab_size)
    # Without the last words: vLLM takes as its vocabulary what the tokenizer holds, special tokens aside.
    dialogues = range(max(config.concurrency))
    heard = [[_heard(vocabulary - 60, config.read, each, turn) for turn in range(config.turns)] for each in dialogues]
    try:
        work = {"write": config.write, "concurrency": list(config.concurrency), "repeats": config.repeats}
        return vllm_tokens_per_s(config.policy, {"heard": heard, **work}, config.threads)
    except PeerError as error:
        console.print(f"vLLM was left out: {error}", markup=False)
        return {}


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
        table = Table("rows", "number", "tokens", "padding", "update, s")
        for name, rows in (
            ("one per call", [row for call in calls for row in merge_prefixes([call])[0]]),
            ("shared prefixes", merge_prefixes(calls)[0]),
        ):
            update_s, waste = min(_update(service, pack(rows, 0, "benchmark")) for _ in range(config.repeats))
            tokens = sum(len(row.ids) for row in rows)
            table.add_row(name, str(len(rows)), str(tokens), f"{waste:.0%}", f"{update_s:.2f}")
        console.print(table)
        if config.peers:
            _compare_trl(service, merge_prefixes(calls)[0], config, console)
    shares = Table("of the step", "share")
    spent = {layer: sampling_s * count / counts.total() for layer, count in counts.items()} | {"training": update_s}
    for layer, took in sorted(spent.items(), key=lambda each: -each[1]):
        shares.add_row(layer, f"{took / (sampling_s + update_s):.0%}")
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


def _compare_trl(service: "TorchService", rows: "list[Row]", config: BenchmarkConfig, console: Console) -> None:
    """A step on the same rows: ours from rows to new weights, TRL's from completions to new weights."""
    from benchmarks.peers import PeerError, fair_sample, trl_step_s
    from training.packing import pack

    assert config.policy is not None
    drawn = fair_sample(rows, config.peer_rows)
    ours = []
    for _ in range(config.repeats):
        started = time.process_time()
        _, waste = _update(service, pack(drawn, 0, "benchmark"))
        ours.append((time.process_time() - started, waste))
    here_s, waste = min(ours)
    table = Table("one step on the same rows", "rows", "tokens", "padding", "s", "ratio")
    tokens = sum(len(row.ids) for row in drawn)
    sizes = (str(len(drawn)), str(tokens))
    table.add_row("here", *sizes, f"{waste:.0%}", f"{here_s:.2f}")
    starts = [row.trained.index(1) for row in drawn]
    widest = max(starts) + max(len(row.ids) - start for row, start in zip(drawn, starts, strict=True))
    padding = f"{1 - tokens / (widest * len(drawn)):.0%}"
    try:
        for micro_batch, took in trl_step_s(config.policy, drawn, config.threads).items():
            table.add_row(
                f"TRL, micro-batches of {micro_batch}", *sizes, padding, f"{took:.2f}", f"{took / here_s:.1f}"
            )
    except PeerError as error:
        console.print(f"TRL was left out: {error}", markup=False)
    console.print(table)


def _update(service: "TorchService", packed) -> tuple[float, float]:
    """CPU seconds of one update, and the share of its tokens that is padding."""
    from art import dev

    from training.learner import LearnerConfig, learn

    started = time.process_time()
    (metrics,) = list(
        learn(
            service.model,
            service.optimizer,
            packed,
            learning_rate=0.0,
            dev_config=cast(dev.TrainConfig, {}),
            config=LearnerConfig(),
        )
    )
    return time.process_time() - started, metrics["data/padding_waste"]


if __name__ == "__main__":
    main(tyro.cli(BenchmarkConfig))
