"""The graph: who answers, what each expert gets to see, how far it may go, and what the user reads."""

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatResult

from agents.config import COMPACT, FULL, AgentConfig
from agents.expert import APOLOGY, NOTHING_TO_SAY
from agents.graph import build_graph, read_route
from db.world import World
from tests.fakes import ScriptedReplies, call
from tools.toolbox import Toolbox


async def test_the_router_decides_who_answers(toolbox: Toolbox):
    model = ScriptedReplies(replies=["restaurant", "what food would you like ?"])
    turn = await build_graph(model, toolbox, COMPACT).respond("I am hungry")
    assert turn.route == ["restaurant"]
    assert turn.text == "what food would you like ?"
    assert [made.node for made in turn.model_calls] == ["router", "restaurant"]
    assert turn.notes == []


async def test_compact_prompts_are_one_word_and_the_router_sees_who_is_active(toolbox: Toolbox):
    model = ScriptedReplies(replies=["hotel", "yes ?", "hotel", "bye ."])
    agent = build_graph(model, toolbox, COMPACT)
    await agent.respond("Hello")
    await agent.respond("Thank you , Goodbye")
    assert [[message.text for message in asked] for asked in model.asked] == [
        ["router", "none | hello"],
        ["hotel", "hello"],
        ["router", "hotel | thank you , goodbye"],
        ["hotel", "hello", "yes ?", "thank you , goodbye"],
    ]


async def test_full_prompts_keep_the_users_spelling(toolbox: Toolbox):
    model = ScriptedReplies(replies=["hotel", "Yes?"])
    await build_graph(model, toolbox, FULL).respond("Hello, Concierge")
    router, expert = model.asked
    assert isinstance(router[0], SystemMessage)
    assert "hotel restaurant" in router[0].text
    assert router[1].text == "Active expert: none\nUser: Hello, Concierge"
    assert "find_hotels" in expert[0].text
    assert "{hotel.name}" not in expert[0].text
    assert expert[1].text == "Hello, Concierge"


async def test_a_large_model_is_told_about_placeholders_when_it_may_use_them(toolbox: Toolbox):
    model = ScriptedReplies(replies=["restaurant", "Yes?"])
    await build_graph(model, toolbox, AgentConfig(style="full", placeholders=True)).respond("Hi")
    assert "{restaurant.phone}" in model.asked[1][0].text
    assert "DOMAIN" not in model.asked[1][0].text


async def test_every_model_call_says_for_whom_it_is(toolbox: Toolbox):
    seen: list[str] = []

    class Watching(ScriptedReplies):
        async def ainvoke(self, input, config=None, **kwargs):  # type: ignore[no-untyped-def, override]
            seen.append((config or {}).get("metadata", {})["concierge_node"])
            return await super().ainvoke(input, config, **kwargs)

    model = Watching(replies=["hotel restaurant", "one .", "two ."])
    await build_graph(model, toolbox, COMPACT).respond("a room and a table")
    assert seen == ["router", "hotel", "restaurant"]


async def test_a_turn_about_two_things_is_answered_by_both_experts_once_each(toolbox: Toolbox):
    model = ScriptedReplies(replies=["restaurant, hotel", "the table .", "the room ."])
    turn = await build_graph(model, toolbox, COMPACT).respond("a table and a room")
    assert turn.route == ["restaurant", "hotel"]
    assert turn.text == "the table . the room ."
    assert model.replies == []


@pytest.mark.parametrize("answer", ["", "hm", "who knows which of them it is", '{"route": 1}', "taxi"])
async def test_an_unreadable_route_goes_to_the_active_expert(toolbox: Toolbox, answer: str):
    model = ScriptedReplies(replies=["restaurant", "hi .", answer, "still here ."])
    agent = build_graph(model, toolbox, COMPACT)
    await agent.respond("a restaurant")
    turn = await agent.respond("hm")
    assert turn.route == ["restaurant"]
    assert turn.notes == ["unrouted"]


@pytest.mark.parametrize(
    ("answer", "route"),
    [
        ("hotel", ["hotel"]),
        ("Hotel.", ["hotel"]),
        ("restaurant hotel", ["restaurant", "hotel"]),
        ("hotel, restaurant", ["hotel", "restaurant"]),
        ("`hotel`", ["hotel"]),
        ("hotel hotel hotel", ["hotel"]),
        ("The user wants a hotel, so the hotel expert", []),
        ("", []),
    ],
)
def test_route_reading(answer: str, route: list[str]):
    assert read_route(answer) == route


async def test_experts_see_their_own_history_and_one_line_about_the_other(toolbox: Toolbox):
    model = ScriptedReplies(
        replies=[
            "hotel",
            call("find_hotels", area="north", pricerange="cheap"),
            "{hotel.name} is available .",
            "restaurant",
            "which food ?",
            "restaurant",
            "ok .",
        ]
    )
    agent = build_graph(model, toolbox, COMPACT)
    await agent.respond("a cheap hotel in the north")
    await agent.respond("a restaurant in the same area")
    await agent.respond("indian")
    first, second = model.asked[4], model.asked[6]
    line = "[hotel area north pricerange cheap]"
    assert [message.text for message in first] == ["restaurant", f"a restaurant in the same area\n{line}"]
    assert [message.text for message in second[1:]] == [
        f"a restaurant in the same area\n{line}",
        "which food ?",
        "indian",
    ]
    assert not any(isinstance(message, ToolMessage) for message in second)


async def test_the_line_about_the_other_expert_comes_again_when_it_has_changed(toolbox: Toolbox):
    details = {"name": "acorn guest house", "people": "3", "day": "tuesday", "stay": "2"}
    model = ScriptedReplies(
        replies=[
            "hotel restaurant",
            call("find_hotels", name="acorn guest house"),
            "ok .",
            "hm .",
            "hotel restaurant",
            call("book_hotel", **details),
            "ok .",
            "hm .",
        ]
    )
    agent = build_graph(model, toolbox, COMPACT)
    await agent.respond("acorn guest house and food")
    await agent.respond("book it")
    restaurant = [message.text for message in model.asked[-1] if isinstance(message, HumanMessage)]
    assert restaurant == [
        "acorn guest house and food\n[hotel area north pricerange moderate]",
        "book it\n[hotel area north pricerange moderate day tuesday people 3]",
    ]


async def test_tools_run_and_their_evidence_is_recorded(toolbox: Toolbox, world: World):
    booking = {"name": "acorn guest house", "people": "2", "day": "monday", "stay": "3"}
    model = ScriptedReplies(
        replies=[
            "hotel",
            call("find_hotels", "a", area="north", type="guesthouse"),
            call("book_hotel", "b", **booking),
            "your booking at {hotel.name} is made , the reference is {hotel.ref} .",
        ]
    )
    turn = await build_graph(model, toolbox, COMPACT).respond("book a guesthouse in the north")
    search, booked = turn.tool_events
    assert (search.name, search.arguments) == ("find_hotels", {"area": "north", "type": "guesthouse"})
    assert search.content.startswith("11 found : acorn guest house | ")
    assert search.artifact is not None
    assert search.artifact.kind == "search"
    assert (booked.node, booked.call_id, booked.arguments) == ("hotel", "b", booking)
    [row] = world.bookings()
    assert turn.text == f"your booking at acorn guest house is made , the reference is {row.reference} ."
    assert [made.node for made in turn.model_calls] == ["router", "hotel", "hotel", "hotel"]


async def test_several_calls_in_one_completion_all_run(toolbox: Toolbox):
    both = AIMessage(
        "",
        tool_calls=[
            {"name": "find_hotels", "args": {"area": "north"}, "id": "x", "type": "tool_call"},
            {"name": "find_hotels", "args": {"area": "south"}, "id": "x", "type": "tool_call"},
        ],
    )
    model = ScriptedReplies(replies=["hotel", both, "done ."])
    turn = await build_graph(model, toolbox, COMPACT).respond("north or south")
    assert [event.arguments["area"] for event in turn.tool_events] == ["north", "south"]
    ids = [event.call_id for event in turn.tool_events]
    assert len(set(ids)) == 2
    answers = [message for message in model.asked[-1] if isinstance(message, ToolMessage)]
    asking = model.asked[-1][-3]
    assert isinstance(asking, AIMessage)
    assert [answer.tool_call_id for answer in answers] == [made["id"] for made in asking.tool_calls] == ids


async def test_calls_are_bounded_and_the_user_gets_an_apology(toolbox: Toolbox):
    model = ScriptedReplies(replies=["hotel", *[call("find_hotels", str(n), area="north") for n in range(9)]])
    agent = build_graph(model, toolbox, COMPACT)
    turn = await agent.respond("a hotel")
    assert len(turn.tool_events) == COMPACT.max_tool_calls
    assert turn.text == APOLOGY
    assert turn.notes == ["tool_limit"]
    model.replies = ["hotel", "{hotel.name} is available ."]
    assert (await agent.respond("well ?")).text == "acorn guest house is available ."
    calls = [made["id"] for message in model.asked[-1] if isinstance(message, AIMessage) for made in message.tool_calls]
    answers = [message.tool_call_id for message in model.asked[-1] if isinstance(message, ToolMessage)]
    assert calls == answers


async def test_an_empty_reply_becomes_a_sentence(toolbox: Toolbox):
    turn = await build_graph(ScriptedReplies(replies=["hotel", "  "]), toolbox, COMPACT).respond("hello")
    assert turn.text == NOTHING_TO_SAY
    assert turn.notes == ["empty_reply"]


async def test_a_models_thoughts_are_not_shown(toolbox: Toolbox):
    model = ScriptedReplies(replies=["<think>food or bed ?</think>hotel", "<think>\nhm </think>\n\nhello ."])
    turn = await build_graph(model, toolbox, COMPACT).respond("hi")
    assert (turn.text, turn.notes) == ("hello .", [])


async def test_unknown_placeholders_are_dropped_with_their_sentence_and_kept_in_the_history(toolbox: Toolbox):
    written = "the phone number is {hotel.phone} . hello ."
    model = ScriptedReplies(replies=["hotel", written, "hotel", "{restaurant.name} it is .", "hotel", "bye ."])
    agent = build_graph(model, toolbox, COMPACT)
    first = await agent.respond("the phone number ?")
    second = await agent.respond("and now ?")
    assert (first.text, first.notes) == ("hello .", ["unfilled:hotel.phone"])
    assert (second.text, second.notes) == (NOTHING_TO_SAY, ["unfilled:restaurant.name"])
    await agent.respond("bye")
    assert model.asked[-1][2].text == written


async def test_a_booking_may_name_the_venue_by_its_placeholder(toolbox: Toolbox, world: World):
    booking = {"name": "{hotel.name}", "people": "2", "day": "monday", "stay": "3"}
    model = ScriptedReplies(
        replies=[
            "hotel",
            call("book_hotel", **booking),
            call("find_hotels", area="west"),
            call("book_hotel", **booking),
        ]
    )
    model.replies.append("done .")
    turn = await build_graph(model, toolbox, COMPACT).respond("book a hotel in the west")
    early, search, booked = turn.tool_events
    assert early.content.startswith("refused : ")
    assert search.artifact is not None
    assert booked.content.startswith("booked ")
    assert booked.arguments == booking | {"name": world.bookings()[0].venue_name}
    written = [message for message in model.asked[-1] if isinstance(message, AIMessage)][-1]
    assert written.tool_calls[0]["args"] == booking


async def test_without_placeholders_a_reply_is_left_as_it_is(toolbox: Toolbox):
    turn = await build_graph(ScriptedReplies(replies=["hotel", "a {hotel.name} b ."]), toolbox, FULL).respond("hello")
    assert turn.text == "a {hotel.name} b ."


async def test_a_failing_model_raises_and_leaves_the_dialogue_as_it_was(toolbox: Toolbox):
    model = ScriptedReplies(replies=["hotel", "hi .", "hotel", call("find_hotels"), ConnectionError("gone")])
    agent = build_graph(model, toolbox, COMPACT)
    await agent.respond("hello")
    before = [message.text for message in agent.experts["hotel"]["history"]]
    with pytest.raises(ConnectionError, match="gone"):
        await agent.respond("a hotel")
    assert [message.text for message in agent.experts["hotel"]["history"]] == before


async def test_tools_are_bound_once_per_expert(toolbox: Toolbox):
    model = ScriptedReplies(replies=["hotel", "a .", "restaurant", "b ."])
    agent = build_graph(model, toolbox, COMPACT)
    await agent.respond("hello")
    await agent.respond("food")
    assert model.bound == [["find_hotels", "book_hotel"], ["find_restaurants", "book_table"]]


async def test_a_model_without_tools_is_used_as_it_is(toolbox: Toolbox):
    class Plain(BaseChatModel):
        inner: ScriptedReplies

        @property
        def _llm_type(self) -> str:
            return "plain"

        def _generate(self, messages, stop=None, run_manager=None, **kwargs) -> ChatResult:  # type: ignore[no-untyped-def]
            return self.inner._generate(messages)

    inner = ScriptedReplies(replies=["hotel", call("find_hotels", area="west"), "{hotel.count} found ."])
    turn = await build_graph(Plain(inner=inner), toolbox, COMPACT).respond("a hotel in the west")
    assert turn.text == "4 found ."


async def test_token_counts_come_from_the_server(toolbox: Toolbox):
    counted = AIMessage("hi .", usage_metadata={"input_tokens": 7, "output_tokens": 2, "total_tokens": 9})
    turn = await build_graph(ScriptedReplies(replies=["hotel", counted]), toolbox, COMPACT).respond("hello")
    assert [(made.prompt_tokens, made.completion_tokens) for made in turn.model_calls] == [(0, 0), (7, 2)]
    assert all(made.latency_s > 0 for made in turn.model_calls)
