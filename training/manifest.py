"""Which checkpoints of a model are there, and whole: files only, without torch."""

import json
import shutil
from pathlib import Path

MANIFEST = "manifest.json"


def checkpoint_dir(output_dir: Path, step: int) -> Path:
    """Where the checkpoint of ``step`` lies."""
    return output_dir / "checkpoints" / f"{step:04d}"


def is_whole(checkpoint: Path) -> bool:
    """Whether every file the manifest names is there in full."""
    try:
        sizes = json.loads((checkpoint / MANIFEST).read_text())["sizes"]
    except (OSError, ValueError, KeyError):
        return False
    return all(
        (checkpoint / name).is_file() and (checkpoint / name).stat().st_size == size for name, size in sizes.items()
    )


def latest_checkpoint(output_dir: Path) -> tuple[int, Path] | None:
    """The newest whole checkpoint; broken ones after it, left by a kill, are removed."""
    directory = output_dir / "checkpoints"
    if not directory.is_dir():
        return None
    for path in sorted((path for path in directory.iterdir() if path.name.isdigit()), key=lambda path: -int(path.name)):
        if is_whole(path):
            return int(path.name), path
        shutil.rmtree(path)
    return None
