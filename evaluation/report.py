"""``report.json``: what a set of episodes says about a policy, and the same as a table for the terminal.

Owns the file's schema and who is to blame for a failure. The numbers are `evaluation.metrics`'s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from rich.table import Table

from evaluation.metrics import EpisodeScore, Metric, Percentiles, Prices, score_episode, summarise
from evaluation.runs import git_revision, package_versions
from simulation.records import Episode

MEANINGS: Mapping[str, str] = {
    "success": "ConvLab's evaluator: right venue, right answers, right booking",
    "grounded_success": "the database ends right, and the user was told the truth",
    "complete": "ConvLab's evaluator: everything answered and booked",
    "book_rate": "ConvLab's evaluator: bookings that fit the goal",
    "inform_f1": "ConvLab's evaluator: requested facts that were told",
    "exchanges": "the user speaks, the agent answers",
    "exchanges_on_success": "of the dialogues with grounded success",
    "turns": "ConvLab's count, two an exchange",
    "reward": "1 off per exchange, +80 for grounded success, -40 else",
    "llm_calls": "completions in a dialogue",
    "prompt_tokens": "in a dialogue, as the server counts them",
    "completion_tokens": "in a dialogue, as the server counts them",
    "latency_s": "seconds for one completion, median",
    "cost_usd": "for a dialogue, at the given prices",
}
"""Metric -> what it is, in the order in which reports show them."""

RATES = frozenset({"success", "grounded_success", "complete", "book_rate", "inform_f1"})
"""Metrics between 0 and 1."""

Outcome = Literal["succeeded", "agent failed", "user broke", "infrastructure broke"]


class ReportMetrics(BaseModel):
    """``None`` where no dialogue defines the metric (nothing to book, no price given, no model called)."""

    model_config = ConfigDict(frozen=True)

    success: Metric | None
    grounded_success: Metric | None
    complete: Metric | None
    book_rate: Metric | None
    inform_f1: Metric | None
    exchanges: Metric | None
    exchanges_on_success: Metric | None = None
    turns: Metric | None
    reward: Metric | None
    llm_calls: Metric | None
    prompt_tokens: Metric | None
    completion_tokens: Metric | None
    latency_s: Percentiles | None
    """Per completion, not per dialogue."""
    cost_usd: Metric | None


class Report(BaseModel):
    """``report.json``."""

    model_config = ConfigDict(frozen=True)

    task: str = "multiwoz"
    policy: str
    dialogues: int
    """All that were played, the broken ones included."""
    seed: int
    goals: str
    metrics: ReportMetrics
    faults: dict[str, int]
    failures: dict[str, int] = Field(default_factory=dict, exclude=True)
    """Kind of reason against grounded success -> dialogues with it (``evaluation.grounded``). For the terminal: the
    file's fields are fixed."""
    versions: dict[str, str]
    """Python, packages, and ``concierge``: the git revision."""


@dataclass(frozen=True)
class ScoredEpisode:
    """An episode and all that was measured of it."""

    episode: Episode
    score: EpisodeScore

    @property
    def outcome(self) -> Outcome:
        """Whether it succeeded, and whose doing it is if not."""
        if self.score.fault == "infrastructure":
            return "infrastructure broke"
        if self.score.fault == "user":
            return "user broke"
        return "succeeded" if self.score.grounded.success else "agent failed"


def score_episodes(episodes: Sequence[Episode]) -> list[ScoredEpisode]:
    """Score stored episodes; needs no model."""
    return [ScoredEpisode(episode, score_episode(episode)) for episode in episodes]


def build_report(
    scored: Sequence[ScoredEpisode], *, policy: str, goals: str, seed: int, prices: Prices | None = None
) -> Report:
    """The numbers of ``scored``; the same episodes give the same numbers.

    :param seed: the run's, which the bootstrap takes too.
    """
    summary = summarise([each.score for each in scored], seed, prices)
    values: dict[str, Metric | Percentiles | None] = {**summary.metrics, "latency_s": summary.latency_s}
    return Report(
        policy=policy,
        dialogues=summary.dialogues,
        seed=seed,
        goals=goals,
        metrics=ReportMetrics.model_validate({name: values.get(name) for name in ReportMetrics.model_fields}),
        faults=summary.faults,
        failures=summary.failures,
        versions=package_versions() | {"concierge": git_revision()},
    )


def report_table(reports: Mapping[str, Report]) -> Table:
    """The reports side by side, a column each."""
    table = Table("metric", *reports)
    for name in MEANINGS:
        cells = [format_metric(name, getattr(report.metrics, name)) for report in reports.values()]
        if any(cell != ("–", "") for cell in cells):
            table.add_row(name, *(f"{text}  [dim]{interval}[/dim]" if interval else text for text, interval in cells))
    faults = [", ".join(f"{who} {count}" for who, count in report.faults.items()) for report in reports.values()]
    table.add_row("faults", *faults)
    failures = [", ".join(f"{kind} {count}" for kind, count in report.failures.items()) for report in reports.values()]
    if any(failures):
        table.add_row("dialogues that failed by", *failures)
    return table


def format_metric(name: str, value: Metric | Percentiles | None) -> tuple[str, str]:
    """A value and its interval as people read them; a dash where it is undefined."""
    if value is None:
        return "–", ""
    if isinstance(value, Percentiles):
        return f"{value.p50:.3g} s", f"95% within {value.p95:.3g} s"
    digits = 3 if name in RATES else 5 if name == "cost_usd" else 2
    low, high = value.ci95
    return f"{value.mean:,.{digits}f}", f"{low:,.{digits}f} to {high:,.{digits}f}"
