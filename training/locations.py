"""Where a run keeps what: ``runs/RUN/collect`` -> ``sft`` -> ``grpo``, and the weights that a policy's name means.

Light on purpose: bad input must not wait for torch or ART.
"""

from pathlib import Path
from typing import Literal, get_args

from db.errors import InputError
from training.manifest import latest_checkpoint

SFT_FILE = "sft.jsonl"
PROJECT, MODEL_NAME = "concierge", "policy"
"""ART's names for what is trained; its folders are called so."""

Profile = Literal["cpu", "gpu"]
Stage = Literal["collect", "sft", "grpo"]


def stage_folder(run: str, stage: Stage) -> Path:
    """``runs/RUN/STAGE``.

    :raises InputError: ``run`` is no plain folder name.
    """
    if not run or "/" in run or run.startswith("."):
        raise InputError(f"--run {run!r} is no folder name: use letters, digits, - and _")
    return Path("runs") / run / stage


def collected(run: str) -> Path:
    """The dialogues of a run's collection.

    :raises InputError: there are none.
    """
    path = stage_folder(run, "collect") / SFT_FILE
    if not path.exists():
        raise InputError(f"no dialogues at {path}: run collect_sft.py --run {run} first")
    return path


def check_device(profile: Profile) -> None:
    """:raises InputError: ``profile`` needs a device that this machine lacks."""
    if profile == "gpu":
        import torch  # takes seconds, which the CPU profile's checks need not wait for

        if not torch.cuda.is_available():
            raise InputError("--profile gpu needs an NVIDIA GPU, and torch finds none here: use --profile cpu")


def device_of(profile: Profile) -> str:
    """The torch device of ``profile``.

    :raises InputError: this machine has none.
    """
    check_device(profile)
    return "cuda" if profile == "gpu" else "cpu"


def find_checkpoint(name: str, run: str = "") -> Path:
    """The directory of weights that ``name`` means: ``untrained``, ``sft``, ``grpo`` (of ``run``), RUN or RUN/STAGE.

    :raises InputError: nothing was trained under that name.
    """
    stages = ("untrained", "sft", "grpo")
    where, _, stage = (run, "", name) if name in stages else name.partition("/")
    if stage not in ("", *stages):
        raise InputError(f"--policy {name} is unknown: give RUN, RUN/sft, RUN/grpo or RUN/untrained")
    if stage == "untrained":
        base = base_dir(where)
        if (base / "config.json").exists():
            return base
    else:
        wanted: tuple[Stage, ...] = ("grpo", "sft") if not stage else tuple(s for s in get_args(Stage) if s == stage)
        for candidate in wanted:
            found = latest_checkpoint(model_dir(where, candidate))
            if found is not None and found[0] > 0:
                return found[1]
    raise InputError(f"no policy {name!r} in runs/{where or '?'}: name a run trained by run_sft.py, or scripted")


def base_dir(run: str) -> Path:
    """Where the untrained model of a run lies."""
    return stage_folder(run, "sft") / "base"


def model_dir(run: str, stage: Stage) -> Path:
    """Where ART keeps a stage's model: ``checkpoints/NNNN`` below it."""
    return art_dir(run, stage) / PROJECT / "models" / MODEL_NAME


def art_dir(run: str, stage: Stage) -> Path:
    """ART's folder of a stage."""
    return stage_folder(run, stage) / "art"
