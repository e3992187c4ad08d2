"""The rule-based expert over real tools: what it does in every situation that users bring about."""

import asyncio
import random
import re

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from agents.config import COMPACT, FULL, AgentConfig
from agents.graph import Agent, build_graph
from agents.reading import DETAILS
from agents.scripted import (
    ANYTHING_ELSE,
    BOOKED,
    GOODBYE,
    GREETING,
    NO_MATCH,
    NOT_UNDERSTOOD,
    OFFER,
    QUESTIONS,
    REFERENCE,
    REFUSED,
    SLOT_SENTENCES,
    ScriptedModel,
)
from db.world import UnavailableSlot, World, WorldFactory
from tools.booking import references
from tools.toolbox import build_toolbox

STYLES = {"compact": COMPACT, "full": FULL, "full with placeholders": AgentConfig(style="full", placeholders=True)}


def _agent(world: World, config: AgentConfig = COMPACT, seed: int = 0, piecemeal: bool = False) -> Agent:
    toolbox = build_toolbox(world.sessions, config.style, references(random.Random(seed)))
    return build_graph(ScriptedModel(placeholders=config.placeholders, piecemeal=piecemeal), toolbox, config)


async def _talk(agent: Agent, *texts: str) -> str:
    """The last answer to these."""
    turns = [await agent.respond(text) for text in texts]
    assert not any(turn.notes for turn in turns)
    return turns[-1].text


@pytest.mark.parametrize("config", STYLES.values(), ids=STYLES.keys())
async def test_a_whole_dialogue(world: World, config: AgentConfig):
    agent = _agent(world, config)
    assert await _talk(agent, "I need a hotel . It should be in the north .") == "acorn guest house is available ."
    assert (
        await _talk(agent, "What is their phone number ? Do they have parking ?")
        == "the phone number of acorn guest house is 01223353888 . acorn guest house has free parking : yes ."
    )
    answer = await _talk(agent, "There will be 3 people . Let 's try for friday. What about 2 nights ?")
    [booking] = world.bookings()
    assert answer == f"your booking at acorn guest house is made , the reference is {booking.reference} ."
    assert booking.details == {"people": "3", "day": "friday", "stay": "2"}
    assert await _talk(agent, "Thank you , goodbye") == GOODBYE


async def test_constraints_add_up_and_change(world: World):
    agent = _agent(world)
    searches = []
    for text in (
        "I need a restaurant . I would prefer it in the south .",
        "I want to find a cheap priced restaurant .",
        "Do you have thai food ?",
        "How about chinese food .",
        "I don't care about the area of the restaurant.",
    ):
        turn = await agent.respond(text)
        searches += [event.arguments for event in turn.tool_events]
    assert searches == [
        {"area": "south"},
        {"area": "south", "pricerange": "cheap"},
        {"area": "south", "pricerange": "cheap", "food": "thai"},
        {"area": "south", "pricerange": "cheap", "food": "chinese"},
    ]


async def test_not_caring_searches_again_where_nothing_was_found(world: World):
    agent = _agent(world)
    assert "no such restaurant" in await _talk(agent, "a restaurant with thai food in the south")
    turn = await agent.respond("I don't care about the area of the restaurant.")
    assert [event.arguments for event in turn.tool_events] == [{"food": "thai"}]


async def test_a_name_is_searched_alone_and_other_wishes_leave_it_behind(world: World):
    agent = _agent(world)
    first = await agent.respond("A restaurant in the centre, please. It is called curry king .")
    second = await agent.respond("Something expensive instead")
    assert [event.arguments for event in first.tool_events] == [{"name": "curry king"}]
    assert [event.arguments for event in second.tool_events] == [{"area": "centre", "pricerange": "expensive"}]


async def test_no_match_is_said_and_nothing_is_booked(world: World):
    agent = _agent(world)
    text = "I need a hotel. it should have a 5 star rating . 2 people , monday , for 3 nights"
    assert await _talk(agent, text) == NO_MATCH.replace("D", "hotel")
    assert world.bookings() == []


async def test_missing_details_are_asked_for_at_once(world: World):
    agent = _agent(world)
    answer = await _talk(agent, "I need a hotel in the north", "please book it for 3 people")
    assert answer == f"{QUESTIONS['day']} {QUESTIONS['stay']}"
    assert "is made" in await _talk(agent, "friday , for 2 nights")


async def test_everything_at_once(world: World):
    answer = await _talk(_agent(world), "Book a table for 4 at curry garden on Sunday at 18:30")
    assert "your booking at curry garden is made" in answer
    assert world.bookings()[0].details == {"people": "4", "day": "sunday", "time": "18:30"}


async def test_a_refused_booking_is_tried_again_with_what_has_changed(worlds: WorldFactory):
    with worlds.open([UnavailableSlot("hotel", day="tuesday")]) as world:
        agent = _agent(world)
        refused = await _talk(agent, "acorn guest house , 2 people on tuesday for 3 nights please")
        assert refused == REFUSED["hotel"]
        assert "is made" in await _talk(agent, "Let 's try for wednesday")
        assert world.bookings()[0].details == {"people": "2", "day": "wednesday", "stay": "3"}


async def test_the_same_booking_twice_is_one_booking(world: World):
    agent = _agent(world)
    first = await _talk(agent, "Book a table for 4 at curry garden on Sunday at 18:30")
    second = await _talk(agent, "Book a table for 4 on Sunday at 18:30")
    assert first == second
    assert len(world.bookings()) == 1


async def test_the_same_day_people_area_and_price_come_from_the_other_expert(world: World):
    agent = _agent(world)
    await agent.respond("I need a hotel . It should be a hotel type hotel in the north .")
    await agent.respond("Book it for 3 people on tuesday for 2 nights")
    search = await agent.respond("I need a restaurant in the same area as the hotel , it needs to be cheap")
    assert search.route == ["restaurant"]
    assert search.tool_events[0].arguments == {"area": "north", "pricerange": "cheap"}
    booking = await agent.respond("I want to book a table for the same people on the same day at 18:45")
    assert booking.tool_events[0].arguments | {"name": ""} == {
        "name": "",
        "people": "3",
        "day": "tuesday",
        "time": "18:45",
    }


async def test_two_things_in_one_turn_are_answered_by_both(world: World):
    turn = await _agent(world).respond("I need a guesthouse in the east and an indian restaurant in the west")
    assert turn.route == ["hotel", "restaurant"]
    assert [event.arguments for event in turn.tool_events] == [
        {"area": "east", "type": "guesthouse"},
        {"area": "west", "food": "indian"},
    ]
    assert turn.text.count("is available .") == 2


async def test_a_wish_not_to_book_is_respected(world: World):
    agent = _agent(world)
    assert await _talk(agent, "curry garden please", "I do not need to book. ") == ANYTHING_ELSE
    assert world.bookings() == []


async def test_a_greeting_is_returned_before_anything_is_searched(world: World):
    turn = await _agent(world).respond("Hello !")
    assert turn.text == GREETING
    assert turn.tool_events == []


async def test_a_new_topic_alone_gets_an_offer(world: World):
    assert await _talk(_agent(world), "I need a hotel please .") == "a and b guest house is available ."


async def test_the_reference_is_given_again_on_request(world: World):
    agent = _agent(world)
    await agent.respond("Book a table for 4 at curry garden on Sunday at 18:30")
    reference = world.bookings()[0].reference
    assert await _talk(agent, "May I have the reference number please ?") == f"the reference is {reference} ."


async def test_piecemeal_it_tells_one_fact_at_a_time(world: World):
    agent = _agent(world, piecemeal=True)
    await _talk(agent, "I need a hotel . It should be in the north .")
    both = "What is their phone number ? Do they have parking ?"
    assert await _talk(agent, both) == "the phone number of acorn guest house is 01223353888 ."
    assert await _talk(agent, "Do they have parking ?") == "acorn guest house has free parking : yes ."
    answer = await _talk(agent, "There will be 3 people , on friday , for 2 nights . What is the postcode ?")
    [booking] = world.bookings()
    assert answer == f"your booking at acorn guest house is made , the reference is {booking.reference} ."


async def test_a_facility_that_is_not_needed_is_a_constraint_of_its_own(world: World):
    turn = await _agent(world).respond("I need a hotel . I do n't need free parking .")
    assert turn.tool_events[0].arguments == {"parking": "no"}


def test_it_reads_compact_answers_without_artifacts():
    """As when the messages went over a wire."""
    asked = [
        SystemMessage("restaurant"),
        HumanMessage("thai food on monday at 18:00 for 2 people"),
        AIMessage(
            "", tool_calls=[{"name": "find_restaurants", "args": {"food": "thai"}, "id": "1", "type": "tool_call"}]
        ),
        ToolMessage("2 found : sala thong | bangkok city", tool_call_id="1"),
    ]
    [book] = ScriptedModel(placeholders=False).answer(asked).tool_calls
    assert book["args"] == {"name": "sala thong", "people": "2", "day": "monday", "time": "18:00"}
    [book] = ScriptedModel().answer(asked).tool_calls
    assert book["args"] == {"name": "{restaurant.name}", "people": "2", "day": "monday", "time": "18:00"}
    asked += [
        AIMessage("", tool_calls=[{"name": "book_table", "args": book["args"], "id": "2", "type": "tool_call"}]),
        ToolMessage("refused : not available", tool_call_id="2"),
    ]
    assert ScriptedModel().answer(asked).text == REFUSED["restaurant"]


def test_slots_in_calls_have_a_fixed_order_and_the_users_words():
    asked = [
        SystemMessage("hotel"),
        HumanMessage("it should have a 4 star rating . free wifi . in the north . cheap please"),
    ]
    [find] = ScriptedModel().answer(asked).tool_calls
    assert list(find["args"].items()) == [
        ("area", "north"),
        ("pricerange", "cheap"),
        ("stars", "4"),
        ("internet", "yes"),
    ]


def test_sentences_are_lower_case_words_and_a_small_vocabulary():
    sentences = [*SLOT_SENTENCES.values(), *QUESTIONS.values(), *REFUSED.values(), OFFER, NO_MATCH, BOOKED, REFERENCE]
    sentences += [NOT_UNDERSTOOD, GREETING, ANYTHING_ELSE, GOODBYE]
    words = {word for sentence in sentences for word in sentence.replace("D", "hotel").split()}
    assert all(re.fullmatch(r"[a-z]+|[.,?:]|\{hotel\.[a-z]+\}", word) for word in words), words
    assert len(words) < 80
    assert all(slot in QUESTIONS for slots in DETAILS.values() for slot in slots)


async def test_many_dialogues_at_once_are_as_one_at_a_time(worlds: WorldFactory):
    texts = [
        "I need a hotel in the north",
        "Book it for 3 people on tuesday for 2 nights",
        "and a restaurant",
        "thanks , bye",
    ]

    async def play(seed: int) -> list[str]:
        with worlds.open() as world:
            agent = _agent(world, seed=seed)
            answers = [(await agent.respond(text)).text for text in texts]
            assert len(world.bookings()) == 1
            return answers

    alone = [await play(seed) for seed in range(64)]
    assert await asyncio.gather(*[play(seed) for seed in range(64)]) == alone
