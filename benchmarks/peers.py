"""Other trainers and samplers on the same work, each in an environment of its own that uv builds from its script.

``trl_peer`` and ``vllm_peer`` say what is made equal. Nothing of them is a dependency of this project: the first run
downloads them (vLLM's CPU build, TRL, each with torch), later ones take them from uv's cache.
"""

import json
import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import JsonValue

from training.packing import Row

HERE = Path(__file__).parent
TIMEOUT_S = 1800


class PeerError(RuntimeError):
    """A peer could not be installed or run; the message ends as its output did."""


def trl_step_s(checkpoint: Path, rows: Sequence[Row], threads: int) -> dict[int, float]:
    """CPU seconds of TRL's step on ``rows``, by its micro-batch.

    :raises PeerError: TRL could not be run.
    """
    told = [{"ids": row.ids, "trained": [int(each) for each in row.trained]} for row in rows]
    found = _run("trl_peer.py", checkpoint, told, threads)
    return {int(size): took for size, took in found.items()}


def vllm_tokens_per_s(checkpoint: Path, workload: Mapping[str, object], threads: int) -> dict[int, float]:
    """Tokens per CPU second of vLLM, by dialogues at once.

    :param workload: as ``vllm_peer`` describes it.
    :raises PeerError: vLLM could not be run.
    """
    return {int(count): speed for count, speed in _run("vllm_peer.py", checkpoint, workload, threads).items()}


def fair_sample(rows: Sequence[Row], count: int) -> list[Row]:
    """At most ``count`` rows, drawn at random, as many as TRL's micro-batches of 16 divide."""
    drawn = list(rows)
    random.Random("peers").shuffle(drawn)
    return drawn[: min(count, len(drawn)) // 16 * 16]


def _run(script: str, checkpoint: Path, told: object, threads: int) -> dict[str, float]:
    with TemporaryDirectory() as scratch:
        work = Path(scratch) / "work.json"
        work.write_text(json.dumps(told), encoding="utf-8")
        command = ["uv", "run", "--script", HERE / script, checkpoint.resolve(), work, str(threads)]
        try:
            done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PeerError(str(error)) from None
    if done.returncode:
        raise PeerError(" ".join(done.stderr.split())[-400:])
    found: dict[str, JsonValue] = json.loads(done.stdout.strip().splitlines()[-1])
    return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}
