"""Step 1 of 4: let a teacher play what is learned from: ``uv run collect_sft.py``, ``... --task casework``."""

import os
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial

import tyro

from agents.config import COMPACT, FULL
from evaluation.commands import exit_codes
from simulation.endpoint import open_endpoint
from simulation.policies import Policy, ScriptedPolicy
from training.stages import CollectConfig, quiet


def open_teacher(config: CollectConfig, api_key: str | None) -> AbstractAsyncContextManager[Policy]:
    """The policy that ``--teacher`` names."""
    if config.teacher == "scripted":
        return nullcontext(ScriptedPolicy(COMPACT if config.profile == "cpu" else FULL, config.piecemeal))
    return open_endpoint(config.endpoint, api_key)


def main() -> None:
    config = tyro.cli(CollectConfig)
    quiet()
    with exit_codes():
        config.check()
        if config.task == "casework":
            from training.casework_collect import collect_casework  # brings torch, which --help does not need

            done = collect_casework(config)
        else:
            from training.collect import collect  # brings ART, which --help does not need

            done = collect(config, partial(open_teacher, config, os.environ.get("OPENAI_API_KEY")))
    print(f"{done.kept} of {done.played} kept: {done.path}")


if __name__ == "__main__":
    main()
