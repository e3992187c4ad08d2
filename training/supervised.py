"""Supervised fine-tuning, the arithmetic of it: rows from messages, groups of like length, loss.

A row is one history, tokenised exactly as the server renders prompts; only the tokens the assistant wrote carry
loss. Knows nothing of ART: the backend feeds it and keeps its checkpoints.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from training.chat import Message, ToolSchema, encode_messages

IGNORED = -100
"""The label of a token without loss, as in ART's ``SFTBatch``."""


@dataclass(frozen=True)
class Row:
    """One tokenised history."""

    ids: tuple[int, ...]
    trained: tuple[bool, ...]
    """As long as ``ids``: whether the assistant wrote the token."""


def tokenise_history(
    messages: Sequence[Message], tools: Sequence[ToolSchema] | None, tokenizer: PreTrainedTokenizerBase
) -> Row:
    """Tokenise ``messages`` turn by turn, so that each assistant message follows its prompt as it was sampled.

    Raises:
        ValueError: If the chat template is not prefix-consistent at an assistant message, so that what would be
            trained is not what the server would render.
    """

    ids: list[int] = []
    trained: list[bool] = []
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        prompt = encode_messages(tokenizer, messages[:index], tools, prompt=True)
        whole = encode_messages(tokenizer, messages[: index + 1], tools, prompt=False)
        if whole[: len(prompt)] != prompt or prompt[: len(ids)] != ids:
            raise ValueError(f"the chat template rewrites history at message {index}: {message!r}")
        trained += [False] * (len(prompt) - len(ids)) + [True] * (len(whole) - len(prompt))
        ids = whole
    return Row(tuple(ids), tuple(trained))


def like_lengths(rows: Sequence[Row], tokens: int) -> Iterator[list[Row]]:
    """``rows`` in groups to be computed at once: of similar length, so that little is padding, and not too many."""
    group: list[Row] = []
    for row in sorted(rows, key=lambda row: len(row.ids)):
        if group and (len(row.ids) > 2 * len(group[0].ids) or len(row.ids) * (len(group) + 1) > tokens):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def unembed(model: PreTrainedModel, hidden: Tensor) -> Tensor:
    """Logits of hidden states (... x width)."""
    head: nn.Module = model.get_output_embeddings()  # pyright: ignore[reportAssignmentType]
    return head(hidden)


def supervised_loss(model: PreTrainedModel, rows: Sequence[Row]) -> Tensor:
    """Cross-entropy summed over the trained tokens of ``rows``.

    Logits are computed only where a token is trained: with short answers after long prompts that is a third of the
    positions. Padding stands on the right, where causal attention never looks, so it needs no mask.
    """
    device = next(model.parameters()).device
    width = max(len(row.ids) for row in rows)
    ids = torch.zeros((len(rows), width), dtype=torch.long)
    trained = torch.zeros((len(rows), width), dtype=torch.bool)
    for index, row in enumerate(rows):
        ids[index, : len(row.ids)] = torch.tensor(row.ids)
        trained[index, : len(row.ids)] = torch.tensor(row.trained)
    ids, trained = ids.to(device), trained[:, 1:].to(device)
    hidden = model.base_model(input_ids=ids).last_hidden_state[:, :-1]
    logits = unembed(model, hidden[trained])
    return nn.functional.cross_entropy(logits.float(), ids[:, 1:][trained], reduction="sum")
