"""Optimisers: AdamW alone, or Muon for the weight matrices with AdamW for the rest.

Muon (Jordan 2024, ``torch.optim.Muon``) halves the dialogues that the small model needs before it copies values
(docs/log.md). The two together look like one optimiser: one learning rate, one state on disk.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn


@dataclass(frozen=True)
class OptimizerConfig:
    """Which optimiser, and its constants; the learning rate comes with each step."""

    kind: Literal["adamw", "muon"] = "adamw"
    """``muon`` updates the inner weight matrices by Muon, embeddings and norms by AdamW."""
    adam_betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.0
    muon_scale: float = 7.0
    """Muon's learning rate as a multiple of AdamW's."""


class Optimizer:
    """One or more of torch's optimisers over disjoint weights, each with its own multiple of the learning rate."""

    def __init__(self, parts: list[tuple[torch.optim.Optimizer, float]]) -> None:
        self._parts = parts

    def step(self, learning_rate: float) -> None:
        """Update all weights from their gradients."""
        for part, scale in self._parts:
            for group in part.param_groups:
                group["lr"] = learning_rate * scale
            part.step()

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for part, _ in self._parts:
            part.zero_grad(set_to_none=True)

    def state_dict(self) -> dict[str, dict[str, object]]:
        """The parts' states, in order."""
        return {str(index): part.state_dict() for index, (part, _) in enumerate(self._parts)}

    def load_state_dict(self, state: Mapping[str, dict[str, object]]) -> None:
        """Take the states up again.

        Raises:
            ValueError: If ``state`` is that of another kind of optimiser.
        """
        if len(state) != len(self._parts):
            raise ValueError(f"the checkpoint's optimiser has {len(state)} parts, this one {len(self._parts)}")
        for index, (part, _) in enumerate(self._parts):
            part.load_state_dict(state[str(index)])


def build_optimizer(model: nn.Module, config: OptimizerConfig) -> Optimizer:
    """An optimiser over all weights of ``model``."""

    def adamw(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        decay = config.weight_decay
        return torch.optim.AdamW(parameters, lr=0.0, betas=config.adam_betas, weight_decay=decay, foreach=True)

    if config.kind == "adamw":
        return Optimizer([(adamw(list(model.parameters())), 1.0)])
    inner, rest = [], []
    for name, parameter in model.named_parameters():
        outer = parameter.ndim != 2 or "embed" in name or "lm_head" in name
        (rest if outer else inner).append(parameter)
    muon = torch.optim.Muon(inner, lr=0.0, weight_decay=config.weight_decay, adjust_lr_fn="original")
    return Optimizer([(muon, config.muon_scale), (adamw(rest), 1.0)])
