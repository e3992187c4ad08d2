"""What an expert knows, and sentences filled in from it."""

import pytest

from agents.placeholders import Facts, fill, fill_arguments
from tools.results import BookingResult, Refusal, RefusalReason, SearchResult, Venue

ACORN = Venue(
    index=1,
    domain="hotel",
    name="acorn guest house",
    slots={
        "area": "north",
        "phone": "01223353888",
        "address": "154 chesterton road",
        "internet": "yes",
        "parking": "no",
    },
)
BRIDGE = Venue(index=11, domain="hotel", name="bridge guest house", slots={"area": "south", "pricerange": "moderate"})
FOUND = SearchResult(domain="hotel", constraints={"area": "north"}, count=2, venues=[ACORN, BRIDGE])
NOTHING = SearchResult(domain="hotel", constraints={"area": "west"}, count=0, venues=[])
BOOKED = BookingResult(
    domain="hotel", venue=BRIDGE, reference="ABCD1234", details={"people": "3", "day": "tuesday", "stay": "2"}
)
REFUSED = Refusal(domain="hotel", reason=RefusalReason.UNAVAILABLE, message="no")


def test_the_focus_is_the_first_match_of_the_latest_search_with_results():
    facts = Facts("hotel").after({}, FOUND).after({}, NOTHING)
    assert fill("{hotel.name} : {hotel.phone} .", facts) == ("acorn guest house : 01223353888 .", [])
    assert fill("{hotel.count} found .", facts) == ("0 found .", [])


def test_the_focus_is_the_venue_just_booked():
    facts = Facts("hotel").after({}, FOUND).after({}, BOOKED)
    text, unfilled = fill("{hotel.name} is booked , {hotel.ref} , {hotel.people} {hotel.day} {hotel.stay} .", facts)
    assert text == "bridge guest house is booked , ABCD1234 , 3 tuesday 2 ."
    assert unfilled == []


def test_booking_details_stay_when_the_search_goes_on():
    facts = Facts("hotel").after({}, BOOKED).after({}, FOUND)
    assert fill("{hotel.name} {hotel.ref} .", facts)[0] == "acorn guest house ABCD1234 ."


def test_yes_and_no_are_words():
    facts = Facts("hotel").after({}, FOUND)
    assert fill("internet {hotel.internet} , parking {hotel.parking} .", facts)[0] == "internet yes , parking no ."


def test_a_sentence_with_an_unknown_value_is_dropped():
    facts = Facts("hotel").after({}, FOUND)
    text = "hello . the postcode is {hotel.postcode} . it is in the {hotel.area} ! really ?"
    assert fill(text, facts) == ("hello . it is in the north ! really ?", ["hotel.postcode"])


@pytest.mark.parametrize("text", ["{restaurant.name} .", "{hotel.colour} .", "{hotel.name} and {restaurant.name} ."])
def test_only_the_experts_own_slots_are_filled(text: str):
    filled, unfilled = fill(text, Facts("hotel").after({}, FOUND))
    assert filled == ""
    assert len(unfilled) == 1


def test_braces_that_are_no_placeholder_stay():
    assert fill("a {thing} .", Facts("hotel"))[0] == "a {thing} ."


def test_the_other_expert_is_told_area_price_day_and_people_in_this_order():
    facts = Facts("hotel")
    assert facts.shared() == ""
    facts = facts.after({}, FOUND)
    assert facts.shared() == "[hotel area north]"
    facts = facts.after({"people": "2", "day": "monday", "stay": "4"}, REFUSED)
    assert facts.shared() == "[hotel area north day monday people 2]"
    facts = facts.after({}, BOOKED)
    assert facts.shared() == "[hotel area south pricerange moderate day tuesday people 3]"


def test_an_empty_search_is_shared_by_what_was_asked():
    assert Facts("hotel").after({}, NOTHING).shared() == "[hotel area west]"


def test_placeholders_in_a_calls_arguments_become_the_venue_in_focus():
    facts = Facts("hotel", focus=Venue(index=0, domain="hotel", name="acorn guest house", slots={"area": "north"}))
    written: dict[str, object] = {"name": "{hotel.name}", "day": "friday", "stay": "{hotel.stay}", "people": 2}
    filled = fill_arguments(written, facts)
    assert filled == {"name": "acorn guest house", "day": "friday", "stay": "{hotel.stay}", "people": 2}
