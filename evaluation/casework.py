"""Evaluate a casework policy on a fixed set of queries: play what is missing into a run folder, write the reports.

It knows no policy by name: the script hands it one. The run folder is as the first task's, with ``CaseEpisode`` lines.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from rich.table import Table

from db.errors import InputError
from db.support_world import SupportWorlds
from environments.casework.benchmark import load_queries
from environments.casework.cases import Case
from environments.casework.episode import play_case
from environments.casework.policies import Policy
from environments.casework.records import CaseEpisode
from evaluation.casework_report import CaseworkReport, build_casework_report, casework_table, write_casework_html
from evaluation.config import EvalConfig
from evaluation.runner import Progress, episode_seed, is_finished
from evaluation.runs import RunFiles, RunFolder, read_lines, start_run, write_atomically

COMMAND = "run_eval"

OpenCasePolicy = Callable[[], AbstractAsyncContextManager[Policy]]


@dataclass(frozen=True)
class CaseworkEvaluation:
    """A finished evaluation: the numbers and where the files are."""

    label: str
    folder: RunFiles
    report: CaseworkReport

    def table(self) -> Table:
        """The numbers for the terminal."""
        return casework_table(self.label, self.report)


def evaluate_casework(config: EvalConfig, open_policy: OpenCasePolicy) -> CaseworkEvaluation:
    """Play what is missing and write the reports.

    :raises InputError: the configuration cannot be run, or disagrees with what the folder holds.
    """
    config.check()
    cases = load_queries(config.queries)
    opened = open_policy()  # before the folder is made: it may be that there is no such policy
    with start_run(config.folder, COMMAND, config.identity(), config.seed) as folder:
        try:
            asyncio.run(
                play_missing(
                    folder,
                    cases,
                    opened,
                    label=config.policy_name,
                    seed=config.seed,
                    concurrency=config.concurrency,
                )
            )
        except KeyboardInterrupt:
            kept = len(read_episodes(folder.path))
            raise KeyboardInterrupt(
                f"{kept} of {len(cases)} cases are kept in {folder.path}; give the same command to go on"
            ) from None
        return write_casework_reports(folder)


def rescore_casework(path: Path) -> CaseworkEvaluation:
    """Write the reports of the stored cases in ``path`` again; plays nothing, needs no model.

    :raises InputError: ``path`` holds no evaluation of casework.
    """
    folder = RunFiles(path)
    if folder.config().command != COMMAND or folder.config().config.get("task") != "casework":
        raise InputError(f"{path} holds no evaluation of casework: give the folder of one")
    return write_casework_reports(folder)


def write_casework_reports(folder: RunFiles) -> CaseworkEvaluation:
    """``report.json`` and ``report.html`` of an evaluation's cases."""
    config = folder.config()
    episodes = sorted(read_episodes(folder.path), key=lambda each: each.id)
    if not episodes:
        raise InputError(f"{folder.path} holds no finished case: play some before scoring")
    policy = str(config.config["policy"])
    report = build_casework_report(
        episodes, policy=policy, queries=int(str(config.config["queries"])), seed=config.seed
    )
    write_atomically(folder.report_json, report.model_dump_json(indent=2) + "\n")
    write_casework_html(folder.report_html, report, episodes, config)
    return CaseworkEvaluation(policy, folder, report)


def read_episodes(path: Path) -> list[CaseEpisode]:
    """The stored cases of a run folder, each once; a later line replaces an earlier one.

    :raises InputError: a line other than a torn last one is no case.
    """
    found: dict[str, CaseEpisode] = {}
    for number, line in read_lines(path / "episodes.jsonl"):
        try:
            episode = CaseEpisode.model_validate_json(line)
        except ValidationError:
            raise InputError(f"{path / 'episodes.jsonl'} line {number} is no case: delete that line to go on") from None
        found[episode.id] = episode
    return list(found.values())


async def play_missing(
    folder: RunFolder,
    cases: Sequence[Case],
    opened: AbstractAsyncContextManager[Policy],
    *,
    label: str,
    seed: int,
    concurrency: int,
) -> list[CaseEpisode]:
    """Play what ``folder`` does not hold yet; the episodes of all ``cases``, in their order.

    :raises InputError: the folder holds cases that another policy played, or infrastructure breaks everything.
    """
    wanted = {case.id for case in cases}
    stored = [each for each in read_episodes(folder.path) if is_finished(each) and each.case.id in wanted]
    finished = {episode.case.id: episode for episode in stored}
    async with opened as policy:
        for name in {episode.policy for episode in stored} - {policy.name}:
            raise InputError(
                f"{folder.path} holds cases of {name}, and the policy is now {policy.name}: "
                "name another folder, or delete that one"
            )
        bar = Progress(len(cases), [], label, None, show=True, unit="case")
        for episode in stored:
            bar.add(episode, episode.resolved)
        try:
            played = await play_cases(
                [case for case in cases if case.id not in finished],
                policy,
                seed=seed,
                concurrency=concurrency,
                finished=lambda episode: _keep(folder, bar, episode),
            )
        finally:
            bar.close()
    finished |= {episode.case.id: episode for episode in played}
    return [finished[case.id] for case in cases]


def _keep(folder: RunFolder, bar: Progress, episode: CaseEpisode) -> None:
    folder.append_episode(episode.model_dump_json())
    bar.add(episode, episode.resolved if is_finished(episode) else None)


async def play_cases(
    cases: Sequence[Case],
    policy: Policy,
    *,
    seed: int,
    concurrency: int,
    finished: Callable[[CaseEpisode], None] = lambda episode: None,
) -> list[CaseEpisode]:
    """Every case once, ``concurrency`` at a time, in the order of ``cases``; the same seed gives the same episodes.

    :param finished: told of each episode as it ends.
    """
    worlds = SupportWorlds()
    played: dict[str, CaseEpisode] = {}
    waiting = iter(cases)

    async def work() -> None:
        for case in waiting:
            episode = await play_case(case, policy, worlds, episode_seed(seed, f"{case.id}#0"))
            played[case.id] = episode
            finished(episode)

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(concurrency, len(cases))):
                workers.create_task(work())
    except ExceptionGroup as group:
        known = (error for error in group.exceptions if isinstance(error, InputError))
        raise next(known, group.exceptions[0]) from None
    return [played[case.id] for case in cases]
