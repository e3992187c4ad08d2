"""ART's ``ModelService`` on one machine: the model, its optimiser, its server and its checkpoints.

Promises: after ``train`` the engine answers with the new weights under the new step's name, and the checkpoint of
that step is on disk. Leaves the arithmetic to ``learner`` and ``supervised``.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
from art import dev
from art.preprocessing.pack import DiskPackedTensors, PackedTensors, packed_tensors_from_dir
from art.preprocessing.tokenize import SFTBatch
from art.types import TrainConfig, TrainSFTConfig
from torch import nn
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from training.checkpoints import load_model, load_optimizer, save_checkpoint
from training.endpoint import PolicyEndpoint
from training.engine import EngineConfig, PolicyEngine
from training.learner import LearnerConfig, learn
from training.manifest import latest_checkpoint
from training.optimizers import build_optimizer
from training.server import RunningServer, start_server
from training.supervised import IGNORED, Row, like_lengths, supervised_loss


@dataclass(frozen=True)
class TorchConfig:
    """The whole of a ``TorchBackend``'s settings."""

    device: str = "cpu"
    engine: EngineConfig = field(default_factory=EngineConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    swap_values: bool = False
    """Whether SFT rows show other values each time (``training.augmentation``)."""
    noisy_words: bool = False
    """Whether SFT rows show the user's sentences with words replaced that do not matter."""
    serve: bool = True
    """Start the HTTP server; off, only the in-process endpoint answers."""


class TorchService:
    """One trainable model. Opens the newest whole checkpoint of ``output_dir``, or writes ``base_model`` as step 0."""

    def __init__(self, model_name: str, base_model: str, output_dir: Path, config: TorchConfig) -> None:
        self.config = config
        self.output_dir = output_dir
        latest = latest_checkpoint(output_dir)
        self._latest_step, source = latest or (0, Path(base_model))
        self.tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(base_model)
        self.model: PreTrainedModel = load_model(source, config.device)
        self.optimizer = build_optimizer(self.model, config.learner.optimizer)
        if latest is None:
            save_checkpoint(output_dir, 0, self.model, self.tokenizer, optimizer=None)
        else:
            load_optimizer(source, self.optimizer)
        engine = PolicyEngine(self.model, config.engine, self._latest_step)
        self.endpoint = PolicyEndpoint(engine, self.tokenizer, model_name)
        self._server: RunningServer | None = None
        self._references: dict[str, PreTrainedModel] = {}

    @property
    def step(self) -> int:
        """The step of the weights in memory."""
        return self._latest_step

    async def start_openai_server(self, config: dev.OpenAIServerConfig | None) -> tuple[str, int]:
        """ART's hook. Host and port; port 0 when there is no server."""
        if not self.config.serve:
            return "127.0.0.1", 0
        if self._server is None:
            port = (config or {}).get("server_args", {}).get("port", 0)
            self._server = await start_server(self.endpoint, int(port or 0))
        return "127.0.0.1", int(self._server.base_url.rsplit(":", 1)[1].split("/")[0])

    async def vllm_engine_is_sleeping(self) -> bool:
        """ART's hook: this engine never sleeps."""
        return False

    async def skip(self) -> None:
        """The same weights under the next number, as a whole checkpoint, so that nothing is repeated on restart."""
        self._finish()

    async def register_lora_for_step(self, step: int, checkpoint_dir: str) -> None:
        """ART's hook after a skipped step: the same weights under the next number."""
        self._publish(step)

    def _publish(self, step: int) -> None:
        self._latest_step = step
        self.endpoint.engine.update(self.model, step)

    async def train(
        self,
        disk_packed_tensors: DiskPackedTensors,
        config: TrainConfig,
        _config: dev.TrainConfig,
        verbose: bool = False,
    ) -> AsyncIterator[dict[str, float]]:
        """ART's form of ``train_packed``, for tensors that lie on disk."""
        async for metrics in self.train_packed(packed_tensors_from_dir(**disk_packed_tensors), config, _config):
            yield metrics

    async def train_packed(
        self, packed: PackedTensors, config: TrainConfig, _config: dev.TrainConfig
    ) -> AsyncIterator[dict[str, float]]:
        """One GRPO step: the metrics of each optimiser step, then a checkpoint and new weights in the engine."""
        steps = learn(
            self.model,
            self.optimizer,
            packed,
            learning_rate=config.learning_rate,
            dev_config=_config,
            config=self.config.learner,
            reference=self._reference(_config),
        )
        while (metrics := await asyncio.to_thread(next, steps, None)) is not None:
            yield {**metrics, "data/step_num_gradient_steps": float(self.config.learner.minibatches)}
        self._finish()

    async def train_sft(
        self, batches: list[SFTBatch], config: TrainSFTConfig, verbose: bool = False
    ) -> AsyncIterator[dict[str, float]]:
        """One optimiser step per batch, then one checkpoint."""
        for batch in batches:
            yield await asyncio.to_thread(self._supervised_step, batch)
        self._finish()

    def _supervised_step(self, batch: SFTBatch) -> dict[str, float]:
        self.model.train()
        self.optimizer.zero_grad()
        rows = [
            Row(tuple(tensors["input_ids"][0].tolist()), tuple((tensors["labels"][0] != IGNORED).tolist()))
            for tensors in batch.trajectory_tensors
        ]
        total = 0.0
        for group in like_lengths(rows, self.config.learner.batch_tokens):
            loss = supervised_loss(self.model, group)
            (loss / max(batch.num_trainable_tokens, 1)).backward()
            total += loss.item()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.learner.max_grad_norm)
        self.optimizer.step(batch.learning_rate)
        self.model.eval()
        return {
            "loss/train": total / max(batch.num_trainable_tokens, 1),
            "loss/grad_norm": float(norm),
            "loss/learning_rate": batch.learning_rate,
        }

    def _finish(self) -> None:
        step = self._latest_step + 1
        save_checkpoint(self.output_dir, step, self.model, self.tokenizer, optimizer=self.optimizer)
        self._publish(step)

    def _reference(self, config: dev.TrainConfig) -> PreTrainedModel | None:
        """The policy that a KL penalty holds on to: a checkpoint's, by default the first."""
        if not config.get("kl_penalty_coef", 0.0):
            return None
        path = config.get("kl_ref_adapter_path") or str(self.output_dir / "checkpoints" / "0000")
        if path not in self._references:
            self._references = {path: load_model(Path(path), self.config.device)}
        return self._references[path]

    async def aclose(self) -> None:
        """Stop the server and let go of the weights."""
        if self._server is not None:
            await self._server.aclose()
            self._server = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
