"""One policy-gradient update on packed rows: ART's loss on a plain Hugging Face model.

Owns batching, the forward pass, gradients and metrics. Rows of like length go together and are cut to the longest, so
that padding costs little, and logits are computed only where a token is trained: after long prompts that is a sixth
of the positions. Leaves packing to ``packing`` and ART, files to ``checkpoints``.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from art import dev
from art.loss import Loss, loss_fn
from art.preprocessing.inputs import TrainInputs
from art.preprocessing.pack import PackedTensors
from torch import Tensor, nn
from transformers import PreTrainedModel

from training.optimizers import Optimizer, OptimizerConfig
from training.supervised import unembed

PER_TOKEN = ("tokens", "group_ids", "parent_ids", "input_pos", "assistant_mask", "logprobs", "advantages", "weights")
SMOOTHING = 1e-12
LIKE, LIKE_TOKENS = 0.7, 8
"""A row goes into a batch if it has at least ``LIKE`` times the longest row's tokens, less ``LIKE_TOKENS``."""


@dataclass(frozen=True)
class LearnerConfig:
    """How a policy-gradient step is computed."""

    batch_tokens: int = 8192
    """Padded tokens in one forward pass."""
    minibatches: int = 1
    """Optimiser steps per call; more than one goes off-policy within the call."""
    max_grad_norm: float = 1.0
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)


def learn(
    model: PreTrainedModel,
    optimizer: Optimizer,
    packed: PackedTensors,
    *,
    learning_rate: float,
    dev_config: dev.TrainConfig,
    config: LearnerConfig,
    reference: PreTrainedModel | None = None,
) -> Iterator[dict[str, float]]:
    """Take ``config.minibatches`` optimiser steps on ``packed``; yields the metrics of each.

    The loss is ART's, summed over the tokens of a minibatch and divided by their number, so that how rows are batched
    does not change the gradient.
    """
    device = next(model.parameters()).device
    lengths = row_lengths(packed)
    model.train()
    for number, chosen in enumerate(_minibatches(len(lengths), config.minibatches)):
        optimizer.zero_grad()
        trained = int(packed["assistant_mask"][chosen].sum())
        tally = _Tally(padded=0, real=int(lengths[chosen].sum()))
        for rows in _batches(chosen, lengths, config.batch_tokens):
            inputs = _inputs(packed, rows, int(lengths[rows].max()), device)
            tally.padded += inputs["tokens"].numel()
            new, entropy = _logprobs(model, inputs)
            with torch.no_grad():
                ref = _logprobs(reference, inputs)[0] if reference is not None else None
            loss = loss_fn(inputs, new, ref, entropy, dev_config, reduction="sum")
            (loss.policy_loss / max(trained, 1)).backward()
            tally.add(loss, new, inputs, clip_range(dev_config))
        norm = nn.utils.clip_grad_norm_(model.parameters(), config.max_grad_norm)
        if not torch.isfinite(norm):
            raise FloatingPointError(
                "the gradient is not finite: lower the learning rate, or look at the log-probabilities"
            )
        optimizer.step(learning_rate)
        metrics = tally.metrics()
        if number == 0:
            # Before any update the trainer must see the sampler's probabilities; later ones drift apart rightly.
            metrics["loss/probs_corr_first"] = metrics["loss/probs_corr"]
        yield {**metrics, "loss/grad_norm": norm.item(), "loss/learning_rate": learning_rate}
    model.eval()


def row_lengths(packed: PackedTensors) -> Tensor:
    """Tokens in each row, padding left out."""
    filled = packed["group_ids"] != -1
    positions = torch.arange(1, filled.shape[1] + 1)
    return (filled * positions).amax(1)


def _minibatches(rows: int, count: int) -> Iterator[Tensor]:
    """ART has shuffled the rows: consecutive slices are fair samples."""
    yield from torch.arange(rows).chunk(count)


def _batches(rows: Tensor, lengths: Tensor, tokens: int) -> Iterator[Tensor]:
    """Rows of like length: what is padding in a batch stays below a fifth or so, unless the batch is tiny."""
    ordered = rows[lengths[rows].argsort(descending=True, stable=True)]
    start = 0
    while start < len(ordered):
        longest = int(lengths[ordered[start]])
        like = int((lengths[ordered[start:]] >= longest * LIKE - LIKE_TOKENS).sum())
        size = max(1, min(like, tokens // longest))
        yield ordered[start : start + size]
        start += size


def _inputs(packed: PackedTensors, rows: Tensor, width: int, device: torch.device) -> TrainInputs:
    return {name: packed[name][rows, :width].to(device) for name in PER_TOKEN}  # pyright: ignore[reportReturnType]


def _logprobs(model: PreTrainedModel, inputs: TrainInputs) -> tuple[Tensor, Tensor]:
    """Log-probability of the next token and entropy at each position (rows x width), zero where nothing is trained."""
    tokens = inputs["tokens"]
    trained = inputs["assistant_mask"][:, 1:]
    hidden = model.base_model(input_ids=tokens).last_hidden_state[:, :-1][trained]
    logits = unembed(model, hidden).float()
    everything = torch.log_softmax(logits, -1)
    picked = everything.gather(1, tokens[:, 1:][trained][:, None])[:, 0]
    entropy = -(everything.detach().exp() * everything.detach()).sum(-1)
    zeros = torch.zeros(tokens.shape, dtype=picked.dtype, device=tokens.device)
    place = nn.functional.pad(trained, (0, 1))
    return zeros.masked_scatter(place, picked), zeros.masked_scatter(place, entropy)


@dataclass
class _Tally:
    """Sums over the batches of one minibatch."""

    padded: int
    real: int
    loss: float = 0.0
    entropy: float = 0.0
    tokens: int = 0
    clipped: int = 0
    kl: float = 0.0
    moments: Tensor | None = None

    @torch.no_grad()
    def add(self, loss: Loss, new: Tensor, inputs: TrainInputs, clip: tuple[float, float]) -> None:
        """Count one batch. KL is the k3 estimate of the sampling policy from the current one (Schulman 2020)."""
        mask = nn.functional.pad(inputs["assistant_mask"][:, 1:], (0, 1))
        old = nn.functional.pad(inputs["logprobs"][:, 1:], (0, 1))[mask].double()
        new = new[mask].double()
        ratio = (new - old).exp()
        self.loss += loss.policy_loss.item()
        self.entropy += loss.entropy.item() if loss.entropy is not None else 0.0
        self.tokens += len(new)
        self.clipped += int(((ratio < 1 - clip[0]) | (ratio > 1 + clip[1])).sum())
        self.kl += (ratio - 1 - (new - old)).sum().item()
        x, y = old.exp(), new.exp()
        moments = torch.stack([x.sum(), y.sum(), (x * x).sum(), (y * y).sum(), (x * y).sum()])
        self.moments = moments if self.moments is None else self.moments + moments

    def metrics(self) -> dict[str, float]:
        """Means over the trained tokens."""
        count = max(self.tokens, 1)
        return {
            "loss/train": self.loss / count,
            "loss/entropy": self.entropy / count,
            "loss/clip_fraction": self.clipped / count,
            "loss/kl_div": self.kl / count,
            "loss/probs_corr": self._correlation(),
            "data/padding_waste": 1 - self.real / max(self.padded, 1),
            "data/trained_tokens": float(self.tokens),
        }

    def _correlation(self) -> float:
        """Pearson's r between the probabilities at sampling and now; 1 where neither varies."""
        assert self.moments is not None
        x, y, xx, yy, xy = (self.moments / max(self.tokens, 1)).tolist()
        spread = (xx - x * x) * (yy - y * y)
        return (xy - x * y) / math.sqrt(spread) if spread > SMOOTHING else 1.0


def clip_range(dev_config: dev.TrainConfig) -> tuple[float, float]:
    """The clip range ``art.loss`` uses for this configuration: its defaults are CISPO's 1.0 and 4.0, PPO's 0.2."""
    low_default, high_default = (0.2, None) if dev_config.get("ppo", False) else (1.0, 4.0)
    low = dev_config.get("epsilon", low_default)
    high = dev_config.get("epsilon_high", high_default)
    return low, low if high is None else high
