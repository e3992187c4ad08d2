"""Bookings are made once, entirely or not at all, and refused in words."""

import random
import re
from itertools import count

import pytest

from db.world import UnavailableSlot, World, WorldFactory
from tests.tools.conftest import Call, caller
from tools.booking import references
from tools.results import BookingResult, Refusal, RefusalReason
from tools.toolbox import build_toolbox

ROOM = {"name": "acorn guest house", "people": "3", "day": "tuesday", "stay": "2"}
TABLE = {"name": "the gandhi", "people": "4", "day": "friday", "time": "18:30"}


def test_a_booking_is_in_the_database_with_its_reference(world: World, call: Call) -> None:
    content, room = call("book_hotel", **ROOM)
    assert isinstance(room, BookingResult)
    assert re.fullmatch("[A-Z0-9]{8}", room.reference)
    assert content == f"Booked acorn guest house: 3 people, tuesday, 2 nights. Reference: {room.reference}"
    content, table = call("book_table", **TABLE)
    assert isinstance(table, BookingResult)
    assert content == f"Booked the gandhi: 4 people, friday, 18:30. Reference: {table.reference}"
    assert [(row.reference, row.venue_name, row.details) for row in world.bookings()] == [
        (room.reference, "acorn guest house", {"people": "3", "day": "tuesday", "stay": "2"}),
        (table.reference, "the gandhi", {"people": "4", "day": "friday", "time": "18:30"}),
    ]
    assert room.venue.slots["postcode"] == "cb41da"


def test_compact_answers_never_show_the_reference(call: Call) -> None:
    content, result = call("book_hotel", style="compact", **ROOM)
    assert isinstance(result, BookingResult)
    assert content == "booked acorn guest house"


def test_values_are_understood_before_booking(world: World, call: Call) -> None:
    call("book_hotel", name="Acorn", people=3, day="Tue", stay="two nights")
    call("book_table", name="Gandhi", people="party of four", day="on Friday", time="half past six")
    assert [row.details for row in world.bookings()] == [
        {"people": "3", "day": "tuesday", "stay": "2"},
        {"people": "4", "day": "friday", "time": "18:30"},
    ]


@pytest.mark.parametrize(("tool", "arguments"), [("book_hotel", ROOM), ("book_table", TABLE)])
def test_the_same_booking_twice_is_refused_with_the_first_reference(
    world: World, call: Call, tool: str, arguments: dict[str, str]
) -> None:
    _, first = call(tool, **arguments)
    assert isinstance(first, BookingResult)
    content, second = call(tool, **arguments)
    assert isinstance(second, Refusal)
    assert second.reason is RefusalReason.ALREADY_BOOKED
    assert second.details["reference"] == first.reference
    assert first.reference in content
    assert call(tool, style="compact", **arguments)[0] == "refused : already booked"
    assert len(world.bookings()) == 1


@pytest.mark.parametrize("change", [{"people": "4"}, {"day": "friday"}, {"stay": "3"}, {"name": "avalon"}], ids=str)
def test_a_corrected_booking_is_made(world: World, call: Call, change: dict[str, str]) -> None:
    call("book_hotel", **ROOM)
    _, corrected = call("book_hotel", **(ROOM | change))
    assert isinstance(corrected, BookingResult)
    assert len(world.bookings()) == 2


@pytest.mark.parametrize(
    ("tool", "arguments", "slot"),
    [
        ("book_hotel", ROOM, UnavailableSlot("hotel", stay=2)),
        ("book_hotel", ROOM, UnavailableSlot("hotel", venue_index=1, day="tuesday", people=3)),
        ("book_hotel", ROOM, UnavailableSlot("hotel")),
        ("book_table", TABLE, UnavailableSlot("restaurant", time="18:30")),
        ("book_table", TABLE, UnavailableSlot("restaurant", day="friday", people=4)),
    ],
)
def test_what_is_unavailable_is_refused(
    worlds: WorldFactory, tool: str, arguments: dict[str, str], slot: UnavailableSlot
) -> None:
    with worlds.open([slot]) as world:
        content, result = caller(world)(tool, **arguments)
        assert isinstance(result, Refusal)
        assert result.reason is RefusalReason.UNAVAILABLE
        assert content.startswith(f"Refused: {arguments['name']} is not available for ")
        assert caller(world)(tool, style="compact", **arguments)[0] == "refused : not available"
        assert world.bookings() == []


@pytest.mark.parametrize(
    "slot",
    [
        UnavailableSlot("hotel", stay=3),
        UnavailableSlot("hotel", stay=2, day="monday"),
        UnavailableSlot("hotel", venue_index=2),
        UnavailableSlot("restaurant", people=3),
    ],
    ids=str,
)
def test_what_differs_from_the_unavailable_is_booked(worlds: WorldFactory, slot: UnavailableSlot) -> None:
    with worlds.open([slot]) as world:
        assert isinstance(caller(world)("book_hotel", **ROOM)[1], BookingResult)


def test_missing_details_are_named(world: World, call: Call) -> None:
    content, result = call("book_hotel", name="acorn", stay="2", day="doesn't matter")
    assert isinstance(result, Refusal)
    assert result.reason is RefusalReason.MISSING_ARGUMENT
    assert list(result.details) == ["people", "day"]
    assert content == "Refused: a booking needs people, day as well; ask the user."
    assert call("book_hotel", style="compact", name="acorn", stay="2")[0] == "refused : need people day"
    assert call("book_table", style="compact")[0] == "refused : need name people day time"
    assert world.bookings() == []


def test_an_unknown_venue_is_refused_with_similar_names(world: World, call: Call) -> None:
    content, result = call("book_table", **(TABLE | {"name": "curry palace"}))
    assert isinstance(result, Refusal)
    assert result.reason is RefusalReason.UNKNOWN_VENUE
    assert "there is no restaurant called 'curry palace'; names like it: " in content
    assert call("book_table", style="compact", **(TABLE | {"name": "xx"}))[0] == "refused : unknown name"
    assert world.bookings() == []


def test_a_name_that_means_several_venues_is_asked_about(world: World, call: Call) -> None:
    content, result = call("book_table", **(TABLE | {"name": "pizza hut"}))
    assert isinstance(result, Refusal)
    assert result.reason is RefusalReason.UNKNOWN_VENUE
    assert "pizza hut city centre, pizza hut cherry hinton, pizza hut fen ditton; ask which" in content
    assert call("book_table", style="compact", **(TABLE | {"name": "pizza hut"}))[0] == "refused : several names"
    assert world.bookings() == []


def test_a_booking_that_fails_midway_leaves_nothing(world: World) -> None:
    def broken() -> str:
        raise ConnectionError("no references today")

    tool = build_toolbox(world.sessions, reference=broken).for_domain("hotel")[1]
    with pytest.raises(ConnectionError):
        tool.invoke(ROOM)
    assert world.bookings() == []
    assert isinstance(caller(world)("book_hotel", **ROOM)[1], BookingResult)


def test_a_reference_that_the_schema_refuses_leaves_nothing(world: World) -> None:
    tool = build_toolbox(world.sessions, reference=lambda: "too short"[:5]).for_domain("hotel")[1]
    with pytest.raises(Exception, match="reference_shape"):
        tool.invoke(ROOM)
    assert world.bookings() == []


def test_references_repeat_with_their_seed_and_never_within_a_world(world: World) -> None:
    first, second = references(random.Random(7)), references(random.Random(7))
    assert [first() for _ in range(50)] == [second() for _ in range(50)]
    numbers = count()
    tools = build_toolbox(world.sessions, reference=lambda: f"REF0000{next(numbers) // 2}")
    for people in ("1", "2"):
        tools.for_domain("hotel")[1].invoke(ROOM | {"people": people})
    tools.for_domain("restaurant")[1].invoke(TABLE)
    assert [row.reference for row in world.bookings()] == ["REF00000", "REF00001", "REF00002"]


def test_references_that_never_vary_are_a_bug(world: World) -> None:
    tool = build_toolbox(world.sessions, reference=lambda: "SAMESAME").for_domain("hotel")[1]
    tool.invoke(ROOM)
    with pytest.raises(RuntimeError, match="in a row are taken"):
        tool.invoke(ROOM | {"people": "5"})
    assert len(world.bookings()) == 1
