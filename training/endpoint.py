"""One chat completion, from messages to an answer: what the HTTP server and the in-process chat model both call.

Owns the served name ``NAME@STEP`` and a journal of everything it answered, by session, so that a capture layer can
prove that it recorded each completion once. Leaves HTTP to ``server`` and sampling to ``engine``.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from transformers import PreTrainedTokenizerBase

from simulation.faults import InfrastructureError
from training.chat import Message, ParsedCompletion, ToolSchema, parse_completion, render_prompt
from training.engine import Completion, PolicyEngine, SamplingParams


class UnknownModelError(InfrastructureError):
    """The request names a model that is not served here, or a step that is no longer loaded."""

    def __init__(self, message: str, stale: bool) -> None:
        super().__init__(message)
        self.stale = stale
        """True when the name is right and only the step is old."""


@dataclass(frozen=True)
class ChatRequest:
    """A chat completion request, its messages ready for the template."""

    model: str
    messages: Sequence[Message]
    tools: Sequence[ToolSchema] | None = None
    temperature: float = 1.0
    max_tokens: int = 128
    seed: int | None = None
    top_logprobs: int = 0
    session: str | None = None
    """Whose journal the answer goes into; ``None`` keeps none."""


@dataclass(frozen=True)
class ChatAnswer:
    """A completion with its name and its reading."""

    id: str
    model: str
    completion: Completion
    text: str
    """The completion decoded, special tokens left out."""
    parsed: ParsedCompletion


@dataclass
class PolicyEndpoint:
    """A served policy."""

    engine: PolicyEngine
    tokenizer: PreTrainedTokenizerBase
    name: str
    """The model's name without its step."""
    _journal: dict[str, list[ChatAnswer]] = field(default_factory=dict)
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def model(self) -> str:
        """The name requests must use now."""
        return f"{self.name}@{self.engine.step}"

    def open_session(self, session: str) -> None:
        """Begin a journal."""
        self._journal[session] = []

    def close_session(self, session: str) -> list[ChatAnswer]:
        """End a journal and hand it over: every answer given in that session, in order."""
        return self._journal.pop(session, [])

    def check(self, model: str) -> int:
        """The step that ``model`` names.

        Raises:
            UnknownModelError: If it is not the model and step loaded.
        """
        name, _, step = model.rpartition("@")
        if model == self.name or (name == self.name and step == str(self.engine.step)):
            return self.engine.step
        stale = name == self.name and step.isdigit()
        problem = f"step {step} is not loaded" if stale else f"there is no model {model!r} here"
        raise UnknownModelError(f"{problem}; ask for {self.model!r}", stale)

    async def complete(self, request: ChatRequest) -> ChatAnswer:
        """Answer ``request``.

        Raises:
            UnknownModelError: If it names another model or a stale step.
            PromptTooLongError: If the prompt leaves no room for an answer.
        """
        step = self.check(request.model)
        end = self.tokenizer.eos_token_id
        params = SamplingParams(
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            seed=request.seed,
            stop_ids=frozenset({end}) if isinstance(end, int) else frozenset(),
            top_logprobs=request.top_logprobs,
        )
        completion = await self.engine.generate(
            render_prompt(self.tokenizer, request.messages, request.tools), params, step
        )
        text = self.tokenizer.decode(completion.token_ids, skip_special_tokens=True)
        assert isinstance(text, str)
        answer = ChatAnswer(f"chatcmpl-{next(self._numbers)}", self.model, completion, text, parse_completion(text))
        if request.session is not None and request.session in self._journal:
            self._journal[request.session].append(answer)
        return answer
