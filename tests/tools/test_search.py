"""Searches find what ConvLab's database query finds, and say what to do when that is nothing."""

import importlib.metadata
import itertools
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from sqlalchemy import update

from db.models import Hotel, Restaurant
from db.world import World
from tests.tools.conftest import Call, caller
from tools.results import Domain, SearchResult
from tools.searching import VenueSearch

SLOTS: dict[Domain, dict[str, tuple[str, ...]]] = {
    "hotel": {
        "area": ("centre", "east", "north", "south", "west"),
        "pricerange": ("cheap", "moderate", "expensive"),
        "type": ("hotel", "guesthouse"),
        "stars": ("0", "1", "2", "3", "4", "5"),
        "internet": ("yes", "no"),
        "parking": ("yes", "no"),
    },
    "restaurant": {
        "area": ("centre", "east", "north", "south", "west"),
        "pricerange": ("cheap", "moderate", "expensive"),
        "food": ("indian", "modern european", "asian oriental", "north american", "gastropub", "welsh", "english"),
    },
}
TOOLS: dict[Domain, str] = {"hotel": "find_hotels", "restaurant": "find_restaurants"}


def records(domain: Domain) -> list[Mapping[str, str]]:
    package = Path(str(importlib.metadata.distribution("convlab").locate_file("convlab")))
    return json.loads((package / "human_eval" / "db" / f"{domain}_db.json").read_text())


def convlab_matches(domain: Domain, constraints: Mapping[str, str]) -> list[int]:
    """The rule of ConvLab's ``util/multiwoz/dbquery.py``: a missing slot and ``?`` agree with everything."""
    return [
        index
        for index, record in enumerate(records(domain))
        if all(
            slot not in record or record[slot].strip() == "?" or record[slot].strip().lower() == value.strip().lower()
            for slot, value in constraints.items()
        )
    ]


@pytest.mark.parametrize("domain", ["hotel", "restaurant"])
def test_searches_find_what_convlab_finds(world: World, domain: Domain) -> None:
    search = VenueSearch(domain, shown=200)
    combinations = itertools.chain.from_iterable(itertools.combinations(SLOTS[domain], size) for size in range(4))
    with world.sessions() as session:
        for slots in combinations:
            for values in itertools.islice(itertools.product(*(SLOTS[domain][slot] for slot in slots)), 25):
                constraints = dict(zip(slots, values, strict=True))
                result = search.search(session, constraints)
                assert [venue.index for venue in result.venues] == convlab_matches(domain, constraints)
                assert result.count == len(result.venues)


@pytest.mark.parametrize("domain", ["hotel", "restaurant"])
def test_every_venue_is_found_by_its_name(world: World, domain: Domain) -> None:
    search = VenueSearch(domain, shown=200)
    with world.sessions() as session:
        for index, record in enumerate(records(domain)):
            assert [venue.index for venue in search.search(session, {"name": record["name"].lower()}).venues] == [index]


def test_a_venue_without_a_value_meets_any_constraint(world: World) -> None:
    with world.sessions.begin() as session:
        session.execute(update(Hotel).where(Hotel.name == "avalon").values(area=None))
        session.execute(update(Restaurant).where(Restaurant.name == "cote").values(food=None))
    call = caller(world)
    _, south = call("find_hotels", area="south", parking="no")
    assert isinstance(south, SearchResult)
    assert "avalon" in [venue.name for venue in south.venues]
    assert all("area" not in venue.slots for venue in south.venues if venue.name == "avalon")
    _, welsh = call("find_restaurants", food="welsh")
    assert isinstance(welsh, SearchResult)
    assert [venue.name for venue in welsh.venues] == ["cote"]


def test_a_venue_has_every_slot_a_user_may_ask_for(call: Call) -> None:
    _, hotel = call("find_hotels", name="avalon")
    _, restaurant = call("find_restaurants", name="the gandhi")
    assert isinstance(hotel, SearchResult)
    assert isinstance(restaurant, SearchResult)
    assert hotel.venues[0].index == records("hotel").index(
        next(record for record in records("hotel") if record["name"] == "avalon")
    )
    assert set(hotel.venues[0].slots) == {
        *("address", "area", "internet", "parking", "phone", "postcode", "pricerange", "stars", "type")
    }
    assert set(restaurant.venues[0].slots) == {"address", "area", "food", "phone", "postcode", "pricerange"}


def test_a_restaurant_without_a_phone_has_no_phone_slot(call: Call) -> None:
    silent = next(record for record in records("restaurant") if "phone" not in record)
    _, result = call("find_restaurants", name=silent["name"])
    assert isinstance(result, SearchResult)
    assert "phone" not in result.venues[0].slots


def test_values_are_understood_before_searching(call: Call) -> None:
    _, result = call("find_hotels", area="city center", stars="four stars", internet=True, type="doesn't matter")
    assert isinstance(result, SearchResult)
    assert result.constraints == {"area": "centre", "stars": "4", "internet": "yes"}


def test_an_answer_is_short(call: Call) -> None:
    content, result = call("find_restaurants", area="centre")
    assert isinstance(result, SearchResult)
    assert content.startswith("69 restaurants found, the first 5:\n- ")
    assert content.count("\n") == len(result.venues) == 5
    compact, result = call("find_restaurants", style="compact", area="centre")
    assert isinstance(result, SearchResult)
    assert len(result.venues) == 3
    assert compact == f"69 found : {' | '.join(venue.name for venue in result.venues)}"


def test_compact_answers_are_lower_case(call: Call) -> None:
    content, _ = call("find_restaurants", style="compact", name="Pizza Express Fen Ditton")
    assert content == "1 found : pizza express fen ditton"


@pytest.mark.parametrize("style", ["full", "compact"])
def test_no_constraints_find_everything(call: Call, style: str) -> None:
    content, result = call("find_hotels", style=style)
    assert isinstance(result, SearchResult)
    assert result.count == 33
    assert content.startswith("33 ")


def test_no_match_names_the_constraint_to_relax(call: Call) -> None:
    content, result = call("find_hotels", area="north", stars="5", internet="yes")
    assert isinstance(result, SearchResult)
    assert (result.count, result.venues) == (0, [])
    without_stars = len(convlab_matches("hotel", {"area": "north", "internet": "yes"}))
    assert content == f"No hotel found with area north, stars 5, internet yes. Without stars: {without_stars} found."


def test_the_constraint_that_frees_most_is_named_first(call: Call) -> None:
    content, _ = call("find_restaurants", area="south", food="british")
    south, british = (len(convlab_matches("restaurant", one)) for one in ({"area": "south"}, {"food": "british"}))
    assert south < british
    assert content.endswith(f" Without area: {british}, food: {south} found.")


def test_when_no_single_constraint_is_to_blame_the_answer_says_so(call: Call) -> None:
    constraints = {"stars": "5", "internet": "no", "area": "west"}
    assert not any(
        convlab_matches("hotel", {slot: constraints[slot] for slot in constraints if slot != dropped})
        for dropped in constraints
    )
    assert call("find_hotels", **constraints)[0].endswith("Dropping one constraint is not enough.")


def test_an_unknown_cuisine_is_found_nowhere(call: Call) -> None:
    content, result = call("find_restaurants", food="welsh")
    assert isinstance(result, SearchResult)
    assert content == "No restaurant found with food welsh. Without food: 110 found."
    assert call("find_restaurants", style="compact", food="welsh")[0] == "none found"


def test_an_unknown_name_brings_similar_ones(call: Call) -> None:
    content, result = call("find_restaurants", name="curry palace")
    assert isinstance(result, SearchResult)
    assert result.count == 0
    assert content == (
        "No restaurant found with name curry palace. Names like it: curry prince, curry garden, tandoori palace."
        " Without name: 110 found."
    )
