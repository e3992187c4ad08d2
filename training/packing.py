"""Sharing prefixes: one row per line of a dialogue instead of one per model call.

The capture layer makes one history per call, each with its whole prompt. A later call's prompt usually is an earlier
call's prompt, its answer and a few messages more; then one row holds both, and its tokens are computed once. What is
trained stays the same: every sampled token keeps its log-probability, its advantage and its weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from art.preprocessing.tokenize import TokenizedResult


@dataclass(frozen=True)
class PackingReport:
    """What merging saved."""

    calls: int
    rows: int
    tokens_before: int
    tokens_after: int
    trained_tokens: int
    overlong: int
    """Calls left out because they were longer than a row may be."""


def merge_prefixes(
    results: Sequence[TokenizedResult], overlong: int = 0
) -> tuple[list[TokenizedResult], PackingReport]:
    """Merge each result into one of the same trajectory, advantage and weight whose tokens begin with its own.

    Only exact extensions merge, token for token, and only where no token would be trained twice; order is that of
    the merged rows' last calls.
    """
    rows: list[TokenizedResult] = []
    open_rows: dict[tuple[int, float, float], list[int]] = {}
    for result in sorted(results, key=lambda result: len(result.token_ids)):
        key = (id(result.trajectory), result.advantage, result.weight)
        candidates = open_rows.setdefault(key, [])
        for position in candidates:
            merged = _extend(rows[position], result)
            if merged is not None:
                rows[position] = merged
                break
        else:
            candidates.append(len(rows))
            rows.append(result)
    return rows, PackingReport(
        calls=len(results),
        rows=len(rows),
        tokens_before=sum(len(result.token_ids) for result in results),
        tokens_after=sum(len(row.token_ids) for row in rows),
        trained_tokens=sum(sum(row.assistant_mask) for row in rows),
        overlong=overlong,
    )


def _extend(row: TokenizedResult, longer: TokenizedResult) -> TokenizedResult | None:
    """``longer`` with the trained tokens of ``row``, if it begins with ``row`` and trains none of its tokens."""
    length = len(row.token_ids)
    if longer.token_ids[:length] != row.token_ids or any(longer.assistant_mask[:length]):
        return None
    return replace(
        longer,
        assistant_mask=[*row.assistant_mask, *longer.assistant_mask[length:]],
        logprobs=[*row.logprobs, *longer.logprobs[length:]],
        choice_offsets=[*row.choice_offsets, *longer.choice_offsets],
        prompt_length=min(row.prompt_length, longer.prompt_length),
    )
