"""A policy as a LangChain chat model, in-process: the same endpoint as the HTTP server without the HTTP.

It is a plain ``Runnable`` with ``bind_tools``: LangChain's chat model base class spends more time on callbacks than
the sampler does on a short answer. What it returns looks like ``ChatOpenAI``'s answer, token ids added.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from training.chat import ToolSchema, langchain_messages
from training.endpoint import ChatAnswer, ChatRequest, PolicyEndpoint
from training.server import token_logprobs


@dataclass(frozen=True)
class ChatSettings:
    """How a chat model samples."""

    temperature: float = 1.0
    max_tokens: int = 128
    seed: int | None = None
    logprobs: bool = True
    session: str | None = None


class PolicyChatModel(Runnable[LanguageModelInput, AIMessage]):
    """Chat completions of a ``PolicyEndpoint``."""

    def __init__(
        self,
        endpoint: PolicyEndpoint,
        settings: ChatSettings,
        model: str | None = None,
        tools: Sequence[ToolSchema] | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._model = model
        self._tools = tools

    def bind_tools(
        self, tools: Sequence[BaseTool | ToolSchema | Callable[..., object] | type], **_: object
    ) -> "PolicyChatModel":
        """The same model, told of ``tools``."""
        schemas = [convert_to_openai_tool(tool) for tool in tools]  # pyright: ignore[reportArgumentType]
        return PolicyChatModel(self._endpoint, self._settings, self._model, schemas)

    def with_settings(self, settings: ChatSettings) -> "PolicyChatModel":
        """The same model, sampled otherwise."""
        return PolicyChatModel(self._endpoint, settings, self._model, self._tools)

    def with_seed(self, seed: int) -> "PolicyChatModel":
        """The same model with another seed."""
        return self.with_settings(replace(self._settings, seed=seed))

    def invoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: object) -> AIMessage:
        """Only outside an event loop."""
        return asyncio.run(self.ainvoke(input, config))

    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: object
    ) -> AIMessage:
        """One completion of ``input``."""
        settings = self._settings
        answer = await self._endpoint.complete(
            ChatRequest(
                model=self._model or self._endpoint.model,
                messages=langchain_messages(as_messages(input)),
                tools=self._tools,
                temperature=settings.temperature,
                max_tokens=settings.max_tokens,
                seed=settings.seed,
                session=settings.session,
            )
        )
        return to_ai_message(answer, settings.logprobs)


def as_messages(model_input: LanguageModelInput) -> list[BaseMessage]:
    """Messages from whatever LangChain lets a caller pass."""
    if isinstance(model_input, PromptValue):
        return model_input.to_messages()
    if isinstance(model_input, str):
        return convert_to_messages([("user", model_input)])
    if all(isinstance(message, BaseMessage) for message in model_input):
        return list(model_input)  # pyright: ignore[reportReturnType]
    return convert_to_messages(model_input)


def to_ai_message(answer: ChatAnswer, logprobs: bool) -> AIMessage:
    """``answer`` as LangChain's ``ChatOpenAI`` would return it."""
    completion = answer.completion
    metadata: Mapping[str, object] = {
        "id": answer.id,
        "model_name": answer.model,
        "model_provider": "openai",
        "finish_reason": completion.finish_reason,
        "logprobs": {"content": token_logprobs(answer), "refusal": None} if logprobs else None,
    }
    return AIMessage(
        content=answer.parsed.content,
        id=answer.id,
        tool_calls=[
            {"name": call.name, "args": call.arguments, "id": f"{answer.id}-{index}", "type": "tool_call"}
            for index, call in enumerate(answer.parsed.calls)
        ],
        response_metadata=dict(metadata),
        usage_metadata={
            "input_tokens": len(completion.prompt_ids),
            "output_tokens": len(completion.token_ids),
            "total_tokens": len(completion.prompt_ids) + len(completion.token_ids),
        },
    )
