"""Casework's ``report.json``, the same as a table for the terminal, and as a page that needs no network.

Owns the file's schema. Every metric is over the cases that infrastructure did not break; those count in ``faults``
alone. Intervals are `evaluation.metrics`'s bootstrap, seeded.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from pydantic import BaseModel, ConfigDict
from rich.table import Table

from environments.casework.benchmark import SHA256
from environments.casework.records import CaseEpisode
from environments.casework.requests import CATEGORIES
from environments.casework.reward import SIGNALS
from evaluation.metrics import Metric, bootstrap_mean
from evaluation.runner import is_finished
from evaluation.runs import RunConfig, git_revision, package_versions, write_atomically

MEANINGS: Mapping[str, str] = {
    "resolution": "the database ends right, all was found out, the case was closed rightly",
    "reward": "fourteen signals, 20 at best; docs/casework.md",
    "steps": "actions until the case was closed, 10 at most",
    "policy_breaches": "attempts that policy forbids, per case",
    "format_faults": "outputs that named no action, per case",
}
"""Metric -> what it is, in the order in which reports show them."""

MOST_FAILURES, MOST_SUCCESSES = 100, 40
"""How many cases the page holds; ``episodes.jsonl`` has all."""


class CaseworkMetrics(BaseModel):
    """``None`` where no case defines the metric."""

    model_config = ConfigDict(frozen=True)

    resolution: Metric | None
    reward: Metric | None
    steps: Metric | None
    policy_breaches: Metric | None
    format_faults: Metric | None


class CaseworkReport(BaseModel):
    """``report.json``."""

    model_config = ConfigDict(frozen=True)

    task: str = "casework"
    policy: str
    queries: int
    """All that were played, the broken ones included."""
    set: str
    """The set's hash."""
    seed: int
    metrics: CaseworkMetrics
    categories: dict[str, CaseworkMetrics]
    signals: dict[str, float]
    """Signal -> what it came to per case, on average."""
    gold_steps: float
    """What the cases need on average."""
    faults: dict[str, int]
    versions: dict[str, str]
    """Python, packages, and ``concierge``: the git revision."""


def build_casework_report(episodes: Sequence[CaseEpisode], *, policy: str, queries: int, seed: int) -> CaseworkReport:
    """The numbers of ``episodes``; the same episodes give the same numbers.

    :param queries: the size of the set they were played on.
    :param seed: the run's, which the bootstrap takes too.
    """
    fair = [episode for episode in episodes if is_finished(episode)]
    faults = [episode.fault.who for episode in episodes if episode.fault is not None]
    return CaseworkReport(
        policy=policy,
        queries=len(episodes),
        set=SHA256[queries],
        seed=seed,
        metrics=_metrics(fair, seed),
        categories={name: _metrics([each for each in fair if each.case.category == name], seed) for name in CATEGORIES},
        signals={
            signal: sum(step.signals.get(signal, 0.0) for each in fair for step in each.steps) / max(len(fair), 1)
            for signal in SIGNALS
        },
        gold_steps=sum(len(each.case.gold_actions()) for each in fair) / max(len(fair), 1),
        faults={who: faults.count(who) for who in ("agent", "user", "infrastructure")},
        versions=package_versions() | {"concierge": git_revision()},
    )


def casework_table(label: str, report: CaseworkReport) -> Table:
    """The report as a table: all cases, then each category."""
    table = Table(label, *(name.replace("_", " ") for name in MEANINGS))
    table.columns[0].no_wrap = True
    table.add_row(f"all {report.queries}", *_cells(report.metrics, interval=True), end_section=True)
    for category, metrics in report.categories.items():
        table.add_row(category, *_cells(metrics, interval=False))
    return table


def write_casework_html(path: Path, report: CaseworkReport, episodes: Sequence[CaseEpisode], config: RunConfig) -> Path:
    """Write the page of one evaluation to ``path``: metrics by category, signals, and cases, failures first."""
    failures = [each for each in episodes if not each.resolved][:MOST_FAILURES]
    successes = [each for each in episodes if each.resolved][:MOST_SUCCESSES]
    rows = {f"all {report.queries}": report.metrics, **report.categories}
    page = _template().render(
        title=f"Casework: {report.policy}",
        report=report,
        meanings=MEANINGS,
        rows={name: _cells(metrics, interval=False) for name, metrics in rows.items()},
        intervals=_cells(report.metrics, interval=True),
        episodes=[*failures, *successes],
        total=len(episodes),
        config=config,
    )
    return write_atomically(path, page)


def _metrics(episodes: Sequence[CaseEpisode], seed: int) -> CaseworkMetrics:
    return CaseworkMetrics(
        resolution=bootstrap_mean([float(each.resolved) for each in episodes], seed),
        reward=bootstrap_mean([each.reward for each in episodes], seed),
        steps=bootstrap_mean([float(len(each.steps)) for each in episodes], seed),
        policy_breaches=bootstrap_mean([float(each.breaches) for each in episodes], seed),
        format_faults=bootstrap_mean([float(each.format_faults) for each in episodes], seed),
    )


def _cells(metrics: CaseworkMetrics, interval: bool) -> list[str]:
    cells = []
    for name in MEANINGS:
        value: Metric | None = getattr(metrics, name)
        digits = 2 if name in ("reward", "steps") else 3
        if value is None:
            cells.append("–")
        elif interval:
            low, high = value.ci95
            cells.append(f"{value.mean:.{digits}f}  ({low:.{digits}f} to {high:.{digits}f})")
        else:
            cells.append(f"{value.mean:.{digits}f}")
    return cells


@cache
def _template() -> Template:
    folder = FileSystemLoader(Path(__file__).parent / "templates")
    environment = Environment(
        loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("casework.html.j2")
