"""How values are read, from the ways people and models write them."""

import pytest

from db.seed import load_venues
from tools.normalise import UnreadableValue, normalise_slot

NO_PREFERENCE = [
    "",
    " ",
    "?",
    "dontcare",
    "dont care",
    "don't care",
    "do n't care",
    "don’t care",
    "i don't care",
    "I don't really mind",
    "doesn't matter",
    "it does not matter",
    "does n't matter",
    "no preference",
    "no particular preference",
    "not mentioned",
    "none",
    "None",
    "null",
    "any",
    "anything",
    "any will do",
    "either is fine",
    "whatever",
    "whatever you have",
    "not important",
    "don't need it",
]


@pytest.mark.parametrize("value", NO_PREFERENCE)
@pytest.mark.parametrize("slot", ["area", "pricerange", "type", "stars", "internet", "parking", "food", "name", "day"])
def test_no_preference_is_no_constraint(slot: str, value: str) -> None:
    assert normalise_slot(slot, value) is None


@pytest.mark.parametrize(
    ("slot", "value", "canonical"),
    [
        ("area", "centre", "centre"),
        ("area", "center", "centre"),
        ("area", "city center", "centre"),
        ("area", "in the middle of town", "centre"),
        ("area", "Central", "centre"),
        ("area", "cetnre", "centre"),
        ("area", "the north part", "north"),
        ("area", "southern", "south"),
        ("area", "nort", "north"),
        ("area", "anywhere", None),
        ("area", "any area", None),
        ("pricerange", "moderately priced", "moderate"),
        ("pricerange", "mid-range", "moderate"),
        ("pricerange", "inexpensive", "cheap"),
        ("pricerange", "Cheap.", "cheap"),
        ("pricerange", "high end", "expensive"),
        ("pricerange", "expansive", "expensive"),
        ("pricerange", "any price range", None),
        ("type", "guest house", "guesthouse"),
        ("type", "guesthouses", "guesthouse"),
        ("type", "B&B", "guesthouse"),
        ("type", "bed and breakfast", "guesthouse"),
        ("type", "a hotel", "hotel"),
        ("type", "hotel or guesthouse", None),
        ("stars", "4", "4"),
        ("stars", "4 stars", "4"),
        ("stars", "4-star", "4"),
        ("stars", "four star", "4"),
        ("stars", "four-star", "4"),
        ("stars", "zero", "0"),
        ("stars", "4.0", "4"),
        ("internet", "yes", "yes"),
        ("internet", "free wifi", "yes"),
        ("internet", "wi-fi", "yes"),
        ("internet", "true", "yes"),
        ("internet", "no", "no"),
        ("internet", "no wifi", "no"),
        ("parking", "free parking", "yes"),
        ("parking", "without", "no"),
        ("parking", "available", "yes"),
        ("parking", "False", "no"),
        ("parking", "i do not need parking", None),
        ("people", "3", "3"),
        ("people", "3 people", "3"),
        ("people", "party of six", "6"),
        ("people", "eight guests", "8"),
        ("people", "just me", "1"),
        ("people", "a couple", "2"),
        ("stay", "2 nights", "2"),
        ("stay", "three nights", "3"),
        ("stay", "a week", "7"),
        ("day", "Thu", "thursday"),
        ("day", "thurs", "thursday"),
        ("day", "Tues.", "tuesday"),
        ("day", "on wednesday", "wednesday"),
        ("day", "wenesday", "wednesday"),
        ("day", "SATURDAY", "saturday"),
        ("food", "Chinese food", "chinese"),
        ("food", "modern-european", "modern european"),
        ("food", "modern european", "modern european"),
        ("food", "asian oriental", "asian oriental"),
        ("food", "asian", "asian oriental"),
        ("food", "gastro pub", "gastropub"),
        ("food", "welsh", "welsh"),
        ("name", " The  Gandhi ", "the gandhi"),
    ],
)
def test_a_value_is_read(slot: str, value: str, canonical: str | None) -> None:
    assert normalise_slot(slot, value) == canonical


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        ("18:30", "18:30"),
        ("18.30", "18:30"),
        ("1830", "18:30"),
        ("18:30:00", "18:30"),
        ("18h30", "18:30"),
        ("9:15", "09:15"),
        ("09:15", "09:15"),
        ("6:30 pm", "18:30"),
        ("6:30pm", "18:30"),
        ("6 p.m.", "18:00"),
        ("9 am", "09:00"),
        ("12:30 pm", "12:30"),
        ("12 am", "00:00"),
        ("half past six", "18:30"),
        ("half six", "18:30"),
        ("at half past six in the evening", "18:30"),
        ("quarter to seven", "18:45"),
        ("a quarter past 7", "19:15"),
        ("quarter to one", "12:45"),
        ("quarter past ten in the morning", "10:15"),
        ("six thirty", "18:30"),
        ("twelve forty-five", "12:45"),
        ("seven o'clock", "19:00"),
        ("7 o'clock", "19:00"),
        ("nineteen hundred", "19:00"),
        ("six", "18:00"),
        ("eleven", "11:00"),
        ("6:30", "18:30"),
        ("06:30", "06:30"),
        ("noon", "12:00"),
        ("midday", "12:00"),
        ("twenty one fifteen", "21:15"),
    ],
)
def test_a_time_is_read(value: str, canonical: str) -> None:
    assert normalise_slot("time", value) == canonical


@pytest.mark.parametrize(
    ("slot", "value"),
    [
        ("area", "cambridge"),
        ("area", "north or south"),
        ("pricerange", "purple"),
        ("type", "hostel"),
        ("stars", "6"),
        ("stars", "-1"),
        ("stars", "4.5"),
        ("stars", "four or five"),
        ("stars", "many"),
        ("internet", "perhaps"),
        ("people", "0"),
        ("people", "9"),
        ("people", "12 people"),
        ("people", "2 or 3"),
        ("people", "['2', '3']"),
        ("stay", "8"),
        ("stay", "a fortnight"),
        ("day", "tomorrow"),
        ("day", "monday or tuesday"),
        ("time", "18:20"),
        ("time", "25:00"),
        ("time", "6:70 pm"),
        ("time", "this evening"),
        ("time", "13:00 am:"),
    ],
)
def test_an_unreadable_value_is_said_to_be_one(slot: str, value: str) -> None:
    with pytest.raises(UnreadableValue, match=f"^{slot} '.*' is not understood: use ") as error:
        normalise_slot(slot, value)
    assert error.value.slot == slot


def test_an_unknown_slot_is_a_bug() -> None:
    with pytest.raises(KeyError):
        normalise_slot("entrance fee", "free")


@pytest.mark.parametrize(
    "food", ["english", "world", "north indian", "eastern european", "modern american", "the americas", "panasian"]
)
def test_a_cuisine_nobody_serves_is_not_read_as_another(food: str) -> None:
    """MultiWOZ's failing goals ask for these, and must fail."""
    assert normalise_slot("food", food) == food
    assert food not in {row["food"] for row in load_venues("restaurant")}


def test_every_value_of_the_database_is_canonical() -> None:
    slots = {
        "hotel": ("area", "pricerange", "type", "stars", "internet", "parking"),
        "restaurant": ("area", "pricerange", "food"),
    }
    for domain in ("hotel", "restaurant"):
        for row in load_venues(domain):
            for slot in slots[domain]:
                assert normalise_slot(slot, str(row[slot])) == row[slot]
