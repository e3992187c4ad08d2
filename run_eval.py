"""Evaluate a policy: ``uv run run_eval.py --policy scripted --dialogues 200``, or ``--task casework --policy gold``."""

import os
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

import tyro

from evaluation.commands import exit_codes
from evaluation.config import EvalConfig
from simulation.endpoint import PREFIX, open_endpoint

if TYPE_CHECKING:
    from simulation.policies import Policy


def open_policy(config: EvalConfig, api_key: str | None) -> "AbstractAsyncContextManager[Policy]":
    """The policy that ``--policy`` names."""
    if config.policy == "scripted":
        from simulation.policies import ScriptedPolicy

        return nullcontext(ScriptedPolicy())
    if config.policy.startswith(PREFIX):
        return open_endpoint(config.endpoint, api_key)
    from training.stages import quiet

    quiet()
    from training import policies

    return policies.open_policy(config.policy_name, config.profile, config.seed, config.run)


def main(arguments: Sequence[str] | None = None) -> None:
    config = tyro.cli(EvalConfig, args=arguments)
    with exit_codes():
        config.check()
        from rich.console import Console

        api_key = os.environ.get("OPENAI_API_KEY")
        if config.task == "casework":
            from evaluation.casework import evaluate_casework, rescore_casework
            from training.casework_policies import open_case_policy

            if config.rescore:
                done = rescore_casework(config.rescore)
            else:
                done = evaluate_casework(config, partial(open_case_policy, config, api_key))
        else:
            from evaluation.evaluate import evaluate, rescore  # after the options: it takes seconds to import

            if config.rescore:
                done = rescore(config.rescore, config)
            else:
                done = evaluate(config, partial(open_policy, config, api_key), os.environ.get("USER_API_KEY", api_key))
    console = Console()
    console.print(done.table())
    console.print(f"Report: {done.folder.report_html}", soft_wrap=True)


if __name__ == "__main__":
    main()
