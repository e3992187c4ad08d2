"""Chat models for tests: one that says what it is told to, and tools to go with it.

``ScriptedReplies`` is a real LangChain chat model, so a test exercises the whole path that a served model would take.
For a whole rule-based expert use ``agents.scripted.ScriptedModel``.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

Reply = str | AIMessage | Exception


class ScriptedReplies(BaseChatModel):
    """Gives ``replies`` one after the other and keeps what it was asked; an exception among them is raised."""

    replies: list[Any]
    """Of type ``Reply``."""
    asked: list[list[BaseMessage]] = Field(default_factory=list)
    """The messages of each call so far."""
    bound: list[list[str]] = Field(default_factory=list)
    """The names of the tools of each ``bind_tools``."""

    @property
    def _llm_type(self) -> str:
        return "scripted-replies"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> "ScriptedReplies":
        self.bound.append([tool.name for tool in tools])
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.asked.append(list(messages))
        reply: Reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        message = AIMessage(reply) if isinstance(reply, str) else reply
        return ChatResult(generations=[ChatGeneration(message=message)])


def call(tool: str, call_id: str = "1", /, **arguments: str) -> AIMessage:
    """A completion that calls one tool."""
    return AIMessage("", tool_calls=[ToolCall(name=tool, args=dict(arguments), id=call_id, type="tool_call")])
