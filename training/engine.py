"""The sampler: many requests in one batch, joining and leaving at every step, prefixes computed once.

Owns scheduling, sampling and prefix reuse over a ``decoder``. Promises: a request's random numbers come from its own
seed alone, so what else is in the batch changes its logits by float rounding only; the log-probabilities returned are
those of the model's raw distribution (temperature 1, nothing cut off), as vLLM's ``raw_logprobs``; a request admitted
for step ``n`` is answered by the weights of step ``n`` or refused.

The step loop runs inside the caller's event loop, between its callbacks, and not in a thread: every torch call gives
up the interpreter lock, and a thread that must win it back sixty times a step from a busy graph waits longer than it
computes (docs/log.md). Before each step the loop lets everything else run dry, so that dialogues gather into one batch.
"""

import asyncio
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from simulation.faults import InfrastructureError
from training.decoder import Decoder, build_decoder
from training.prefixes import PrefixStore, Saved

FinishReason = Literal["stop", "length"]


class StaleStepError(InfrastructureError):
    """A request named weights other than those loaded."""


class PromptTooLongError(ValueError):
    """A prompt leaves no room for a single token."""


@dataclass(frozen=True)
class SamplingParams:
    """How one request is sampled."""

    temperature: float = 1.0
    """0 takes the most likely token."""
    max_tokens: int = 128
    seed: int | None = None
    stop_ids: frozenset[int] = frozenset()
    """Sampling ends after one of these; it is part of the completion."""
    top_logprobs: int = 0


@dataclass(frozen=True)
class Completion:
    """What was sampled, and by which weights."""

    prompt_ids: list[int]
    token_ids: list[int]
    """The sampled tokens, the stop token included."""
    logprobs: list[float]
    """Log-probability of each sampled token at temperature 1."""
    finish_reason: FinishReason
    step: int
    cached_tokens: int
    """How many prompt positions were taken from the prefix store."""
    top_logprobs: list[list[tuple[int, float]]] = field(default_factory=list)


@dataclass(frozen=True)
class EngineConfig:
    """Sizes of the sampler."""

    max_rows: int = 64
    """Requests in one batch; more wait in line."""
    max_positions: int = 1024
    """Longest prompt and completion together."""
    prefix_tokens: int = 60_000
    """Positions kept for reuse, oldest dropped first."""


@dataclass
class EngineStats:
    """Counters since the engine was made."""

    steps: int = 0
    row_steps: int = 0
    """Rows summed over decode steps: divided by ``steps`` it is the mean batch."""
    sampled_tokens: int = 0
    prefilled_tokens: int = 0
    reused_tokens: int = 0
    requests: int = 0
    seconds: float = 0.0
    """Time inside steps."""


@dataclass(eq=False)
class _Request:
    prompt: list[int]
    params: SamplingParams
    future: "asyncio.Future[Completion]"
    random: random.Random
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    top: list[list[tuple[int, float]]] = field(default_factory=list)
    cached: int = 0
    length: int = 0
    """Positions in the cache."""
    parent: Saved | None = None


class PolicyEngine:
    """Samples from one model for any number of concurrent callers on one event loop."""

    def __init__(self, model: PreTrainedModel, config: EngineConfig = EngineConfig(), step: int = 0) -> None:
        self.config = config
        self.step = step
        self.stats = EngineStats()
        self._waiting: deque[_Request] = deque()
        self._rows: list[_Request] = []
        self._task: asyncio.Task[None] | None = None
        self._decoder: Decoder = build_decoder(model, config.max_rows, config.max_positions)
        self._device = next(model.parameters()).device
        self._prefixes = PrefixStore(config.prefix_tokens)

    def update(self, model: PreTrainedModel, step: int) -> None:
        """Answer every later request with ``model``'s weights, copied now, under the number ``step``.

        Raises:
            RuntimeError: While requests are being answered: nobody's completion mixes two policies.
        """
        if self._rows or self._waiting:
            raise RuntimeError(f"{len(self._rows) + len(self._waiting)} requests are still running on step {self.step}")
        self._decoder.load(model)
        self._prefixes = PrefixStore(self.config.prefix_tokens)
        self.step = step

    async def generate(self, prompt: Sequence[int], params: SamplingParams, step: int | None = None) -> Completion:
        """Sample one completion of ``prompt``.

        Raises:
            StaleStepError: If ``step`` is given and is not the step loaded.
            PromptTooLongError: If the prompt fills the cache.
        """
        if step is not None and step != self.step:
            raise StaleStepError(
                f"step {step} was asked for, but step {self.step} is loaded: take the current model name"
            )
        if len(prompt) >= self._decoder.max_positions:
            raise PromptTooLongError(
                f"a prompt of {len(prompt)} tokens; the limit is {self._decoder.max_positions - 1}"
            )
        if not prompt:
            raise ValueError("an empty prompt")
        loop = asyncio.get_running_loop()
        seed = params.seed if params.seed is not None else random.getrandbits(62)
        # The prompt takes part, so that one seed for a whole dialogue does not repeat its draws at every call.
        request = _Request(list(prompt), params, loop.create_future(), random.Random(hash((seed, *prompt))))
        self._waiting.append(request)
        self.stats.requests += 1
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run(loop))
        return await request.future

    async def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        """Step until nobody waits."""
        try:
            while self._waiting or self._rows:
                await _quiet(loop)
                started = loop.time()
                self._drop_cancelled()
                self._admit()
                if self._rows:
                    self._decode()
                self.stats.seconds += loop.time() - started
        except Exception as error:
            for request in [*self._rows, *self._waiting]:
                if not request.future.done():
                    request.future.set_exception(error)
            self._rows.clear()
            self._waiting.clear()

    def _drop_cancelled(self) -> None:
        for row in reversed(range(len(self._rows))):
            if self._rows[row].future.cancelled():
                self._leave(row)

    def _admit(self) -> None:
        """Prefill waiting requests, in groups of similar new length so that little is padding, and sample once each."""
        group: list[_Request] = []
        while self._waiting and len(self._rows) + len(group) < self.config.max_rows:
            request = self._waiting.popleft()
            if not request.future.cancelled():
                group.append(request)
        for request in group:
            request.parent, request.cached = self._prefixes.longest(request.prompt)
        group.sort(key=lambda request: len(request.prompt) - request.cached)
        start = 0
        for index in range(1, len(group) + 1):
            width = len(group[start].prompt) - group[start].cached
            if index == len(group) or len(group[index].prompt) - group[index].cached > 1.5 * width + 8:
                self._prefill(group[start:index])
                start = index

    def _prefill(self, group: list[_Request]) -> None:
        first = len(self._rows)
        self._rows += group
        widths = [len(request.prompt) - request.cached for request in group]
        ids = torch.zeros((len(group), max(widths)), dtype=torch.long)
        for index, request in enumerate(group):
            if request.parent is not None and request.cached:
                self._decoder.restore(first + index, request.parent.state, request.cached)
            ids[index, : widths[index]] = torch.tensor(request.prompt[request.cached :])
            request.length = len(request.prompt)
            self.stats.prefilled_tokens += widths[index]
            self.stats.reused_tokens += request.cached
        starts = torch.tensor([request.cached for request in group])
        # A padded row near the end of the cache would write past it.
        limit = self._decoder.max_positions - max(request.cached for request in group)
        if ids.shape[1] > limit:
            for index in range(len(group)):
                row = range(first + index, first + index + 1)
                logits = self._extend(
                    row, ids[index : index + 1, : widths[index]], starts[index : index + 1], [widths[index] - 1]
                )
                self._sample(row, logits)
        else:
            rows = range(first, first + len(group))
            self._sample(rows, self._extend(rows, ids, starts, [width - 1 for width in widths]))
        self._finish()

    def _decode(self) -> None:
        rows = range(len(self._rows))
        ids = torch.tensor([[request.tokens[-1]] for request in self._rows])
        starts = torch.tensor([request.length for request in self._rows])
        for request in self._rows:
            request.length += 1
        self.stats.steps += 1
        self.stats.row_steps += len(rows)
        self._sample(rows, self._extend(rows, ids, starts, [0] * len(rows)))
        self._finish()

    def _extend(self, rows: range, ids: Tensor, starts: Tensor, last: list[int]) -> Tensor:
        device = self._device
        return self._decoder.extend(rows, ids.to(device), starts.to(device), torch.tensor(last, device=device))

    @torch.inference_mode()
    def _sample(self, rows: range, logits: Tensor) -> None:
        """Inverse-CDF sampling: one uniform number per token from the request's own generator."""
        requests = [self._rows[row] for row in rows]
        logprobs = torch.log_softmax(logits.float(), -1).cpu()
        temperatures = [request.params.temperature for request in requests]
        if all(temperature == 1.0 for temperature in temperatures):
            scaled = logprobs
        else:
            safe = torch.tensor([temperature or 1.0 for temperature in temperatures])
            scaled = torch.log_softmax(logprobs / safe[:, None], -1)
        cumulative = scaled.double().exp().cumsum(-1)
        draws = torch.tensor([request.random.random() for request in requests], dtype=torch.float64)
        chosen = torch.searchsorted(cumulative, (draws * cumulative[:, -1])[:, None], right=True)[:, 0]
        chosen = chosen.clamp_max(logits.shape[1] - 1)
        if 0.0 in temperatures:
            greedy = torch.tensor([temperature == 0.0 for temperature in temperatures])
            chosen = torch.where(greedy, logprobs.argmax(-1), chosen)
        picked = logprobs.gather(1, chosen[:, None])[:, 0].tolist()
        for index, (request, token, logprob) in enumerate(zip(requests, chosen.tolist(), picked, strict=True)):
            request.tokens.append(token)
            request.logprobs.append(logprob)
            if request.params.top_logprobs:
                top = logprobs[index].topk(min(request.params.top_logprobs, logprobs.shape[1]))
                request.top.append(list(zip(top.indices.tolist(), top.values.tolist(), strict=True)))
        self.stats.sampled_tokens += len(requests)

    def _finish(self) -> None:
        """Answer the requests that are done; the last row fills each hole so that rows stay neighbours."""
        for row in reversed(range(len(self._rows))):
            request = self._rows[row]
            stopped = request.tokens[-1] in request.params.stop_ids
            full = len(request.tokens) >= request.params.max_tokens or request.length >= self._decoder.max_positions
            if not (stopped or full):
                continue
            computed = [*request.prompt, *request.tokens][: request.length]
            self._prefixes.add(computed, self._decoder.save(row, request.length), request.parent, request.cached)
            if not request.future.done():
                request.future.set_result(
                    Completion(
                        prompt_ids=request.prompt,
                        token_ids=request.tokens,
                        logprobs=request.logprobs,
                        finish_reason="stop" if stopped else "length",
                        step=self.step,
                        cached_tokens=request.cached,
                        top_logprobs=request.top,
                    )
                )
            self._leave(row)

    def _leave(self, row: int) -> None:
        last = self._rows.pop()
        if row < len(self._rows):
            self._rows[row] = last
            self._decoder.move(len(self._rows), row, last.length)


async def _quiet(loop: asyncio.AbstractEventLoop) -> None:
    """Return when the loop has no callback left to run, so that a step takes along everyone who can come.

    ``_ready`` is private to asyncio's own loops; another loop gets a fixed number of turns instead.
    """
    ready = getattr(loop, "_ready", None)
    quiet = 0
    for _ in range(2_000 if ready is not None else 20):
        await asyncio.sleep(0)
        quiet = quiet + 1 if ready is not None and not ready else 0
        if quiet == 2:  # the second look is for a socket that the first one's callbacks wrote to
            return
