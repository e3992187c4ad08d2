"""The scripted expert reads all of ConvLab's user templates, with all values of the database, and ordinary English."""

import importlib.metadata
import json
from pathlib import Path

import pytest

from agents.reading import SAME, Reading, named_domains, read
from db.seed import load_venues
from tools.results import Domain

SLOTS = {
    "Area": "area",
    "Price": "pricerange",
    "Type": "type",
    "Stars": "stars",
    "Internet": "internet",
    "Parking": "parking",
    "Food": "food",
    "Name": "name",
    "People": "people",
    "Day": "day",
    "Stay": "stay",
    "Time": "time",
    "Addr": "address",
    "Post": "postcode",
    "Phone": "phone",
    "Ref": "ref",
}
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
DOMAINS: tuple[Domain, ...] = ("hotel", "restaurant")


def _templates() -> dict[str, dict[str, list[str]]]:
    package = Path(str(importlib.metadata.distribution("convlab").locate_file("convlab")))
    path = package / "nlg" / "template" / "multiwoz" / "manual_user_template_nlg.json"
    return json.loads(path.read_text(encoding="utf-8"))


TEMPLATES = _templates()


def _values(domain: Domain, slot: str) -> list[str]:
    numbers = {"people": range(1, 9), "stay": range(1, 8)}
    if slot in numbers:
        return [str(number) for number in numbers[slot]]
    if slot == "day":
        return DAYS
    if slot == "time":
        return [f"{hour}:{minute:02d}" for hour in range(9, 22) for minute in (0, 15, 30, 45)]
    if slot in ("internet", "parking"):
        return ["yes"]
    found = {str(venue[slot]) for venue in load_venues(domain) if venue[slot] is not None}
    extra = {
        "stars": {"1", "5"},
        "name": {"ask"} if domain == "restaurant" else set(),
        "food": {
            "modern global",
            "light bites",
            "christmas",
            "new zealand",
            "world",
            "unusual",
            "molecular gastronomy",
        },
    }
    return sorted(found | extra.get(slot, set()))


def _sentences(act: str) -> list[tuple[str, str]]:
    return [(SLOTS[slot], text) for slot, texts in TEMPLATES[act].items() if slot in SLOTS for text in texts]


def _spoken(template: str, act: str, slot: str, value: str) -> str:
    """As ConvLab's template NLG says it."""
    key = next(key for key, name in SLOTS.items() if name == slot)
    text = template.replace(f"#{act.upper()}-{key.upper()}#", value).strip()
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".?" else text + "."


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_inform_template_is_read_with_every_value(domain: Domain):
    act = f"{domain.capitalize()}-Inform"
    wrong = []
    for slot, template in _sentences(act):
        for value in _values(domain, slot):
            text = _spoken(template, act, slot, value)
            reading = read(text.lower(), domain)
            said = reading.constraints | reading.details
            if slot == "name" and said.get("name") == f"{value} restaurant":  # "the ask restaurant" is its full name
                said = {"name": value}
            asked = () if "the number for" not in text else ("phone",)
            if said != {slot: value.lower()} or reading.requests != asked or reading.dontcare or reading.not_book:
                wrong.append((text, said, reading.requests))
    assert wrong == []


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_request_template_is_read(domain: Domain):
    wrong = []
    for slot, template in _sentences(f"{domain.capitalize()}-Request"):
        reading = read(_spoken(template, "", slot, ""), domain)
        if reading.requests != (slot,) or reading.constraints or reading.details or (reading.book and slot != "ref"):
            wrong.append((template, reading))
    assert wrong == []


@pytest.mark.parametrize("domain", DOMAINS)
def test_no_template_sounds_like_the_other_domain(domain: Domain):
    other = {"hotel": "restaurant", "restaurant": "hotel"}[domain]
    wrong = []
    for act in (f"{domain.capitalize()}-Inform", f"{domain.capitalize()}-Request"):
        for slot, template in _sentences(act):
            values = _values(domain, slot) if act.endswith("Inform") else [""]
            wrong += [
                text for value in values if other in named_domains(text := _spoken(template, act, slot, value).lower())
            ]
    assert wrong == []


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_new_topic_names_its_domain_and_nothing_else(domain: Domain):
    for text in TEMPLATES[f"{domain.capitalize()}-Inform"]["none"]:
        assert named_domains(text) == (domain,), text
        assert not read(text, domain).says_something, text


@pytest.mark.parametrize("act", ["general-bye", "general-thank"])
@pytest.mark.parametrize("domain", DOMAINS)
def test_a_goodbye_closes_and_names_no_domain(act: str, domain: Domain):
    for text in TEMPLATES[act]["none"]:
        reading = read(text, domain)
        assert reading.closes, text
        assert not reading.says_something, text
        assert named_domains(text) == (), text


@pytest.mark.parametrize("domain", DOMAINS)
def test_sentences_of_one_turn_are_read_together(domain: Domain):
    """Every pair of inform sentences with different slots, one value each."""
    act = f"{domain.capitalize()}-Inform"
    sentences = [
        (slot, value := _values(domain, slot)[-1].lower(), _spoken(template, act, slot, value).lower())
        for slot, template in _sentences(act)
    ]
    wrong = []
    for slot, value, text in sentences:
        for other_slot, other_value, other_text in sentences:
            if slot != other_slot:
                reading = read(f"{text} {other_text}", domain)
                if reading.constraints | reading.details != {slot: value, other_slot: other_value}:
                    wrong.append((text, other_text, reading))
    assert wrong == []


@pytest.mark.parametrize(
    ("slot", "word"),
    [("area", "area"), ("pricerange", "price range"), ("food", "food"), ("name", "name")],
)
def test_not_caring_is_no_constraint(slot: str, word: str):
    reading = read(f"I don't care about the {word} of the restaurant. ", "restaurant")
    assert reading.dontcare == {slot}
    assert not reading.constraints
    assert not reading.requests


@pytest.mark.parametrize("word", ["number of stars", "internet", "parking", "type", "area", "price range"])
def test_not_caring_about_a_hotel_is_no_constraint(word: str):
    reading = read(f"I don't care about the {word} of the hotel. ", "hotel")
    assert len(reading.dontcare) == 1
    assert not reading.constraints
    assert not reading.requests


@pytest.mark.parametrize("slot", ["internet", "parking"])
@pytest.mark.parametrize("text", ["It does n't need to have {}. ", "I do n't need free {}. "])
def test_no_internet_and_no_parking_are_constraints(slot: str, text: str):
    assert read(text.format(slot), "hotel").constraints == {slot: "no"}


@pytest.mark.parametrize(
    "text",
    [
        "It just needs to be in the same price range as the hotel. ",
        "Oh , i really need something in the same price range as the hotel. ",
        "I would prefer something that is in the same price range as the hotel. ",
        "It needs to be in the same price range as the hotel. ",
    ],
)
def test_the_same_price_range(text: str):
    assert read(text, "restaurant").constraints == {"pricerange": SAME}
    assert named_domains(text) == ()


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(
    ("slot", "value"),
    [("area", "same area as the {other}"), ("people", "the same"), ("day", "the same day")],
)
def test_the_same_as_in_the_other_domain(domain: Domain, slot: str, value: str):
    other: Domain = "restaurant" if domain == "hotel" else "hotel"
    act = f"{domain.capitalize()}-Inform"
    for sentence_slot, template in _sentences(act):
        if sentence_slot == slot:
            text = _spoken(template, act, slot, value.format(other=other)).lower()
            reading = read(text, domain)
            assert reading.constraints | reading.details == {slot: SAME}, text
            assert other not in named_domains(text), text


@pytest.mark.parametrize("text", ["Please pick one for me. ", "Anyone would be ok. ", "Just select one for me. "])
def test_leaving_the_choice_to_the_agent(text: str):
    assert read(text, "hotel") == Reading(choose=True)
    assert read(text, "restaurant") == Reading(choose=True)


@pytest.mark.parametrize("text", ["I do not need to book. ", "I 'm not looking to make a booking at the moment."])
def test_not_wanting_to_book(text: str):
    reading = read(text, "hotel")
    assert reading.not_book
    assert not reading.book


@pytest.mark.parametrize(
    ("text", "domain", "said"),
    [
        ("I'm looking for a cheap place to stay with free wifi", "hotel", {"pricerange": "cheap", "internet": "yes"}),
        (
            "Could I get a four star guest house up north?",
            "hotel",
            {"area": "north", "type": "guest house", "stars": "four"},
        ),
        ("I need it for two nights from Friday for 3 people", "hotel", {"people": "3", "day": "friday", "stay": "two"}),
        (
            "A table for 4 on Sunday at half past six, please",
            "restaurant",
            {"people": "4", "day": "sunday", "time": "half past six"},
        ),
        ("I'd like Thai food in the city centre", "restaurant", {"area": "centre", "food": "thai"}),
        ("Can you tell me about the Allenbell?", "hotel", {"name": "allenbell"}),
        ("We are a party of seven, Monday 7 pm", "restaurant", {"people": "seven", "day": "monday", "time": "7 pm"}),
        ("Is there anything serving north american food", "restaurant", {"food": "north american"}),
        ("i am looking for a restaurant called Pizza Hut", "restaurant", {"name": "pizza hut"}),
        ("a table at Pizza Hut for 4 please", "restaurant", {"name": "pizza hut", "people": "4"}),
        ("No preference, I need it for 2 nights", "hotel", {"stay": "2"}),
        ("a moderate hotel in any part of town please", "hotel", {"pricerange": "moderate"}),
        ("a hotel to stay at with free parking please", "hotel", {"parking": "yes"}),
        ("I want to stay at a guesthouse in the centre please", "hotel", {"area": "centre", "type": "guesthouse"}),
        ("It'll just be me, Wednesday at 17:45", "restaurant", {"people": "1", "day": "wednesday", "time": "17:45"}),
        ("It is for 6 please , with a star rating of 2", "hotel", {"people": "6", "stars": "2"}),
        ("I shouldn't need parking", "hotel", {"parking": "no"}),
        ("a restaurant with thai food", "restaurant", {"food": "thai"}),
    ],
)
def test_ordinary_english(text: str, domain: Domain, said: dict[str, str]):
    reading = read(text, domain)
    assert reading.constraints | reading.details == said


def test_a_turn_about_two_things_is_divided():
    text = "Book a hotel in the north for 2 nights and find me an expensive italian restaurant in the centre"
    assert named_domains(text) == ("hotel", "restaurant")
    assert read(text, "hotel").constraints == {"area": "north"}
    assert read(text, "restaurant").constraints == {"area": "centre", "pricerange": "expensive", "food": "italian"}


def test_a_restaurant_near_the_hotel_is_no_question_about_the_hotel():
    assert named_domains("find me a place to eat in the same area as the hotel") == ("restaurant",)
