"""Sharing prefixes: one row per line of a dialogue instead of one per model call; then ART's tensors.

The capture layer makes one history per call, each with its whole prompt. A later call's prompt usually is an earlier
call's prompt, its answer and a few messages more; then one row holds both, and its tokens are computed once. What is
trained stays the same: every sampled token keeps its log-probability, its advantage and its weight.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from art.preprocessing.pack import PackedTensors
from torch import Tensor

from training.credit import CreditedCall


@dataclass(frozen=True)
class Row:
    """One sequence; every list is as long as ``ids``."""

    ids: list[int]
    trained: list[int]
    """1 where a token was sampled."""
    logprobs: list[float]
    """Not a number where a token was not sampled."""
    advantages: list[float]
    weights: list[float]


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


def merge_prefixes(calls: Sequence[CreditedCall], limit: int = 1 << 30) -> tuple[list[Row], PackingReport]:
    """Merge each call into a row of the same trajectory whose tokens begin with its own; ``limit`` bounds a row.

    Only exact extensions merge, token for token, and only where no token would be trained twice.
    """
    fitting = [call for call in calls if len(call.result.token_ids) <= limit]
    rows: list[Row] = []
    by_trajectory: dict[int, list[int]] = {}
    for call in sorted(fitting, key=lambda call: len(call.result.token_ids)):
        row = _row(call)
        candidates = by_trajectory.setdefault(id(call.result.trajectory), [])
        for position in candidates:
            if _extends(row, rows[position]):
                rows[position] = _merged(rows[position], row)
                break
        else:
            candidates.append(len(rows))
            rows.append(row)
    return rows, PackingReport(
        calls=len(fitting),
        rows=len(rows),
        tokens_before=sum(len(call.result.token_ids) for call in fitting),
        tokens_after=sum(len(row.ids) for row in rows),
        trained_tokens=sum(sum(row.trained) for row in rows),
        overlong=len(calls) - len(fitting),
    )


def _row(call: CreditedCall) -> Row:
    result = call.result
    return Row(
        ids=result.token_ids,
        trained=result.assistant_mask,
        logprobs=result.logprobs,
        advantages=[call.advantage * mask for mask in result.assistant_mask],
        weights=[call.weight * mask for mask in result.assistant_mask],
    )


def _extends(longer: Row, shorter: Row) -> bool:
    length = len(shorter.ids)
    return longer.ids[:length] == shorter.ids and not any(longer.trained[:length])


def _merged(shorter: Row, longer: Row) -> Row:
    length = len(shorter.ids)
    return Row(
        ids=longer.ids,
        trained=[*shorter.trained, *longer.trained[length:]],
        logprobs=[*shorter.logprobs, *longer.logprobs[length:]],
        advantages=[*shorter.advantages, *longer.advantages[length:]],
        weights=[*shorter.weights, *longer.weights[length:]],
    )


def pack(rows: Sequence[Row], pad_id: int, seed: str, advantage_balance: float = 0.0) -> PackedTensors:
    """ART's tensors, one row a sequence, in an order drawn from ``seed``.

    The same normalisation as ``art.preprocessing.pack.packed_tensors_from_tokenized_results``: weights of mean 1 and
    advantages of mean weighted size 1 over the trained tokens. What differs is that both stand at each token.
    """
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    shuffled = [rows[index] for index in order]
    width = max(len(row.ids) for row in shuffled)
    trained = _padded([row.trained for row in shuffled], 0, width).bool()
    weights = _padded([row.weights for row in shuffled], 0.0, width)
    advantages = _padded([row.advantages for row in shuffled], 0.0, width)
    weights[trained] /= weights[trained].mean()
    if advantage_balance > 0:
        advantages = torch.where(advantages > 0, advantages, advantages * (1 - advantage_balance))
    elif advantage_balance < 0:
        advantages = torch.where(advantages < 0, advantages, advantages * (1 + advantage_balance))
    advantages[trained] /= (advantages[trained].abs() * weights[trained]).mean()
    lengths = torch.tensor([len(row.ids) for row in shuffled])[:, None]
    positions = torch.arange(width)[None].expand(len(shuffled), width)
    filled = positions < lengths
    numbers = torch.where(filled, torch.arange(len(shuffled))[:, None], -1)
    return {
        "tokens": _padded([row.ids for row in shuffled], pad_id, width),
        "group_ids": numbers,
        "parent_ids": numbers,
        "input_pos": torch.where(filled, positions, 0),
        "assistant_mask": trained,
        "logprobs": _padded([row.logprobs for row in shuffled], float("nan"), width),
        "advantages": advantages,
        "weights": weights,
        "pixel_values": [None] * len(shuffled),
        "image_grid_thw": [None] * len(shuffled),
    }


def _padded(values: Sequence[Sequence[float]], filler: float, width: int) -> Tensor:
    return torch.tensor([[*row, *[filler] * (width - len(row))] for row in values])
