"""What the schema refuses, whoever writes."""

from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from db.models import Base, Hotel, RoomBooking, TableBooking, Unavailability
from db.world import World

ROOM: dict[str, Any] = {"reference": "ABCD1234", "venue_index": 0, "people": 2, "day": "monday", "stay": 3}
TABLE: dict[str, Any] = {"reference": "ABCD1234", "venue_index": 0, "people": 2, "day": "monday", "time": "18:30"}


def insert(world: World, *rows: Base) -> None:
    with world.sessions.begin() as session:
        for row in rows:
            session.add(row)
            session.flush()


@pytest.mark.parametrize("time", ["00:00", "09:15", "18:30", "23:45"])
def test_a_table_is_booked_on_the_quarter_hour(world: World, time: str) -> None:
    insert(world, TableBooking(**{**TABLE, "time": time}))
    assert world.bookings()[0].details["time"] == time


@pytest.mark.parametrize(
    "wrong",
    [
        {"people": 0},
        {"people": 9},
        {"people": "two"},
        {"day": "someday"},
        {"day": "Monday"},
        {"stay": 0},
        {"stay": 8},
        {"venue_index": 33},
        {"venue_index": -1},
        {"reference": "abcd1234"},
        {"reference": "ABC123"},
        {"reference": None},
    ],
    ids=str,
)
def test_no_room_is_booked_outside_the_rules(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError):
        insert(world, RoomBooking(**(ROOM | wrong)))
    assert world.bookings() == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"people": 0},
        {"people": 9},
        {"day": "tomorrow"},
        {"time": "18:20"},
        {"time": "24:00"},
        {"time": "9:15"},
        {"time": "noon"},
        {"venue_index": 110},
        {"reference": "ABCD-123"},
    ],
    ids=str,
)
def test_no_table_is_booked_outside_the_rules(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError):
        insert(world, TableBooking(**(TABLE | wrong)))
    assert world.bookings() == []


def test_a_reference_belongs_to_one_booking(world: World) -> None:
    with pytest.raises(IntegrityError):
        insert(world, RoomBooking(**ROOM), RoomBooking(**(ROOM | {"people": 4})))


def test_a_reference_belongs_to_one_booking_of_either_kind(world: World) -> None:
    with pytest.raises(IntegrityError, match="taken"):
        insert(world, RoomBooking(**ROOM), TableBooking(**TABLE))
    with pytest.raises(IntegrityError, match="taken"):
        insert(world, TableBooking(**TABLE), RoomBooking(**ROOM))


def test_the_same_stay_is_booked_once(world: World) -> None:
    with pytest.raises(IntegrityError):
        insert(world, RoomBooking(**ROOM), RoomBooking(**(ROOM | {"reference": "WXYZ9999"})))
    with pytest.raises(IntegrityError):
        insert(world, TableBooking(**TABLE), TableBooking(**(TABLE | {"reference": "WXYZ9999"})))


def test_two_venues_do_not_share_a_name(world: World) -> None:
    with pytest.raises(IntegrityError):
        insert(world, Hotel(index=33, name="acorn guest house"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"domain": "taxi"},
        {"domain": "hotel", "time": "18:30"},
        {"domain": "restaurant", "stay": 2},
        {"domain": "hotel", "people": 9},
        {"domain": "hotel", "day": "Monday"},
        {"domain": "restaurant", "time": "9:15"},
    ],
    ids=str,
)
def test_only_bookings_that_could_be_made_are_unavailable(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError):
        insert(world, Unavailability(**wrong))
