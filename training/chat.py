"""Between messages and tokens: rendering prompts, reading completions, speaking OpenAI's dialect.

One rendering serves the server, the trainer and the capture layer, so the three cannot disagree. Earlier tool calls
are rendered from parsed arguments: a template would quote a JSON string a second time.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

Message = dict[str, object]
"""A chat message as a template reads it; ``tool_calls`` carry parsed arguments."""

ToolSchema = dict[str, object]

_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)


@dataclass(frozen=True)
class ParsedCall:
    """One well-formed Hermes tool call."""

    name: str
    arguments: dict[str, object]


@dataclass(frozen=True)
class ParsedCompletion:
    """A completion's text outside its calls (malformed calls stay in it), and the calls in order."""

    content: str
    calls: tuple[ParsedCall, ...]


def render_prompt(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], tools: Sequence[ToolSchema] | None
) -> list[int]:
    """The token ids of a prompt that asks the assistant to speak next."""
    return encode_messages(tokenizer, messages, tools, prompt=True)


def encode_messages(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], tools: Sequence[ToolSchema] | None, *, prompt: bool
) -> list[int]:
    """The token ids of ``messages`` as the template writes them, with the opening of an answer if ``prompt``."""
    text = tokenizer.apply_chat_template(
        list(messages),  # pyright: ignore[reportArgumentType]
        tools=list(tools) if tools else None,  # pyright: ignore[reportArgumentType]
        add_generation_prompt=prompt,
        tokenize=False,
    )
    assert isinstance(text, str)
    if isinstance(tokenizer, PreTrainedTokenizerFast):
        # Three times as fast as going through ``BatchEncoding``, and rendering is on every call's path.
        return tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
    return tokenizer.encode(text, add_special_tokens=False)


def parse_completion(text: str) -> ParsedCompletion:
    """Read Hermes tool calls out of ``text``. Whatever is not one JSON object with a name and arguments stays text."""
    if "<tool_call>" not in text:
        return ParsedCompletion(text.strip(), ())
    calls: list[ParsedCall] = []
    rest: list[str] = []
    position = 0
    for match in _CALL.finditer(text):
        call = _parse_call(match.group(1))
        rest.append(text[position : match.start() if call else match.end()])
        position = match.end()
        if call:
            calls.append(call)
    rest.append(text[position:])
    return ParsedCompletion("".join(rest).strip(), tuple(calls))


def _parse_call(body: str) -> ParsedCall | None:
    try:
        written = json.loads(body)
    except ValueError:
        return None
    if not isinstance(written, dict) or not isinstance(written.get("name"), str):
        return None
    arguments = _parsed(written.get("arguments"))
    return ParsedCall(written["name"], arguments) if isinstance(arguments, dict) else None


def _parsed(arguments: object) -> object:
    """Arguments as an object, from the JSON string that OpenAI's wire format makes of them."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def wire_messages(messages: Sequence[Mapping[str, object]]) -> list[Message]:
    """Messages as a client sent them, for the template: text content, parsed arguments, ``None`` as empty."""
    read: list[Message] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        kept: Message = {"role": message["role"], "content": content or ""}
        calls = message.get("tool_calls")
        if isinstance(calls, list) and calls:
            kept["tool_calls"] = [_template_call(call) for call in calls]
        if message.get("tool_call_id"):
            kept["tool_call_id"] = message["tool_call_id"]
        read.append(kept)
    return read


def _template_call(call: Mapping[str, object]) -> Message:
    function = call.get("function")
    function = function if isinstance(function, dict) else call
    arguments = _parsed(function.get("arguments", function.get("args")))
    return {
        "id": call.get("id"),
        "type": "function",
        "function": {"name": function.get("name"), "arguments": arguments},
    }


def langchain_messages(messages: Sequence[BaseMessage]) -> list[Message]:
    """LangChain's messages for the template. Calls that LangChain could not parse are left to the message's text."""
    read: list[Message] = []
    for message in messages:
        kept: Message = {"role": _role(message), "content": message.text}
        if isinstance(message, AIMessage) and message.tool_calls:
            kept["tool_calls"] = [
                {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["args"]}}
                for call in message.tool_calls
            ]
        if isinstance(message, ToolMessage):
            kept["tool_call_id"] = message.tool_call_id
        read.append(kept)
    return read


def _role(message: BaseMessage) -> str:
    match message:
        case HumanMessage():
            return "user"
        case AIMessage():
            return "assistant"
        case SystemMessage():
            return "system"
        case ToolMessage():
            return "tool"
    raise TypeError(f"a {type(message).__name__} has no role in a chat template")
