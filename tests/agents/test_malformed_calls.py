"""Whatever a model writes instead of a tool call: the model is told, the user never sees it, nothing is raised.

Each case goes through the graph twice over: as a LangChain message, and as what a real OpenAI-compatible server sends,
through ``ChatOpenAI`` over an in-process transport.
"""

import json

import httpx
import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from agents.config import COMPACT, FULL, AgentConfig
from agents.expert import APOLOGY
from agents.graph import build_graph
from agents.turns import Turn
from tests.fakes import ScriptedReplies, call
from tools.toolbox import Toolbox

UNREADABLE = "error : unreadable call"
UNKNOWN = "error : no such tool"
GOOD = call("find_hotels", "good", area="north")
REPLY = "{hotel.name} is available ."


def _invalid(arguments: str, name: str | None = "find_hotels") -> AIMessage:
    return AIMessage("", invalid_tool_calls=[invalid_tool_call(name=name, args=arguments, id="bad", error="no JSON")])


def _calling(name: str, call_id: str | None = "bad", **arguments: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": dict(arguments), "id": call_id, "type": "tool_call"}])


def _with(arguments: dict[str, object]) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "find_hotels", "args": arguments, "id": "x", "type": "tool_call"}])


MESSAGES: dict[str, tuple[AIMessage, str]] = {
    "truncated JSON": (_invalid('{"area": "nor'), UNREADABLE),
    "two objects in one call": (_invalid('{"area": "north"}{"area": "south"}'), UNREADABLE),
    "no name and no JSON": (_invalid("", name=None), UNREADABLE),
    "unknown tool": (_calling("find_taxis", area="north"), UNKNOWN),
    "unknown tool with a name no server takes": (_calling("find hotels!", area="north"), UNKNOWN),
    "the other expert's tool": (_calling("find_restaurants", area="north"), UNKNOWN),
    "empty call": (_calling(""), UNKNOWN),
    "no id": (_calling("", None), UNKNOWN),
    "truncated tag": (AIMessage('<tool_call>\n{"name": "find_hotels", "argum'), UNREADABLE),
    "empty tag": (AIMessage("<tool_call></tool_call>"), UNREADABLE),
    "two objects in a tag": (AIMessage('<tool_call>{"name": "a"} {"name": "b"}</tool_call>'), UNREADABLE),
    "list in a tag": (AIMessage('<tool_call>["find_hotels"]</tool_call>'), UNREADABLE),
    "closing tag alone": (AIMessage('{"name": "find_hotels"}</tool_call>'), UNREADABLE),
    "words before the tag": (AIMessage('let me see <tool_call>{"name": "find_hotels"'), UNREADABLE),
    "a call without a tag": (AIMessage('{"name": "find_hotels", "arguments": {"area": "north"}}'), UNREADABLE),
    "content in blocks": (AIMessage([{"type": "text", "text": '<tool_call>{"name"'}]), UNREADABLE),
}


@pytest.mark.parametrize(("message", "error"), MESSAGES.values(), ids=MESSAGES.keys())
async def test_the_model_is_told_and_goes_on(toolbox: Toolbox, message: AIMessage, error: str):
    model = ScriptedReplies(replies=["hotel", message, GOOD, REPLY])
    turn = await build_graph(model, toolbox, COMPACT).respond("a hotel in the north")
    assert turn.text == "acorn guest house is available ."
    bad, good = turn.tool_events
    assert (bad.content, bad.artifact) == (error, None)
    assert good.artifact is not None
    _assert_well_formed(model.asked[-1])
    assert model.asked[-1][3].text == error


@pytest.mark.parametrize(("message", "error"), MESSAGES.values(), ids=MESSAGES.keys())
async def test_a_model_that_never_learns_ends_in_an_apology(toolbox: Toolbox, message: AIMessage, error: str):
    model = ScriptedReplies(replies=["hotel", *[message] * 9])
    turn = await build_graph(model, toolbox, COMPACT).respond("a hotel in the north")
    assert turn.text == APOLOGY
    assert turn.notes == ["tool_limit"]
    assert {event.content for event in turn.tool_events} == {error}


async def test_good_calls_beside_a_bad_one_run(toolbox: Toolbox):
    mixed = AIMessage("", tool_calls=GOOD.tool_calls, invalid_tool_calls=_invalid("{").invalid_tool_calls)
    model = ScriptedReplies(replies=["hotel", mixed, REPLY])
    turn = await build_graph(model, toolbox, COMPACT).respond("a hotel in the north")
    assert [event.artifact is not None for event in turn.tool_events] == [True, False]
    assert turn.text == "acorn guest house is available ."
    _assert_well_formed(model.asked[-1])


@pytest.mark.parametrize("config", [COMPACT, FULL], ids=["compact", "full"])
@pytest.mark.parametrize(
    "arguments", [{"area": ["north"]}, {"area": None}, {"area": 3}, {"wings": "two"}, {"area": {}}]
)
async def test_arguments_of_wrong_types_are_answered_in_words(
    toolbox: Toolbox, config: AgentConfig, arguments: dict[str, object]
):
    model = ScriptedReplies(replies=["hotel", _with(arguments), "ok ."])
    turn = await build_graph(model, toolbox, config).respond("a hotel")
    assert turn.text == "ok ."
    [event] = turn.tool_events
    assert event.content
    assert event.arguments == arguments


async def test_a_booking_without_arguments_is_answered_in_words(toolbox: Toolbox):
    model = ScriptedReplies(replies=["hotel", _calling("book_hotel"), "ok ."])
    [event] = (await build_graph(model, toolbox, COMPACT).respond("book")).tool_events
    assert event.content == "refused : need name people day stay"


async def test_full_style_errors_say_what_to_do(toolbox: Toolbox):
    model = ScriptedReplies(replies=["hotel", _invalid("{"), _calling("find_taxis"), "Sorry."])
    turn = await build_graph(model, toolbox, FULL).respond("a hotel")
    unreadable, unknown = (event.content for event in turn.tool_events)
    assert "one JSON object" in unreadable
    assert "find_hotels, book_hotel" in unknown


# --- as a server sends them ---

SERVED: dict[str, tuple[list[tuple[str | None, str]], str]] = {
    "truncated JSON": ([("find_hotels", '{"area": "nor')], UNREADABLE),
    "two objects in one call": ([("find_hotels", '{"area": "north"}{"area": "south"}')], UNREADABLE),
    "unknown tool": ([("find_taxis", "{}")], UNKNOWN),
    "list for object": ([("find_hotels", '["north"]')], UNREADABLE),
    "string for object": ([("find_hotels", '"north"')], UNREADABLE),
    "number for object": ([("find_hotels", "3")], UNREADABLE),
    "list beside a good call": ([("find_hotels", '{"area": "north"}'), ("find_hotels", '["north"]')], UNREADABLE),
    "empty call": ([("", "")], UNKNOWN),
}


@pytest.mark.parametrize(("calls", "error"), SERVED.values(), ids=SERVED.keys())
async def test_a_server_that_sends_a_malformed_call(toolbox: Toolbox, calls: list[tuple[str | None, str]], error: str):
    turn, requests = await _served(toolbox, [_wire("hotel"), _wire("", calls), _wire("sorry .")])
    assert turn.text == "sorry ."
    assert turn.tool_events[-1].content == error
    sent = requests[-1]["messages"]
    for made in (made for message in sent for made in message.get("tool_calls", [])):
        assert isinstance(json.loads(made["function"]["arguments"]), dict)
        assert made["function"]["name"]
    calls_sent = [made["id"] for message in sent for made in message.get("tool_calls", [])]
    assert calls_sent == [message["tool_call_id"] for message in sent if message["role"] == "tool"]


async def test_a_server_that_leaves_a_call_in_the_text(toolbox: Toolbox):
    turn, _ = await _served(toolbox, [_wire("hotel"), _wire('<tool_call>{"name": "find_ho'), _wire("sorry .")])
    assert turn.text == "sorry ."
    assert [event.content for event in turn.tool_events] == [UNREADABLE]


async def _served(toolbox: Toolbox, replies: list[dict[str, object]]) -> tuple[Turn, list[dict]]:
    requests: list[dict] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(json.loads(request.content))
        return httpx.Response(200, json=replies[len(requests) - 1])

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        model = ChatOpenAI(
            model="test", base_url="http://test/v1", api_key=SecretStr("none"), http_async_client=client, max_retries=0
        )
        turn = await build_graph(model, toolbox, COMPACT).respond("a hotel in the north")
    return turn, requests


def _wire(content: str, calls: list[tuple[str | None, str]] | None = None) -> dict[str, object]:
    made = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(calls or [])
    ]
    message = {"role": "assistant", "content": content, **({"tool_calls": made} if made else {})}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "test",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _assert_well_formed(messages: list[BaseMessage]) -> None:
    """Every call has a name that servers accept and an answer, and nothing unreadable is sent back."""
    asked: list[str] = []
    answered: list[str] = []
    for message in messages:
        if isinstance(message, AIMessage):
            assert not message.invalid_tool_calls
            assert "tool_call>" not in message.text
            assert all(made["name"].replace("_", "").isalnum() for made in message.tool_calls)
            asked += [made["id"] or "" for made in message.tool_calls]
        elif isinstance(message, ToolMessage):
            answered.append(message.tool_call_id)
    assert asked == answered
    assert all(asked)
