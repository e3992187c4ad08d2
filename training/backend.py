"""``TorchBackend``: ART on one machine without vLLM or Unsloth, on a CPU or one GPU.

A subclass of ART's ``LocalBackend``: the training loop, tokenisation, packing, loss, checkpoint layout, the skipping
of steps without signal and the logs are ART's. Overridden are the service, the packing (shared prefixes) and SFT's
tokenisation, which in ART needs Unsloth. The names it overrides are private in ART 0.5.18: the version is pinned and
``tests/training/test_backend_contract.py`` holds them.
"""

import math
import random
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from pathlib import Path

import art
import torch
from art import TrainableModel, dev
from art.backend import AnyTrainableModel
from art.metrics_taxonomy import build_training_summary_metrics, summarize_trajectory_groups
from art.preprocessing.pack import PackedTensors
from art.preprocessing.tokenize import SFTBatch
from art.types import TrainConfig, TrainSFTConfig
from art.utils.output_dirs import get_model_dir

from training.asyncio_guard import asyncio_left_alone
from training.augmentation import Augmentation
from training.chat import Message, ToolSchema
from training.credit import SMOOTHING, TOOL_SCHEMA_FORMAT, Credit, credit_groups
from training.packing import PackingReport, merge_prefixes, pack
from training.service import TorchConfig, TorchService
from training.supervised import IGNORED, Row

with asyncio_left_alone():
    from art.local.backend import LocalBackend

DEFAULT_SFT_BATCH = 8
MAX_SEQUENCE = 32_768


class MissingLogprobsError(ValueError):
    """Trajectories came without log-probabilities, so there is nothing to train on."""


class TorchBackend(LocalBackend):
    """See the module's docstring. ``path`` is where ART's project folders go."""

    def __init__(self, path: Path, config: TorchConfig | None = None) -> None:
        super().__init__(in_process=True, path=str(path))
        self.config = config or TorchConfig()
        self.packing: PackingReport | None = None
        """What merging prefixes saved at the last step."""
        self.credit: Credit = "outcome"
        """How the next update spreads a trajectory's advantage over its calls."""
        self.spread_floor = SMOOTHING
        """What the next update adds to a group's spread before it divides by it (``credit_groups``)."""
        self._packed_sequence_length_requires_chunk_alignment = False
        self._default_chat_template_tool_schema_format = TOOL_SCHEMA_FORMAT

    def service(self, model: AnyTrainableModel) -> TorchService:
        """The service of a registered model; opens it at first."""
        service = self._services.get(model.name)
        if service is None:
            output_dir = Path(get_model_dir(model=model, art_path=self._path))
            service = TorchService(model.name, model.base_model, output_dir, self.config)
            self._services[model.name] = service  # pyright: ignore[reportArgumentType], made here, not by ART
        assert isinstance(service, TorchService)
        return service

    async def _get_service(self, model: TrainableModel) -> TorchService:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.service(model)

    def _get_packed_tensors(  # noqa: PLR0917, the signature is ART's
        self,
        model: AnyTrainableModel,
        trajectory_groups: list[art.TrajectoryGroup],
        advantage_balance: float,
        allow_training_without_logprobs: bool,
        scale_rewards: bool,
        plot_tensors: bool,
        packed_sequence_length: int | None,
        logprob_calculation_chunk_size: int,
    ) -> PackedTensors | None:
        """Tokenise as ART does, spread the credit, merge shared prefixes, pack one row per merged history."""
        service = self.service(model)
        _require_logprobs(trajectory_groups)
        calls = credit_groups(
            trajectory_groups,
            service.tokenizer,
            credit=self.credit,
            scale_rewards=scale_rewards,
            spread_floor=self.spread_floor,
            allow_training_without_logprobs=allow_training_without_logprobs,
        )
        rows, self.packing = merge_prefixes(calls, packed_sequence_length or self.config.engine.max_positions)
        if not rows:
            return None
        pad = service.tokenizer.pad_token_id
        return pack(rows, pad if isinstance(pad, int) else 0, f"{model.name}-{service.step}", advantage_balance)

    async def _train_model(
        self,
        model: TrainableModel,
        trajectory_groups: list[art.TrajectoryGroup],
        config: TrainConfig,
        dev_config: dev.TrainConfig,
        verbose: bool = False,
    ) -> AsyncIterator[dict[str, float]]:
        """ART's step without its detour over the disk; a step without signal is skipped as a whole checkpoint."""
        service = self.service(model)
        summary = build_training_summary_metrics(
            summarize_trajectory_groups(trajectory_groups), include_trainable_groups=True
        )
        packed = self._get_packed_tensors(
            model,
            trajectory_groups,
            dev_config.get("advantage_balance", 0.0),
            dev_config.get("allow_training_without_logprobs", False),
            dev_config.get("scale_rewards", True),
            False,
            dev_config.get("packed_sequence_length"),
            0,
        )
        if packed is None:
            await service.skip()
            yield {**summary, "data/step_num_groups_trainable": 0.0, "data/step_num_gradient_steps": 0.0}
            return
        async for metrics in service.train_packed(packed, config, dev_config):
            yield {**summary, **metrics}

    async def _train_sft(
        self,
        model: AnyTrainableModel,
        trajectories: Iterable[art.Trajectory],
        config: TrainSFTConfig,
        dev_config: dev.TrainSFTConfig,
        verbose: bool = False,
    ) -> AsyncIterator[dict[str, float]]:
        """Train on every history, the additional ones too (which ART leaves out), as the server renders them."""
        service = self.service(model)
        size = config.batch_size if isinstance(config.batch_size, int) else DEFAULT_SFT_BATCH
        listed = list(trajectories)
        rates = config.learning_rate
        augmentation = Augmentation(service.tokenizer, values=self.config.swap_values, words=self.config.noisy_words)
        rng = random.Random(f"swap-{service.step}")  # a chunk that is done again after a kill is the same chunk
        batches = [
            _sft_batch(
                listed[start : start + size],
                rates[number] if isinstance(rates, list) else rates,
                partial(augmentation, rng=rng),
            )
            for number, start in enumerate(range(0, len(listed), size))
        ]
        async for metrics in service.train_sft(batches, config, verbose):
            yield {
                **metrics,
                "data/step_num_trajectories": float(len(listed)),
                "data/step_trainer_tokens": float(sum(batch.num_trainable_tokens for batch in batches)),
                "data/step_num_gradient_steps": float(len(batches)),
            }


def _require_logprobs(groups: Iterable[art.TrajectoryGroup]) -> None:
    """ART skips a step in silence when no answer has log-probabilities; here that is an error that says why."""
    for group in groups:
        for trajectory in group.trajectories:
            messages = [
                message
                for history in [trajectory, *trajectory.additional_histories]
                for message in history.messages_and_choices
            ]
            choices = [message for message in messages if not isinstance(message, dict)]
            bare = [choice for choice in choices if not choice.logprobs or not choice.logprobs.content]
            if not choices or bare:
                raise MissingLogprobsError(
                    f"{len(bare)} of {len(choices)} answers in a trajectory (reward {trajectory.reward:g}) carry no "
                    "log-probabilities: capture it with training.capture, from a server that honours logprobs=true"
                )
            wrong = [item for choice in choices for item in choice.logprobs.content if math.isnan(item.logprob)]
            if wrong:
                raise MissingLogprobsError(f"{len(wrong)} log-probabilities are not numbers")


def _sft_batch(
    trajectories: list[art.Trajectory],
    learning_rate: float,
    render: Callable[[list[Message], list[ToolSchema] | None], Row],
) -> SFTBatch:
    tensors: list[dict[str, torch.Tensor]] = []
    for trajectory in trajectories:
        for history in [trajectory, *trajectory.additional_histories]:
            row = render(history.messages(), history.tools)
            ids = torch.tensor([row.ids])
            labels = torch.where(torch.tensor([row.trained]), ids, IGNORED)
            tensors.append({"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels})
    return SFTBatch(
        trajectory_tensors=tensors,
        learning_rate=learning_rate,
        num_trajectories=len(trajectories),
        num_tokens=sum(item["input_ids"].numel() for item in tensors),
        num_trainable_tokens=sum(int((item["labels"] != IGNORED).sum()) for item in tensors),
    )
