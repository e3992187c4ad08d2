"""The GPU profile: ART's own ``LocalBackend`` (Unsloth and vLLM) with a LoRA adapter on Qwen2.5-14B-Instruct.

Owns the configuration and the checks before it. Never run on a GPU yet: it configures, and it says in one line what a
machine lacks. ART starts vLLM by itself: it installs the project bundled in its wheel on first use (Python 3.12 and the
network needed), unless ``ART_VLLM_RUNTIME_BIN`` names a runtime that is there already.
"""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import art

from db.errors import InputError
from training.asyncio_guard import asyncio_left_alone
from training.locations import MODEL_NAME, PROJECT, check_device

if TYPE_CHECKING:
    from art.local.backend import LocalBackend

BASE_MODEL = "Qwen/Qwen2.5-14B-Instruct"
MAX_SEQUENCE = 8192
LORA_RANK = 16


def check_gpu() -> None:
    """:raises InputError: this machine cannot run the profile; the message says what it lacks and what to do."""
    check_device("gpu")
    if importlib.util.find_spec("unsloth") is None:
        raise InputError(
            "--profile gpu needs the train extra: uv sync --no-default-groups --group dev --extra train, "
            "then uv run --no-sync with the same command"
        )


def build_gpu_model() -> art.TrainableModel:
    """The model as ART trains it: 4-bit base weights, a LoRA adapter on all linear layers."""
    return art.TrainableModel(
        name=MODEL_NAME,
        project=PROJECT,
        base_model=BASE_MODEL,
        report_metrics=[],
        _internal_config=art.dev.InternalModelConfig(
            init_args=art.dev.InitArgs(max_seq_length=MAX_SEQUENCE, load_in_4bit=True),
            peft_args=art.dev.PeftArgs(r=LORA_RANK, lora_alpha=LORA_RANK),
            engine_args=art.dev.EngineArgs(max_logprobs=1, enable_prefix_caching=True),
        ),
    )


def build_gpu_backend(path: Path) -> "LocalBackend":
    """ART's backend, its projects below ``path``.

    :raises InputError: this machine cannot run it.
    """
    check_gpu()
    with asyncio_left_alone():
        from art.local.backend import LocalBackend
    return LocalBackend(path=str(path))
