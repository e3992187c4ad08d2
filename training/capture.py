"""Traces of a dialogue's model calls, made through ART's LangGraph integration and proved against the server.

``wrap_rollout`` and ``init_chat_model`` carry the model's address and log every call; this layer gives the chat model
they make its sampling settings and the current step's name, keeps the log in memory, and turns each call into one
``History`` of its own: the messages before it as plain dicts with parsed arguments, the answer as a ``Choice`` of
sampled tokens. Nothing is trained on that has not been proved: as many calls recorded as the server answered, and
each history tokenises to the prompt the server rendered and the tokens it sampled. Anything else is a ``CaptureError``.

What each step guards against in ART 0.5.18 is told where it stands ("defect N": docs/log.md).
"""

import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, Literal, TypeVar

import art
import httpx
from art.langgraph import init_chat_model, wrap_rollout
from art.langgraph.llm_wrapper import CURRENT_CONFIG, LoggingLLM
from art.preprocessing.tokenize import TokenizedResult
from art.trajectories import History
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_openai import ChatOpenAI
from openai.types.chat import ChatCompletionMessage
from openai.types.chat.chat_completion import Choice, ChoiceLogprobs
from pydantic import SecretStr
from transformers import PreTrainedTokenizerBase

from simulation.faults import InfrastructureError
from training.chat import Message, ToolSchema, langchain_messages
from training.credit import ProvedTrajectory, tokenise_call
from training.endpoint import ChatAnswer, PolicyEndpoint
from training.policy_model import ChatSettings, PolicyChatModel, as_messages

LITTER = Path(".art/langgraph")
"""Defect 11: where ART would log each call, in the working directory."""

Transport = Literal["in_process", "http"]
T = TypeVar("T")

_node: ContextVar[str] = ContextVar("concierge_node", default="")


class CaptureError(InfrastructureError):
    """A trace that cannot be trusted: the episode is dropped and counted, not scored."""


@dataclass(frozen=True)
class RecordedCall:
    """One model call as the client saw it."""

    id: str
    node: str
    """The metadata ``concierge_node`` of the call; empty when it had none."""
    messages: list[Message]
    tools: list[ToolSchema] | None
    token_ids: list[int]
    logprobs: list[float]
    prompt_tokens: int
    """As the server counted them."""
    finish_reason: Literal["stop", "length", "tool_calls"]


@dataclass
class Recorder:
    """Stands in for ART's file logger: same two methods, no files."""

    calls: list[RecordedCall] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def log(self, name: str, entry: dict[str, object]) -> None:
        """ART calls this after every completion. What cannot be recorded is remembered, not raised into the agent."""
        try:
            self.calls.append(_read_entry(entry, _node.get()))
        except CaptureError as error:
            self.errors.append(f"call {len(self.calls) + 1}: {error}")

    def load_logs(self) -> list[tuple[str, dict[str, object]]]:
        """Nothing: ART's merging of calls by message equality (defects 4, 8, 9) gets no input."""
        return []


def _read_entry(entry: dict[str, object], node: str) -> RecordedCall:
    output = entry["output"]
    if not isinstance(output, AIMessage):
        raise CaptureError(f"the model answered with a {type(output).__name__}")
    metadata = output.response_metadata
    content = (metadata.get("logprobs") or {}).get("content")
    if not content:
        # Defect 7: ART would train on nothing, silently.
        raise CaptureError("the server sent no log-probabilities; it must honour logprobs=true")
    return RecordedCall(
        id=str(metadata.get("id") or output.id),
        node=node,
        messages=langchain_messages(as_messages(entry["input"])),  # pyright: ignore[reportArgumentType]
        tools=entry["tools"] or None,  # pyright: ignore[reportArgumentType]
        token_ids=[_token_id(item["token"]) for item in content],
        logprobs=[item["logprob"] for item in content],
        prompt_tokens=(output.usage_metadata or {}).get("input_tokens", -1),
        finish_reason=metadata.get("finish_reason", "stop"),
    )


def _token_id(token: str) -> int:
    prefix, _, number = token.partition(":")
    if prefix != "token_id" or not number.isdigit():
        raise CaptureError(f"the server names a token {token!r}; it must send token ids (return_tokens_as_token_ids)")
    return int(number)


class RecordedChatModel(Runnable[LanguageModelInput, AIMessage]):
    """ART's logging chat model, with only what is safe in it: ``with_config`` would undo the settings (defect 6)."""

    def __init__(self, logging: LoggingLLM) -> None:
        self._logging = logging

    def bind_tools(self, tools: Sequence[object], **_: object) -> "RecordedChatModel":
        """The same model, told of ``tools``."""
        return RecordedChatModel(self._logging.bind_tools(tools))

    def invoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: object) -> AIMessage:
        """Not offered: rollouts are concurrent."""
        raise NotImplementedError("a recorded model is asynchronous: use ainvoke")

    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: object
    ) -> AIMessage:
        """One completion, recorded under the node that the call's metadata name."""
        token = _node.set(str(((config or {}).get("metadata") or {}).get("concierge_node", "")))
        try:
            # ART hands back the very message it recorded; the caller may change its own.
            return (await self._logging.ainvoke(input, config)).model_copy(deep=False)
        finally:
            _node.reset(token)


@dataclass(frozen=True)
class CaptureTarget:
    """Which model is asked, and how."""

    model: art.TrainableModel
    """Registered with its backend."""
    tokenizer: PreTrainedTokenizerBase
    endpoint: PolicyEndpoint | None = None
    """The model's endpoint where it lives in this process: its journal is checked against the trace."""
    transport: Transport = "in_process"
    """``http`` goes through the server even if the endpoint is here."""
    http: httpx.AsyncClient | None = None
    """Shared by the rollouts of a run when ``transport`` is ``http``."""


@dataclass(frozen=True)
class Captured(Generic[T]):
    """What a rollout did: its trace, its value, and why it failed if it did."""

    trajectory: ProvedTrajectory
    """All calls made, also when the rollout raised (defect 8); trust it for training only if ``error`` is ``None``."""
    calls: list[RecordedCall]
    value: T | None
    error: Exception | None


async def capture(
    target: CaptureTarget, settings: ChatSettings, play: Callable[[RecordedChatModel], Awaitable[T]]
) -> Captured[T]:
    """Run ``play`` with a recorded chat model, and prove the trace.

    ``error`` is what ``play`` raised, or the ``CaptureError`` of a trace that does not agree with the server.
    """
    session = uuid.uuid4().hex
    recorder = Recorder()
    value: T | None = None
    error: Exception | None = None
    step = await target.model.get_step()
    # Defect 5: ART leaves the name of the step at which the model was registered.
    target.model.inference_model_name = target.model.get_inference_name(step)

    async def fn() -> ProvedTrajectory:
        nonlocal value, error
        CURRENT_CONFIG.get()["logger"] = recorder
        logging = init_chat_model()
        # Defect 6: ART's chat model has a temperature of 1 and no other setting.
        chat_model = _chat_model(target, replace(settings, session=session, logprobs=True))
        logging.llm = chat_model  # pyright: ignore[reportAttributeAccessIssue]
        try:
            value = await play(RecordedChatModel(logging))
        except Exception as raised:
            error = raised
        return ProvedTrajectory()

    if target.endpoint is not None:
        target.endpoint.open_session(session)
    try:
        with sweep_litter():
            trajectory = await wrap_rollout(target.model, fn)()
    finally:
        answers = target.endpoint.close_session(session) if target.endpoint is not None else None
    assert isinstance(trajectory, ProvedTrajectory)
    histories = [build_history(call) for call in recorder.calls]
    if histories:
        trajectory.messages_and_choices = histories[0].messages_and_choices
        trajectory.tools = histories[0].tools
        trajectory.additional_histories = histories[1:]
    trajectory.initial_policy_version = trajectory.final_policy_version = step
    if error is None:
        try:
            verify(trajectory, recorder, answers, target.tokenizer)
        except CaptureError as raised:
            error = raised
    return Captured(trajectory, recorder.calls, value, error)


def _chat_model(target: CaptureTarget, settings: ChatSettings) -> Runnable[LanguageModelInput, AIMessage]:
    name = target.model.inference_model_name
    if target.transport == "in_process" and target.endpoint is not None:
        return PolicyChatModel(target.endpoint, settings, model=name)
    return ChatOpenAI(
        base_url=target.model.inference_base_url,
        api_key=SecretStr(target.model.inference_api_key or "none"),
        model=name or target.model.name,
        temperature=settings.temperature,
        max_completion_tokens=settings.max_tokens,
        seed=settings.seed,
        logprobs=True,
        max_retries=0,  # a repeated request would be a completion nobody recorded
        model_kwargs={"user": settings.session},
        http_async_client=target.http,
    )


def current_node() -> str:
    """The node whose call is being answered, for a logger."""
    return _node.get()


@contextmanager
def sweep_litter() -> Iterator[None]:
    """Remove the empty directories ART makes (nothing is ever written into them), unless they were there before."""
    littered = LITTER.exists()
    try:
        yield
    finally:
        for directory in () if littered else (LITTER, LITTER.parent):
            with suppress(OSError):
                directory.rmdir()


def build_history(call: RecordedCall) -> History:
    """One call as ART trains on it: the answer carries only its sampled tokens (defects 1, 2, 9)."""
    logprobs = ChoiceLogprobs.model_validate(
        {
            "content": [
                {"token": f"token_id:{token}", "logprob": logprob, "bytes": [], "top_logprobs": []}
                for token, logprob in zip(call.token_ids, call.logprobs, strict=True)
            ]
        }
    )
    message = ChatCompletionMessage(role="assistant", content="")
    choice = Choice(index=0, finish_reason=call.finish_reason, message=message, logprobs=logprobs)
    return History.model_construct(messages_and_choices=[*call.messages, choice], tools=call.tools)


def verify(
    trajectory: ProvedTrajectory,
    recorder: Recorder,
    answers: list[ChatAnswer] | None,
    tokenizer: PreTrainedTokenizerBase,
) -> None:
    """Prove that ``trajectory`` holds exactly what was sampled; it keeps the tokens for the trainer.

    Raises:
        CaptureError: Naming the first disagreement.
    """
    if recorder.errors:
        raise CaptureError(recorder.errors[0])
    calls = recorder.calls
    by_id = {answer.id: answer for answer in answers or ()}
    if answers is not None and (len(answers) != len(calls) or by_id.keys() != {call.id for call in calls}):
        raise CaptureError(f"{len(calls)} completions were recorded, but the server answered {len(answers)}")
    first = History.model_construct(messages_and_choices=trajectory.messages_and_choices, tools=trajectory.tools)
    histories = [first, *trajectory.additional_histories] if calls else []
    results = []
    for index, (call, history) in enumerate(zip(calls, histories, strict=True)):
        try:
            result = tokenise_call(history, trajectory, tokenizer)
        except (ValueError, AssertionError, KeyError) as error:
            raise CaptureError(f"call {index + 1} ({call.node or 'unnamed'}) does not tokenise: {error}") from error
        if result is None:
            raise CaptureError(f"call {index + 1} has nothing to train on")
        _compare(f"call {index + 1} ({call.node or 'unnamed'})", call, result, by_id.get(call.id))
        results.append(result)
    trajectory.prove(results, [call.node for call in calls])


def _compare(name: str, call: RecordedCall, result: TokenizedResult, answer: ChatAnswer | None) -> None:
    prompt_tokens = len(result.token_ids) - len(call.token_ids)
    expected = [*result.token_ids[:prompt_tokens], *call.token_ids]
    if answer is not None:
        expected = [*answer.completion.prompt_ids, *answer.completion.token_ids]
    if call.prompt_tokens not in (-1, prompt_tokens) or result.token_ids != expected:
        raise CaptureError(
            f"{name} tokenises to {len(result.token_ids)} tokens, "
            f"the server saw {call.prompt_tokens} + {len(call.token_ids)}"
        )
    if result.assistant_mask != [0] * prompt_tokens + [1] * len(call.token_ids):
        raise CaptureError(f"{name}: the trained tokens are not the sampled tokens")
    if result.logprobs[prompt_tokens:] != call.logprobs:
        raise CaptureError(f"{name}: log-probabilities stand at the wrong tokens")
