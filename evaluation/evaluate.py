"""Evaluate a policy: pick goals, play them into a run folder, score, write the reports.

It knows no policy by name: the script hands it one. Scoring again needs no model.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.table import Table

from db.errors import InputError
from evaluation.config import EvalConfig
from evaluation.grounded import grounded
from evaluation.html import view_run, write_html
from evaluation.metrics import Prices
from evaluation.players import OpenPolicy, UserConfig, open_player, pick_goals
from evaluation.processes import play_in_processes
from evaluation.report import Report, build_report, report_table, score_episodes
from evaluation.runner import plan_episodes
from evaluation.runs import RunFiles, start_run, write_atomically
from simulation.endpoint import EndpointConfig
from simulation.policies import Policy
from simulation.records import Episode

COMMAND = "run_eval"


@dataclass(frozen=True)
class Evaluation:
    """A finished evaluation: the numbers and where the files are."""

    label: str
    folder: RunFiles
    report: Report

    def table(self) -> Table:
        """The numbers for the terminal."""
        return report_table({self.label: self.report})


def evaluate(config: EvalConfig, open_policy: OpenPolicy, user_api_key: str | None = None) -> Evaluation:
    """Play what is missing and write the reports.

    :param open_policy: opens the policy of ``config``; picklable when ``config.processes`` is above 1.
    :raises InputError: the configuration cannot be run, or disagrees with what the folder holds.
    """
    config.check()
    user_endpoint = EndpointConfig(
        config.user_model, config.user_base_url, temperature=None, timeout_s=config.timeout_s
    )
    user = UserConfig(config.user, config.wordings, user_endpoint if config.user_model else None, user_api_key)
    plans = plan_episodes(pick_goals(config.goals, config.dialogues, config.seed), config.seed)
    with start_run(config.folder, COMMAND, config.identity(), config.seed) as folder:
        stored = frozenset(episode.policy for episode in folder.episodes())
        try:
            episodes = play_in_processes(
                plans,
                partial(open_player, partial(_open_same, open_policy, stored, folder.path), user),
                processes=config.processes,
                folder=folder,
                concurrency=config.concurrency,
                label=config.policy_name,
                success=grounded_success,
            )
        except KeyboardInterrupt:
            kept = len(folder.episodes())
            raise KeyboardInterrupt(
                f"{kept} of {len(plans)} dialogues are kept in {folder.path}; give the same command to go on"
            ) from None
        return write_reports(folder, episodes, _prices(config))


@asynccontextmanager
async def _open_same(open_policy: OpenPolicy, stored: frozenset[str], path: Path) -> AsyncIterator[Policy]:
    """The policy, unless ``path`` holds dialogues of another: a run trained further since has another name."""
    async with open_policy() as policy:
        for name in stored - {policy.name}:
            raise InputError(
                f"{path} holds dialogues of {name}, and the policy is now {policy.name}: "
                "name another --out, or delete that folder"
            )
        yield policy


def grounded_success(episode: Episode) -> bool:
    """For the progress bar."""
    return grounded(episode).success


def rescore(path: Path, config: EvalConfig) -> Evaluation:
    """Score the stored dialogues in ``path`` again and rewrite its reports; plays nothing, needs no model.

    :param config: whose prices count.
    :raises InputError: ``path`` holds no evaluation.
    """
    folder = RunFiles(path)
    if folder.config().command != COMMAND:
        raise InputError(f"{path} was written by {folder.config().command}: give the folder of an evaluation")
    return write_reports(folder, folder.episodes(), _prices(config))


def write_reports(folder: RunFiles, episodes: list[Episode], prices: Prices | None = None) -> Evaluation:
    """``report.json`` and ``report.html`` of an evaluation's dialogues."""
    config = folder.config()
    if not episodes:
        raise InputError(f"{folder.path} holds no finished dialogue: play some before scoring")
    policy = str(config.config["policy"])
    scored = score_episodes(sorted(episodes, key=lambda each: each.id))
    report = build_report(scored, policy=policy, goals=str(config.config["goals"]), seed=config.seed, prices=prices)
    write_atomically(folder.report_json, report.model_dump_json(indent=2) + "\n")
    write_html(folder.report_html, [view_run(folder, policy, scored)], f"Evaluation of {policy}")
    return Evaluation(policy, folder, report)


def _prices(config: EvalConfig) -> Prices | None:
    if config.prompt_usd is None and config.completion_usd is None:
        return None
    return Prices(prompt=config.prompt_usd or 0.0, completion=config.completion_usd or 0.0)
