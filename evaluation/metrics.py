"""Numbers over many episodes: means with bootstrap intervals, percentiles of latency, and whose fault failures were.

Every metric is over the dialogues where it is defined: an episode that infrastructure or the user simulator broke
counts in ``faults`` only, book rate needs a goal that books, inform F1 one that asks. Seeded, so that the same
episodes give the same intervals.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from evaluation.grounded import GroundedScore, grounded
from evaluation.official import OfficialScore, official
from evaluation.rewards import RewardParts, reward
from simulation.fixes import ALL_FIXES, Fixes
from simulation.records import Episode

RESAMPLES = 1000


class Metric(BaseModel):
    """A mean and its 95% bootstrap interval (percentile method)."""

    model_config = ConfigDict(frozen=True)

    mean: float
    ci95: tuple[float, float]


class Percentiles(BaseModel):
    """Of a latency, in seconds."""

    model_config = ConfigDict(frozen=True)

    p50: float
    p95: float


class Prices(BaseModel):
    """What a model costs, in US dollars per million tokens."""

    model_config = ConfigDict(frozen=True)

    prompt: float
    completion: float


class EpisodeScore(BaseModel):
    """Both measures of one episode and what it cost."""

    model_config = ConfigDict(frozen=True)

    episode_id: str
    official: OfficialScore
    grounded: GroundedScore
    reward: RewardParts | None
    """``None`` when the episode is no fair sample of the policy."""
    exchanges: int
    llm_calls: int
    prompt_tokens: int
    completion_tokens: int
    latencies_s: tuple[float, ...]
    """Of each model call."""
    fault: str | None
    """Who broke it: ``agent``, ``user``, ``infrastructure``."""


class Summary(BaseModel):
    """Metrics by name, in the order of the report; a metric that no dialogue defines is absent."""

    metrics: dict[str, Metric]
    latency_s: Percentiles | None
    faults: dict[str, int]
    failures: dict[str, int]
    """Dialogues in which each kind of reason against grounded success was found, the most frequent first."""
    dialogues: int


def score_episode(episode: Episode, fixes: Fixes = ALL_FIXES) -> EpisodeScore:
    """Everything that is measured of one episode; needs no model."""
    truth = grounded(episode)
    calls = [call for exchange in episode.exchanges if exchange.turn for call in exchange.turn.model_calls]
    return EpisodeScore(
        episode_id=episode.id,
        official=official(episode, fixes),
        grounded=truth,
        reward=reward(episode, truth),
        exchanges=len(episode.exchanges),
        llm_calls=len(calls),
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        completion_tokens=sum(call.completion_tokens for call in calls),
        latencies_s=tuple(call.latency_s for call in calls),
        fault=episode.fault.who if episode.fault else None,
    )


def summarise(scores: Sequence[EpisodeScore], seed: int = 0, prices: Prices | None = None) -> Summary:
    """The report's numbers over these episodes."""
    fair = [score for score in scores if score.reward is not None]
    metrics = {
        name: metric
        for name, values in _columns(fair, prices).items()
        if (metric := bootstrap_mean(values, seed)) is not None
    }
    faults = {who: sum(score.fault == who for score in scores) for who in ("agent", "user", "infrastructure")}
    kinds = Counter(kind for score in fair for kind in {reason.partition(":")[0] for reason in score.grounded.failures})
    failures = dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))
    latency = percentiles([latency for score in fair for latency in score.latencies_s])
    return Summary(metrics=metrics, latency_s=latency, faults=faults, failures=failures, dialogues=len(scores))


def _columns(scores: Sequence[EpisodeScore], prices: Prices | None) -> Mapping[str, list[float]]:
    officials = [score.official for score in scores]
    columns: dict[str, list[float]] = {
        "success": [float(each.success) for each in officials],
        "grounded_success": [float(score.grounded.success) for score in scores],
        "complete": [float(each.complete) for each in officials],
        "book_rate": _defined(each.book_rate for each in officials),
        "inform_precision": _defined(each.inform_precision for each in officials),
        "inform_recall": _defined(each.inform_recall for each in officials),
        "inform_f1": _defined(each.inform_f1 for each in officials),
        "exchanges": [float(score.exchanges) for score in scores],
        "exchanges_on_success": [float(score.exchanges) for score in scores if score.grounded.success],
        "turns": [float(each.turns) for each in officials],
        "reward": [score.reward.total for score in scores if score.reward is not None],
        "llm_calls": [float(score.llm_calls) for score in scores],
        "prompt_tokens": [float(score.prompt_tokens) for score in scores],
        "completion_tokens": [float(score.completion_tokens) for score in scores],
    }
    if prices is not None:
        columns["cost_usd"] = [
            (score.prompt_tokens * prices.prompt + score.completion_tokens * prices.completion) / 1e6
            for score in scores
        ]
    return columns


def _defined(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def bootstrap_mean(values: Sequence[float], seed: int = 0, resamples: int = RESAMPLES) -> Metric | None:
    """The mean and its percentile-bootstrap interval; ``None`` without values.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 13.3.
    """
    if not values:
        return None
    array = np.asarray(values, dtype=np.float64)
    if (array == array[0]).all():
        return Metric(mean=float(array[0]), ci95=(float(array[0]), float(array[0])))
    rng = np.random.default_rng(seed)
    means = array[rng.integers(0, len(array), size=(resamples, len(array)), dtype=np.int32)].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Metric(mean=float(array.mean()), ci95=(float(low), float(high)))


def percentiles(values: Sequence[float]) -> Percentiles | None:
    """The median and the 95th percentile; ``None`` without values."""
    if not values:
        return None
    p50, p95 = np.percentile(np.asarray(values, dtype=np.float64), [50, 95])
    return Percentiles(p50=float(p50), p95=float(p95))
