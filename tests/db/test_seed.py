"""Where the venues come from, and what happens to a file that is there already."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from db.models import RoomBooking
from db.seed import SeedError, default_path, load_venues, seed_database
from db.world import WorldFactory


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_the_venues_are_multiwoz() -> None:
    hotels, restaurants = load_venues("hotel"), load_venues("restaurant")
    assert (len(hotels), len(restaurants)) == (33, 110)
    assert [row["index"] for row in hotels] == list(range(33))
    assert hotels[0] == {
        "index": 0,
        "name": "a and b guest house",
        "address": "124 tenison road",
        "area": "east",
        "internet": "yes",
        "parking": "no",
        "phone": "01223315702",
        "postcode": "cb12dp",
        "pricerange": "moderate",
        "stars": "4",
        "type": "guesthouse",
    }


def test_a_slot_that_multiwoz_leaves_out_is_null() -> None:
    assert sum(row["phone"] is None for row in load_venues("restaurant")) == 3


def test_seeding_does_not_import_convlab() -> None:
    code = "import sys; from db.seed import load_venues; load_venues('hotel'); sys.exit('convlab' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0


def test_seeding_twice_changes_nothing(path: Path) -> None:
    first = seed_database(path).read_bytes()
    assert seed_database(path).read_bytes() == first
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_seeding_keeps_the_bookings_of_a_lasting_file(path: Path) -> None:
    worlds = WorldFactory()
    booking = RoomBooking(reference="ABCD1234", venue_index=1, people=2, day="monday", stay=3)
    with worlds.open_file(path) as world, world.sessions.begin() as session:
        session.add(booking)
    with worlds.open_file(path) as world:
        assert [row.reference for row in world.bookings()] == ["ABCD1234"]
    with worlds.open() as world:
        assert world.bookings() == []


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("UPDATE hotels SET phone = '0' WHERE name = 'avalon'", "differ"),
        ("DELETE FROM restaurants WHERE name = 'cote'", "109 restaurants where MultiWOZ 2.1 has 110"),
        ("PRAGMA user_version = 1", "another schema"),
    ],
)
def test_a_file_with_other_content_is_named_and_left_alone(path: Path, statement: str, complaint: str) -> None:
    seed_database(path)
    change(path, statement)
    before = path.read_bytes()
    with pytest.raises(SeedError, match=complaint) as error:
        seed_database(path)
    assert str(path) in str(error.value)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_named_and_left_alone(path: Path) -> None:
    path.write_text("not a database, but long enough to be read as one" * 100)
    with pytest.raises(SeedError, match="cannot be read"):
        seed_database(path)


def test_a_seeding_that_fails_leaves_no_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("db.seed._data_folder", lambda: path.parent / "nowhere")
    with pytest.raises(FileNotFoundError):
        seed_database(path)
    assert list(path.parent.iterdir()) == []


def test_the_default_file_is_outside_version_control() -> None:
    assert default_path().parent.name == ".cache"
