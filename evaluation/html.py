"""``report.html``: one self-contained page for one run or several side by side.

Shows metrics with intervals, learning curves and a browser of dialogues with tool calls, reward parts and who is to
blame. The page loads nothing from the network and works without script (script only filters). Numbers come from
`evaluation.report`, lines from `evaluation.charts`; the layout is in ``templates/``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from evaluation.charts import build_charts
from evaluation.metrics import Metric, Percentiles
from evaluation.report import MEANINGS, RATES, Outcome, Report, ScoredEpisode, format_metric, score_episodes
from evaluation.runs import RunConfig, RunFiles, write_atomically
from simulation.records import Episode

MOST_FAILURES, MOST_SUCCESSES = 100, 40
"""How many dialogues of a run the page holds, so that it stays readable on a phone; ``episodes.jsonl`` has all."""

SUCCEEDED: Outcome = "succeeded"


@dataclass(frozen=True)
class RunView:
    """What the page shows of one run; every part but the label may be missing."""

    label: str
    report: Report | None = None
    scored: Sequence[ScoredEpisode] = ()
    metrics: Sequence[dict[str, float]] = ()
    """Rows of ``metrics.jsonl``."""
    config: RunConfig | None = None


@dataclass(frozen=True)
class Bar:
    """A rate and its interval in percent."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Cell:
    text: str
    interval: str = ""
    bar: Bar | None = None


@dataclass(frozen=True)
class Row:
    name: str
    meaning: str
    cells: list[Cell]


@dataclass(frozen=True)
class TranscriptView:
    """One dialogue as the page shows it; pairs are (name, readable value)."""

    run: str
    episode: Episode
    outcome: Outcome
    reasons: list[str]
    reward: list[tuple[str, str]]
    reward_total: str | None
    scores: list[tuple[str, str]]
    goals: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


def write_html(path: Path, runs: Sequence[RunView], title: str) -> Path:
    """Write the page of ``runs`` (side by side when there are several) to ``path``."""
    return write_atomically(path, render_html(runs, title))


def refresh_curves(folder: RunFiles, title: str) -> Path:
    """Rewrite ``folder``'s page with the learning curves so far; cheap enough to call after each step."""
    return write_html(folder.report_html, [view_run(folder, title)], title)


def compare_runs(
    path: Path, evaluations: Mapping[str, Path], title: str, training: Mapping[str, Path] | None = None
) -> dict[str, Report]:
    """Write a page that shows evaluations side by side; their reports by label.

    :param evaluations: label -> folder of a finished evaluation.
    :param training: label -> run folder whose learning curves are shown as well.
    """
    views = []
    for label, place in evaluations.items():
        folder = RunFiles(place)
        views.append(view_run(folder, label, score_episodes(folder.episodes())))
    views += [RunView(label, metrics=RunFiles(place).metrics()) for label, place in (training or {}).items()]
    write_html(path, views, title)
    return {view.label: view.report for view in views if view.report}


def view_run(folder: RunFiles, label: str, scored: Sequence[ScoredEpisode] = ()) -> RunView:
    """What a run folder holds: its report if there is one, its metrics, its configuration."""
    report = None
    if folder.report_json.exists():
        report = Report.model_validate_json(folder.report_json.read_text(encoding="utf-8"))
    return RunView(label, report, scored, folder.metrics(), folder.config())


def render_html(runs: Sequence[RunView], title: str) -> str:
    """The page as text."""
    transcripts = sorted(
        (transcript for run in runs for transcript in _transcripts(run)), key=lambda each: each.outcome == SUCCEEDED
    )
    total = sum(len(run.scored) for run in runs)
    return _template().render(
        title=title,
        runs=runs,
        table=_table([run.report for run in runs if run.report]),
        charts=build_charts({run.label: run.metrics for run in runs}),
        transcripts=transcripts,
        shown_of=f"{len(transcripts)} of {total} dialogues, failures first.",
        outcomes=sorted({each.outcome for each in transcripts}),
    )


@cache
def _template() -> Template:
    folder = FileSystemLoader(Path(__file__).parent / "templates")
    environment = Environment(
        loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("report.html.j2")


def _table(reports: Sequence[Report]) -> list[Row]:
    if not reports:
        return []
    rows = [
        Row(name.replace("_", " "), meaning, [_cell(name, getattr(report.metrics, name)) for report in reports])
        for name, meaning in MEANINGS.items()
    ]
    return [row for row in rows if any(cell.interval for cell in row.cells)]


def _cell(name: str, value: Metric | Percentiles | None) -> Cell:
    text, interval = format_metric(name, value)
    bar = None
    if name in RATES and isinstance(value, Metric):
        low, high = value.ci95
        bar = Bar(round(100 * value.mean, 1), round(100 * low, 1), round(100 * high, 1))
    return Cell(text, interval, bar)


def _transcripts(run: RunView) -> list[TranscriptView]:
    failures = [each for each in run.scored if each.outcome != SUCCEEDED][:MOST_FAILURES]
    successes = [each for each in run.scored if each.outcome == SUCCEEDED][:MOST_SUCCESSES]
    return [_transcript(run.label, scored) for scored in failures + successes]


def _transcript(run: str, scored: ScoredEpisode) -> TranscriptView:
    score, episode = scored.score, scored.episode
    reward = score.reward.model_dump() | {"total": score.reward.total} if score.reward else {}
    fair = score.reward is not None
    measured = {"grounded success": score.grounded.success} | score.official.model_dump() if fair else {}
    return TranscriptView(
        run=run,
        episode=episode,
        outcome=scored.outcome,
        reasons=[] if scored.outcome != "agent failed" else list(score.grounded.failures),
        reward=[(name, _readable(value)) for name, value in reward.items()],
        reward_total=_readable(score.reward.total) if score.reward else None,
        scores=[(name.replace("_", " "), _readable(value)) for name, value in measured.items() if value is not None],
        goals={
            domain: [(part.replace("_", " "), _readable(value)) for part, value in wanted if value]
            for domain, wanted in episode.goal.domains.items()
        },
    )


def _readable(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
