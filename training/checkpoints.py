"""A policy's checkpoints on disk, in ART's layout: ``checkpoints/NNNN/`` with weights, tokenizer, optimiser.

Promises: a checkpoint is there whole or not at all. It is written under another name and renamed; one that ART copied
itself (when a step is skipped) is told whole by the sizes in its manifest, and a broken one is removed on opening.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from training.manifest import MANIFEST, checkpoint_dir
from training.optimizers import Optimizer

OPTIMIZER = "optimizer.pt"


def save_checkpoint(
    output_dir: Path,
    step: int,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    optimizer: Optimizer | None,
    state: Mapping[str, object] | None = None,
) -> Path:
    """Write the checkpoint of ``step``, replacing a broken one; ``state`` is kept in the manifest."""
    target = checkpoint_dir(output_dir, step)
    draft = target.with_name(f".{target.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    with _without_bars():
        model.save_pretrained(draft)
    tokenizer.save_pretrained(draft)
    if optimizer is not None:
        torch.save(optimizer.state_dict(), draft / OPTIMIZER)
    sizes = {path.name: path.stat().st_size for path in draft.iterdir()}
    (draft / MANIFEST).write_text(json.dumps({"step": step, "sizes": sizes, "state": dict(state or {})}))
    if target.exists():
        shutil.rmtree(target)
    draft.rename(target)
    return target


def load_model(checkpoint: Path, device: str, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """The weights of a checkpoint or of any Hugging Face directory.

    float32 by default: updates of all weights at small learning rates are lost in bfloat16, and older CPUs compute
    it a hundred times slower.
    """
    with _without_bars():
        model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(str(checkpoint), dtype=dtype)
    return model.to(torch.device(device)).eval()  # pyright: ignore[reportArgumentType]


@contextmanager
def _without_bars() -> Iterator[None]:
    """Transformers' own progress bars, which on a small model are only noise, off for a while."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()


def load_optimizer(checkpoint: Path, optimizer: Optimizer) -> bool:
    """Restore ``optimizer`` if the checkpoint has its state."""
    path = checkpoint / OPTIMIZER
    if not path.is_file():
        return False
    optimizer.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    return True


def prune_checkpoints(output_dir: Path, keep: set[int]) -> None:
    """Remove the checkpoints whose steps are not in ``keep``."""
    directory = output_dir / "checkpoints"
    if directory.is_dir():
        for path in directory.iterdir():
            if path.name.isdigit() and int(path.name) not in keep:
                shutil.rmtree(path)
