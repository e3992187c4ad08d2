"""Evaluate a policy on simulated users: ``uv run run_eval.py --policy scripted --dialogues 200``."""

import os
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial

import tyro
from rich.console import Console

from evaluation.commands import exit_codes
from evaluation.evaluate import EvalConfig, evaluate, rescore
from evaluation.report import report_table
from simulation.endpoint import PREFIX, open_endpoint
from simulation.policies import Policy, ScriptedPolicy


def open_policy(config: EvalConfig, api_key: str | None) -> AbstractAsyncContextManager[Policy]:
    """The policy that ``--policy`` names."""
    if config.policy == "scripted":
        return nullcontext(ScriptedPolicy())
    if config.policy.startswith(PREFIX):
        return open_endpoint(config.endpoint, api_key)
    from training import policies  # brings torch, which the others do not need

    return policies.open_policy(config.policy_name, config.profile, config.seed)


def main() -> None:
    config = tyro.cli(EvalConfig)
    with exit_codes():
        if config.rescore:
            done = rescore(config.rescore, config.prices)
        else:
            api_key = os.environ.get("OPENAI_API_KEY")
            user_api_key = os.environ.get("USER_API_KEY", api_key)
            done = evaluate(config, partial(open_policy, config, api_key), user_api_key)
    console = Console()
    console.print(report_table({done.label: done.report}))
    console.print(f"Report: {done.folder.report_html}", soft_wrap=True)


if __name__ == "__main__":
    main()
