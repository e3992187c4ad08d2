"""The table of ``docs/results.md`` from finished evaluations: ``uv run python -m benchmarks.seeds --runs a b c``.

Each run folder is one seed of the recipe. One row for every kind of evaluation that all of them have: the mean over the
seeds with the mean of their 95% intervals, the seeds' own means in brackets, and what failed dialogues failed by. Seeds
play the same goals, so an interval does not shrink with more seeds: it says what other goals would do, the brackets
what other seeds do.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import tyro

from db.errors import InputError
from evaluation.commands import exit_codes
from evaluation.metrics import Summary, score_episode, summarise
from evaluation.runs import RunFiles

SHOWN = {"grounded_success": 3, "success": 3, "exchanges_on_success": 2, "exchanges": 2, "reward": 1}
"""Metric -> decimals."""


@dataclass(frozen=True)
class SeedsConfig:
    """Pool the evaluations of several seeds."""

    runs: tuple[str, ...]
    """Run names, one for each seed."""


def rows(config: SeedsConfig) -> list[str]:
    """Markdown.

    :raises InputError: the runs have no evaluation in common.
    """
    names = [{path.name for path in (Path("runs") / run).glob("eval-*")} for run in config.runs]
    common = sorted(set.intersection(*names)) if names else []
    if not common:
        raise InputError(f"--runs {' '.join(config.runs)} have no evaluation in common: run run_eval.py on each")
    lines = [f"| evaluation | {' | '.join(SHOWN)} | failed by |", "|---" * (len(SHOWN) + 2) + "|"]
    for name in common:
        each = [summarise([score_episode(episode) for episode in _folder(run, name).episodes()]) for run in config.runs]
        cells = [_cell(metric, each) for metric in SHOWN]
        kinds = sum((Counter(seed.failures) for seed in each), Counter[str]())
        failures = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "–"
        dialogues = sum(seed.dialogues for seed in each)
        lines.append(f"| {name.removeprefix('eval-')} ({dialogues}) | {' | '.join(cells)} | {failures} |")
    return lines


def _folder(run: str, name: str) -> RunFiles:
    return RunFiles(Path("runs") / run / name)


def _cell(metric: str, seeds: Sequence[Summary]) -> str:
    found = [seed.metrics[metric] for seed in seeds if metric in seed.metrics]
    if not found:
        return "–"
    mean, low, high = (
        f"{fmean(values):.{SHOWN[metric]}f}"
        for values in zip(*((each.mean, *each.ci95) for each in found), strict=True)
    )
    means = ", ".join(f"{each.mean:.{SHOWN[metric]}f}" for each in found)
    return f"{mean} ({low} to {high}) [{means}]"


def main() -> None:
    config = tyro.cli(SeedsConfig)
    with exit_codes():
        print("\n".join(rows(config)))


if __name__ == "__main__":
    main()
