"""Reading the tool calls of a completion, however broken, and running the good ones.

Promises: nothing a model writes raises here; whatever is no proper call becomes an error that the model reads; the
message that goes into the history has only calls that any chat template or server accepts back. A failing database
is not the model's doing and does raise.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from pydantic import ValidationError

from agents.config import Style

_RAW_CALL = re.compile(r"</?tool_call>")
_BARE_CALL = re.compile(r'^\s*(```(?:json)?\s*)?[\[{].*"name"\s*:.*"(arguments|parameters)"', re.DOTALL)
_THOUGHT = re.compile(r"<think>.*?(</think>|$)", re.DOTALL)
_NAME = re.compile(r'"name"\s*:\s*"([^"]*)"')
_SAFE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

_ERRORS: dict[Style, dict[str, str]] = {
    "compact": {
        "unreadable": "error : unreadable call",
        "unknown": "error : no such tool",
        "arguments": "error : bad arguments",
    },
    "full": {
        "unreadable": "Error: this tool call could not be read. Write one call, with one JSON object as its arguments.",
        "unknown": "Error: there is no tool of that name. Available: {tools}.",
        "arguments": "Error: the arguments do not fit the tool's schema: {detail}",
    },
}


@dataclass(frozen=True)
class Call:
    """One attempted call. ``readable`` is false when its arguments are not one JSON object."""

    id: str
    name: str
    arguments: dict[str, object]
    readable: bool = True


@dataclass(frozen=True)
class Completion:
    """A model's message as read: what to keep in the history, the calls in it, the text meant for the user."""

    message: AIMessage
    calls: tuple[Call, ...]
    text: str


def read_completion(message: AIMessage, first_id: int) -> Completion:
    """Sort out one completion; calls without an id are numbered from ``first_id``."""
    text = visible_text(message)
    raw = bool(_RAW_CALL.search(text) or _BARE_CALL.match(text))
    if not message.tool_calls and not message.invalid_tool_calls and not raw:
        return Completion(message, (), text)
    calls = [Call(call["id"] or "", call["name"] or "", dict(call["args"])) for call in message.tool_calls]
    calls += [
        Call(call.get("id") or "", call.get("name") or "", {}, readable=False) for call in message.invalid_tool_calls
    ]
    if raw:
        named = _NAME.search(text)
        calls.append(Call("", named.group(1) if named else "", {}, readable=False))
        text = _RAW_CALL.split(text)[0].strip() if _RAW_CALL.search(text) else ""
    calls = _with_unique_ids(calls, first_id)
    return Completion(_acceptable(message, calls, text), tuple(calls), text)


def visible_text(message: AIMessage) -> str:
    """What the model says aloud: without the reasoning that some servers leave in the text."""
    return _THOUGHT.sub("", message.text).strip()


def refused_by_langchain(error: ValidationError) -> AIMessage | None:
    """The message LangChain could not build because a call's arguments were, say, a list; ``None`` for other errors."""
    if error.title != "AIMessage" or not any("tool_calls" in item["loc"] for item in error.errors()):
        return None
    return AIMessage(
        "", invalid_tool_calls=[{"type": "invalid_tool_call", "name": "", "args": "", "id": None, "error": ""}]
    )


def _with_unique_ids(calls: list[Call], first_id: int) -> list[Call]:
    seen: set[str] = set()
    unique: list[Call] = []
    for number, call in enumerate(calls, first_id):
        call_id = call.id if call.id and call.id not in seen else f"call_{number}"
        seen.add(call_id)
        unique.append(Call(call_id, call.name, call.arguments, call.readable))
    return unique


def _acceptable(message: AIMessage, calls: list[Call], text: str) -> AIMessage:
    as_written = [(call["id"], call["name"]) for call in message.tool_calls]
    safe = [(call.id, call.name if _SAFE_NAME.fullmatch(call.name) else "invalid_call") for call in calls]
    if as_written == safe and not message.invalid_tool_calls and visible_text(message) == text:
        return message
    return AIMessage(
        content=text,
        tool_calls=[
            ToolCall(name=name, args=call.arguments, id=call_id, type="tool_call")
            for (call_id, name), call in zip(safe, calls, strict=True)
        ],
    )


async def run_call(call: Call, tools: Mapping[str, BaseTool], style: Style) -> ToolMessage:
    """The tool's answer, or an error for the model to read."""
    errors = _ERRORS[style]
    if not call.readable:
        return _error(call, errors["unreadable"])
    tool = tools.get(call.name)
    if tool is None:
        return _error(call, errors["unknown"].format(tools=", ".join(tools)))
    request = ToolCall(name=call.name, args=call.arguments, id=call.id, type="tool_call")
    try:
        # A tool without a coroutine would be sent to a thread: slower than the query, and not where its session lives.
        answer = await tool.ainvoke(request) if getattr(tool, "coroutine", None) else tool.invoke(request)
    except (ValidationError, ToolException) as error:
        detail = json.dumps(str(error).splitlines()[1:3]) if isinstance(error, ValidationError) else str(error)
        return _error(call, errors["arguments"].format(detail=detail))
    assert isinstance(answer, ToolMessage), f"{call.name} answered with {type(answer).__name__}"
    return answer


def _error(call: Call, content: str) -> ToolMessage:
    return ToolMessage(content=content, tool_call_id=call.id, name=call.name or None, status="error")
