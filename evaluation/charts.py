"""Learning curves as inline SVG: no script, no network, colours from the page's style sheet.

Owns which metrics are shown together and how a line is drawn; knows nothing of where the rows come from. A series is
told by its dashes as well as by its colour, and every chart says in words where each line starts and ends.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

FIRST = (
    "success",
    "grounded_success",
    "exchanges",
    "reward",
    "tool_error_rate",
    "tool_errors",
    "entropy",
    "kl",
    "clip_fraction",
    "probs_corr",
    "loss",
    "learning_rate",
)
"""Metrics that lead, in this order, each with those whose names begin with its own; the others follow by name."""
STAGES = frozenset({"train", "val", "test"})
"""``loss/train`` is the metric ``loss`` of the stage ``train``, as ``train/reward`` is ``reward``."""
LOW, HIGH = "_low", "_high"
"""``reward_low`` and ``reward_high`` are the ends of an interval and drawn as a band around ``reward``."""
HIDDEN = frozenset({"step", "time", "recorded_at"})

WIDTH, HEIGHT = 320, 170
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 22
MOST_POINTS = 200


@dataclass(frozen=True)
class Series:
    """One line: ``points`` are (step, value) in order of step."""

    label: str
    points: list[tuple[float, float]]
    low: list[tuple[float, float]] = field(default_factory=list)
    """The lower ends of the intervals, where there are any; as many as ``high``, at the same steps."""
    high: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Chart:
    """One metric, a line per run or stage."""

    title: str
    series: list[Series]
    svg: str
    summary: str
    """The same in words."""

    @property
    def banded(self) -> bool:
        """Whether intervals are drawn."""
        return any(line.low for line in self.series)


def build_charts(runs: Mapping[str, Sequence[Mapping[str, object]]]) -> list[Chart]:
    """A chart per metric from the rows of each run's ``metrics.jsonl``.

    The part of a name before its last slash is the stage: ``val/reward`` and ``train/reward`` share a chart. Intervals
    (``LOW``, ``HIGH``) belong to the chart of their metric.
    """
    lines: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for run, rows in runs.items():
        for number, row in enumerate(rows):
            step = _number(row.get("step"))
            for name, value in row.items():
                y = _number(value)
                if y is None or name in HIDDEN:
                    continue
                stage, _, metric = name.rpartition("/")
                if metric in STAGES and stage:
                    stage, metric = metric, stage
                label = " ".join(part for part in (run if len(runs) > 1 else "", stage) if part) or run
                points = lines.setdefault(metric, {}).setdefault(label, [])
                points.append((number if step is None else step, y))
    ends = {metric for metric in lines if metric.endswith((LOW, HIGH)) and metric.rsplit("_", 1)[0] in lines}
    return [_chart(metric, lines) for metric in sorted(lines.keys() - ends, key=_order)]


def _order(metric: str) -> tuple[int, str]:
    places = [place for place, known in enumerate(FIRST) if metric == known or metric.startswith(f"{known}_")]
    return (places[0] if places else len(FIRST), metric)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _chart(metric: str, lines: Mapping[str, Mapping[str, list[tuple[float, float]]]]) -> Chart:
    series = []
    for label, points in lines[metric].items():
        low, high = (lines.get(metric + end, {}).get(label, []) for end in (LOW, HIGH))
        band = (thin(low), thin(high)) if [step for step, _ in low] == [step for step, _ in high] else ([], [])
        series.append(Series(label, thin(points), *band))
    summary = "; ".join(f"{line.label}: {_in_words(line, 0)}, {_in_words(line, -1)}" for line in series)
    return Chart(metric, series, line_chart(metric, series, summary), summary)


def _in_words(line: Series, place: int) -> str:
    step, value = line.points[place]
    words = f"{format_number(value)} at step {format_number(step)}"
    if line.low and line.low[place][0] == step:
        low, high = line.low[place][1], line.high[place][1]
        words += f" ({format_number(low)} to {format_number(high)})"
    return words


def thin(points: Sequence[tuple[float, float]], most: int = MOST_POINTS) -> list[tuple[float, float]]:
    """At most ``most`` points: means over equal stretches, first and last step kept."""
    if len(points) <= most:
        return list(points)
    edges = [round(index * len(points) / most) for index in range(most + 1)]
    means = []
    for start, end in pairwise(edges):
        stretch = points[start:end]
        means.append((stretch[len(stretch) // 2][0], math.fsum(y for _, y in stretch) / len(stretch)))
    return [(points[0][0], means[0][1]), *means[1:-1], (points[-1][0], means[-1][1])]


def line_chart(title: str, series: Sequence[Series], summary: str) -> str:
    """An ``<svg>`` of the lines, their intervals as bands behind them, a value axis and the first and last step."""
    xs = [x for line in series for x, _ in line.points]
    ys = [y for line in series for _, y in [*line.points, *line.low, *line.high]]
    (x0, x1), ticks = (min(xs), max(xs)), value_ticks(min(ys), max(ys))
    low, high = ticks[0], ticks[-1]

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - x0) / (x1 - x0) if x1 > x0 else 0.5
        up = (y - low) / (high - low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(f"{title}. {summary}")}">',
    ]
    for tick in ticks:
        _, y = place(x0, tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{format_number(tick)}</text>')
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 6}">{format_number(x0)}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">step {format_number(x1)}</text>')
    for number, line in enumerate(series):
        if line.low:
            edge = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*end) for end in [*line.low, *line.high[::-1]]))
            parts.append(f'<polygon class="band s{number % 4}" points="{edge}"/>')
    for number, line in enumerate(series):
        places = [place(x, y) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline class="line s{number % 4}" points="{path}"/>')
        parts.append(f'<circle class="dot s{number % 4}" cx="{places[-1][0]:.1f}" cy="{places[-1][1]:.1f}" r="3"/>')
    return "".join([*parts, "</svg>"])


def value_ticks(low: float, high: float) -> list[float]:
    """Three to five round values that enclose both."""
    if high == low:
        margin = abs(low) * 0.1 or 1.0
        low, high = low - margin, high + margin
    rough = (high - low) / 3
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [index * step for index in range(first, last + 1)]


def format_number(value: float) -> str:
    """Four significant digits at most, no trailing zeros, no negative zero."""
    text = f"{value + 0.0:.4g}" if value else "0"
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    return f"{mantissa}e{int(exponent)}" if abs(value) < 1 else f"{value:,.0f}"
