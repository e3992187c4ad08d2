"""How fast the policy samples and learns, next to the tools everybody has: ``uv run benchmarks/learning.py``.

Sampling: dialogues with growing contexts, played by ``training.engine`` and by ``transformers``' ``generate`` on the
same model, the same prompts and the same cores; each turn adds ``--read`` tokens and samples ``--write``.
Calls: what one model call costs through the in-process chat model and through the HTTP server, sampling left out.
Learning: one GRPO update on the same completions, one row per call and one row per line of a dialogue.
"""

import asyncio
import os
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import tyro

from training.stages import quiet


@dataclass(frozen=True)
class BenchmarkConfig:
    """What to measure; the defaults take about a minute on one core."""

    policy: Path | None = None
    """A saved policy; a random model of the CPU profile's size when left out."""
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


def main() -> None:
    config = tyro.cli(BenchmarkConfig)
    quiet()
    os.environ["OMP_NUM_THREADS"] = str(config.threads)
    import torch

    torch.set_num_threads(config.threads)
    model = _load(config)
    size = sum(parameter.numel() for parameter in model.parameters())
    print(f"model: {size / 1e6:.2f} M parameters, {config.threads} thread(s), torch {torch.__version__}")
    print(f"\nsampling, tokens/s ({config.turns} turns, {config.read} read and {config.write} written in each)")
    print(f"{'dialogues':>10} {'engine':>10} {'generate':>10} {'ratio':>7}")
    for count in config.concurrency:
        ours = max(_play_engine(model, config, count) for _ in range(config.repeats))
        theirs = max(_play_generate(model, config, count) for _ in range(1 if count == 1 else config.repeats))
        print(f"{count:>10} {ours:>10.0f} {theirs:>10.0f} {ours / theirs:>6.1f}x")


def _load(config: BenchmarkConfig):
    from transformers import AutoModelForCausalLM, Qwen2Config, Qwen2ForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    if config.policy is not None:
        return AutoModelForCausalLM.from_pretrained(str(config.policy)).float().eval()
    sizes = {"hidden_size": 144, "intermediate_size": 384, "num_hidden_layers": 3, "num_attention_heads": 3}
    return Qwen2ForCausalLM(
        Qwen2Config(vocab_size=850, num_key_value_heads=3, tie_word_embeddings=True, bos_token_id=None, **sizes)
    ).eval()


def _contexts(count: int, vocabulary: int, length: int, seed: int) -> list[list[int]]:
    drawing = random.Random(seed)
    return [[drawing.randrange(10, vocabulary) for _ in range(length)] for _ in range(count)]


def _play_engine(model, config: BenchmarkConfig, count: int) -> float:
    from training.engine import PolicyEngine, SamplingParams

    engine = PolicyEngine(model)
    vocabulary = model.config.vocab_size

    async def dialogue(number: int) -> None:
        ids: list[int] = []
        for turn in range(config.turns):
            ids = ids + _contexts(1, vocabulary, config.read, 1000 * number + turn)[0]
            params = SamplingParams(max_tokens=config.write, seed=turn)
            ids = ids + (await engine.generate(ids, params)).token_ids

    async def play() -> float:
        started = time.perf_counter()
        await asyncio.gather(*(dialogue(number) for number in range(count)))
        return count * config.turns * config.write / (time.perf_counter() - started)

    return asyncio.run(play())


def _play_generate(model, config: BenchmarkConfig, count: int) -> float:
    import torch

    vocabulary = model.config.vocab_size
    ids = torch.empty((count, 0), dtype=torch.long)
    started = time.perf_counter()
    for turn in range(config.turns):
        heard = [_contexts(1, vocabulary, config.read, 1000 * number + turn)[0] for number in range(count)]
        ids = torch.cat([ids, torch.tensor(heard)], 1)
        with torch.inference_mode():
            ids = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=config.write,
                do_sample=True,
                top_k=0,
                eos_token_id=None,
                pad_token_id=0,
            )
    return count * config.turns * config.write / (time.perf_counter() - started)


if __name__ == "__main__":
    main()
