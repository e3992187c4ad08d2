# /// script
# requires-python = ">=3.11"
# dependencies = ["trl==1.16.0", "torch==2.13.0", "transformers==5.2.0"]
# ///
"""One optimiser step of TRL's ``GRPOTrainer`` on given rows: ``uv run benchmarks/trl_peer.py CHECKPOINT ROWS THREADS``.

Runs alone, in an environment of its own (uv reads the block above), with the torch and transformers of this project.
``ROWS`` is a JSON list of ``{"ids", "trained"}``. What is made equal: the rows, to the token, handed over by
``rollout_func`` with TRL's ``env_mask`` for what was not sampled, so that TRL too computes a dialogue's shared prefix
once; CISPO, no KL, one AdamW step, float32, no gradient checkpointing, nothing saved. What TRL keeps is its own: it
makes a row a prompt and a completion and pads both to the longest. Of several sizes of its micro-batch the fastest
counts. Printed: a JSON object, micro-batch -> CPU seconds of the fastest step after the first.
"""

import json
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.update(HF_HUB_OFFLINE="1", TRL_EXPERIMENTAL_SILENCE="1", TQDM_DISABLE="1", TOKENIZERS_PARALLELISM="false")

import torch
from datasets import Dataset  # pyright: ignore[reportMissingImports]
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer  # pyright: ignore[reportMissingImports]

STEPS = 3
GENERATIONS = 2
"""Rows in one of TRL's groups: the fewest it takes."""


class Clock(TrainerCallback):
    """CPU time of each step, from its sampling (none here) to its update."""

    def __init__(self) -> None:
        self.took: list[float] = []
        self._started = 0.0

    def on_step_begin(self, *_: object, **__: object) -> None:
        self._started = time.process_time()

    def on_step_end(self, *_: object, **__: object) -> None:
        self.took.append(time.process_time() - self._started)


def step_s(checkpoint: str, rows: list[dict[str, list[int]]], micro_batch: int) -> float:
    """CPU seconds of one step."""
    starts = [row["trained"].index(1) for row in rows]

    def rollouts(prompts: list[str], trainer: object) -> dict[str, list[list[int]] | list[list[float]]]:
        return {
            "prompt_ids": [row["ids"][:start] for row, start in zip(rows, starts, strict=True)],
            "completion_ids": [row["ids"][start:] for row, start in zip(rows, starts, strict=True)],
            "env_mask": [row["trained"][start:] for row, start in zip(rows, starts, strict=True)],
            "logprobs": [[0.0] * (len(row["ids"]) - start) for row, start in zip(rows, starts, strict=True)],
        }

    def alternate(completions: list[str], **_: object) -> list[float]:
        return [float(number % GENERATIONS) for number in range(len(completions))]

    clock = Clock()
    with TemporaryDirectory() as scratch:
        trainer = GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32),
            processing_class=AutoTokenizer.from_pretrained(checkpoint),
            reward_funcs=alternate,
            rollout_func=rollouts,
            train_dataset=Dataset.from_dict({"prompt": [str(each) for each in range(len(rows) // GENERATIONS)]}),
            callbacks=[clock],
            args=GRPOConfig(
                output_dir=scratch,
                per_device_train_batch_size=micro_batch,
                gradient_accumulation_steps=len(rows) // micro_batch,
                num_generations=GENERATIONS,
                max_steps=STEPS,
                learning_rate=1e-6,
                loss_type="cispo",
                epsilon_high=4.0,
                beta=0.0,
                bf16=False,
                use_cpu=True,
                gradient_checkpointing=False,
                max_grad_norm=1.0,
                report_to="none",
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
            ),
        )
        trainer.train()
    return min(clock.took[1:])


def main() -> None:
    checkpoint, rows, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    loaded = json.loads(Path(rows).read_text(encoding="utf-8"))
    sizes = sorted({size for size in (8, 16) if size <= len(loaded) and len(loaded) % size == 0})
    sys.stdout.write(json.dumps({size: step_s(checkpoint, loaded, size) for size in sizes}) + "\n")


if __name__ == "__main__":
    main()
