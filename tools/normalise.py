"""Reading slot values: from what a user or a language model writes to how MultiWOZ spells it.

``normalise_slot`` returns the canonical value, ``None`` for "no constraint" ("doesn't matter"), or raises
``UnreadableValue`` with a message a language model can act on. Numbers in words are word2number's, days dateutil's,
spelling mistakes rapidfuzz's. Readings are cached, since dialogues repeat few values. What exists in the database is
not known here (``tools.names`` matches venue names): an unknown food is a fine value that matches nothing.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from dateutil.parser import parserinfo
from rapidfuzz import process
from rapidfuzz.distance import OSA
from word2number import w2n

from db.models import DAYS, MAX_PEOPLE, MAX_STAY


class UnreadableValue(ValueError):
    """A value that cannot be what the slot asks for; ``str()`` says what would be."""

    def __init__(self, slot: str, value: str, expected: str) -> None:
        super().__init__(f"{slot} '{value[:40]}' is not understood: use {expected}")
        self.slot = slot


def normalise_slot(slot: str, value: str) -> str | None:
    """The canonical value of a MultiWOZ ``slot``, or ``None`` where ``value`` constrains nothing.

    ``area`` centre/east/north/south/west; ``pricerange`` cheap/moderate/expensive; ``type`` hotel/guesthouse;
    ``stars`` "0".."5"; ``internet`` and ``parking`` yes/no; ``people`` "1".."8"; ``stay`` "1".."7"; ``day`` in full;
    ``time`` "HH:MM" on the quarter hour (hours 1 to 8 without am, pm or a leading zero are afternoon hours, since
    MultiWOZ's restaurants take bookings from nine to nine); ``food`` and ``name`` lower-case words.

    Raises ``UnreadableValue`` for a value outside these, ``KeyError`` for a slot that is none of these.
    """
    canonical, readable = _read(slot, value)
    if not readable:
        raise UnreadableValue(slot, value, _EXPECTED[slot])
    return canonical


@lru_cache(maxsize=8192)
def _read(slot: str, value: str) -> tuple[str | None, bool]:
    """The reading and whether there is one: exceptions would not be cached."""
    reader = _READERS[slot]
    words = _words(value)
    if _NO_CONSTRAINT.fullmatch(words):
        return None, True
    canonical = reader(words)
    return canonical, canonical is not None


def _words(value: str) -> str:
    """Lower case, one space between words, typographic and tokenised apostrophes made plain."""
    text = value.lower().replace("’", "'").replace(" n't", "n't")
    return " ".join(text.split()).strip(" .,;!\"'`?")


_NO_CONSTRAINT: Final = re.compile(
    r"""
    | (i\ )?(really\ )?(do|does|would|could|will)(\ not|n'?t)\ ?(really\ )?(care|mind|matter).*
    | dontcare | dont\ ?care.* | doesnt\ matter.* | (it\ )?(really\ )?does(n'?t|\ not)\ (really\ )?matter.*
    | no\ matter.* | no\ (particular\ |specific\ |real\ )?(preference|constraint)s?.* | not\ (mentioned|given|specified|important|needed|required)
    | any | any(thing|where|one|time|day)?(\ (is\ )?(fine|ok|okay|will\ do|at\ all))? | any\ \w+(\ \w+)?
    | all | either(\ one)?(\ is\ fine)? | whatever.* | whichever.* | flexible | open | optional | unknown | null | none | nil | n/a | -
    """,
    re.VERBOSE,
)
"""Whole values that leave a slot open; the empty one is among them."""

_AREAS: Final = {
    "centre": "centre",
    "center": "centre",
    "central": "centre",
    "centrally": "centre",
    "middle": "centre",
    "downtown": "centre",
    "north": "north",
    "northern": "north",
    "east": "east",
    "eastern": "east",
    "south": "south",
    "southern": "south",
    "west": "west",
    "western": "west",
}
_PRICES: Final = {
    "cheap": "cheap",
    "cheaply": "cheap",
    "cheaper": "cheap",
    "inexpensive": "cheap",
    "budget": "cheap",
    "low": "cheap",
    "affordable": "cheap",
    "economical": "cheap",
    "moderate": "moderate",
    "moderately": "moderate",
    "mid": "moderate",
    "midrange": "moderate",
    "middle": "moderate",
    "medium": "moderate",
    "average": "moderate",
    "reasonable": "moderate",
    "reasonably": "moderate",
    "expensive": "expensive",
    "high": "expensive",
    "higher": "expensive",
    "pricey": "expensive",
    "luxury": "expensive",
    "luxurious": "expensive",
    "upscale": "expensive",
    "upmarket": "expensive",
    "fancy": "expensive",
    "posh": "expensive",
}
_DAY_INFO: Final = parserinfo()
_EXTRA_DAYS: Final = {"tues": "tuesday", "weds": "wednesday", "thur": "thursday", "thurs": "thursday"}
_DAY_WORDS: Final = {day: day for day in DAYS}
_EXTRA_NUMBERS: Final = {
    "a couple": 2,
    "couple": 2,
    "the two of us": 2,
    "me": 1,
    "just me": 1,
    "myself": 1,
    "just myself": 1,
    "alone": 1,
    "single": 1,
    "solo": 1,
    "a night": 1,
    "a week": 7,
    "week": 7,
}


def _one_of(words: str, vocabulary: Mapping[str, str], max_typos: int = 1) -> str | None:
    """The one value that the words name; ``None`` when they name none or several."""
    tokens = re.findall(r"[a-z]+", words)
    found = {vocabulary[token] for token in tokens if token in vocabulary}
    if not found:
        found = {
            vocabulary[best[0]]
            for token in tokens
            if len(token) >= 4
            and (best := process.extractOne(token, vocabulary, scorer=OSA.distance, score_cutoff=max_typos))
        }
    return found.pop() if len(found) == 1 else None


def _read_area(words: str) -> str | None:
    return _one_of(words, _AREAS)


def _read_price(words: str) -> str | None:
    return _one_of(words.replace("-", " "), _PRICES)


def _read_type(words: str) -> str | None:
    plain = re.sub(r"[^a-z&]", "", words)
    if re.search(r"guest|bandb|b&b|bnb|bedandbreakfast|bedbreakfast", plain):
        return "guesthouse"
    return "hotel" if re.fullmatch(r"(a|an|the)?hotels?(s|only|type)?", plain) else None


def _read_yes_no(words: str) -> str | None:
    tokens = set(re.findall(r"[a-z']+", words))
    if tokens & {"no", "not", "without", "false", "n", "don't", "doesn't", "unavailable"}:
        return "no"
    if tokens & {"yes", "y", "true", "free", "wifi", "wi", "internet", "parking", "with", "included", "include"}:
        return "yes"
    return "yes" if tokens & {"available", "required", "needed", "must", "need", "wanted", "please", "sure"} else None


def _number(words: str) -> int | None:
    """A whole number in digits or English words; ``None`` for none, several, or a fraction."""
    if words in _EXTRA_NUMBERS:
        return _EXTRA_NUMBERS[words]
    digits = set(re.findall(r"\d+(?:\.\d+)?", words))
    if digits:
        value = float(digits.pop())
        return int(value) if not digits and value.is_integer() and "-" not in words.split()[0][:1] else None
    try:
        return int(w2n.word_to_num(words.replace("-", " ")))
    except ValueError:
        return None


def _in_range(low: int, high: int) -> Callable[[str], str | None]:
    def read(words: str) -> str | None:
        number = _number(words)
        return str(number) if number is not None and low <= number <= high else None

    return read


def _read_day(words: str) -> str | None:
    for token in re.findall(r"[a-z]+", words):
        weekday = _DAY_INFO.weekday(token)
        if weekday is not None:
            return DAYS[weekday]
        if token in _EXTRA_DAYS:
            return _EXTRA_DAYS[token]
    return _one_of(words, _DAY_WORDS, max_typos=2)


_CLOCK: Final = re.compile(r"(?P<hour>\d{1,2})(?:\s*[:.h]\s*(?P<minute>\d{2}))?(?::00)?")
_SPOKEN: Final = re.compile(
    r"(?:(?P<part>half|quarter|fifteen|thirty|15|30)(?:\s+minutes)?\s+(?P<side>past|after|to|before|of)\s+)(?P<hour>.+)"
)
_PARTS: Final = {"half": 30, "thirty": 30, "30": 30, "quarter": 15, "fifteen": 15, "15": 15}
_MINUTE_WORDS: Final = {"fifteen": 15, "thirty": 30, "forty five": 45, "o'clock": 0, "oclock": 0, "hundred": 0}
_NAMED_TIMES: Final = {"noon": "12:00", "midday": "12:00", "midnight": "00:00"}


def _read_time(words: str) -> str | None:
    if words in _NAMED_TIMES:
        return _NAMED_TIMES[words]
    text = re.sub(r"^(at|by|around|about|for)\s+", "", words)
    text, half_of_day = _split_half_of_day(text)
    text = re.sub(r"^a\s+(?=quarter)", "", text)
    clock = _clock(text)
    if clock is None:
        return None
    hour, minute, ambiguous = clock
    if half_of_day == "pm" and hour < 12:
        hour += 12
    elif half_of_day == "am" and hour == 12:
        hour = 0
    elif half_of_day is None and ambiguous and 1 <= hour <= 8:
        hour += 12
    return f"{hour:02d}:{minute:02d}" if hour < 24 and minute in (0, 15, 30, 45) else None


def _split_half_of_day(text: str) -> tuple[str, str | None]:
    match = re.fullmatch(
        r"(?P<time>.*?)\s*(?:(?P<pm>p\.?m\.?|in the (?:afternoon|evening)|at night|tonight)|(?P<am>a\.?m\.?|in the morning))",
        text,
    )
    if match is None:
        return text, None
    return match["time"], "pm" if match["pm"] else "am"


def _clock(text: str) -> tuple[int, int, bool] | None:
    """Hour, minute, and whether the hour may mean afternoon."""
    if match := re.fullmatch(r"(\d{2})(\d{2})(?:\s*(?:hours|h|hrs))?", text):
        return int(match[1]), int(match[2]), False
    bare = re.sub(r"\s*(o'?\s?clock|hours|sharp)$", "", text)
    if match := _CLOCK.fullmatch(bare):
        return int(match["hour"]), int(match["minute"] or 0), not match["hour"].startswith("0")
    if match := _SPOKEN.fullmatch(bare):
        hour = _number(match["hour"])
        minutes = _PARTS[match["part"]]
        if hour is None or not 0 <= hour <= 23:
            return None
        return (hour, minutes, True) if match["side"] in ("past", "after") else ((hour - 1) % 24, 60 - minutes, True)
    for word, minute in _MINUTE_WORDS.items():
        if bare.replace("-", " ").endswith(f" {word}"):
            hour = _number(bare.replace("-", " ").removesuffix(word).strip())
            return None if hour is None else (hour, minute, True)
    hour = _number(bare) if re.fullmatch(r"[a-z -]+", bare) else None
    return None if hour is None else (hour, 0, True)


_FOODS: Final = {
    "englisch": "english",
    "modern-european": "modern european",
    "asian": "asian oriental",
    "oriental": "asian oriental",
    "gastro pub": "gastropub",
    "gastro-pub": "gastropub",
    "sea food": "seafood",
    "american": "north american",
}
"""Other names of foods in the database. Cuisines it lacks (english, world, ...) are left alone: none is served."""


def _read_food(words: str) -> str | None:
    plain = re.sub(r"\s+(food|cuisine|restaurants?|dishes)$", "", words)
    return _FOODS.get(plain, plain)


def _read_name(words: str) -> str | None:
    return words


_READERS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "area": _read_area,
    "pricerange": _read_price,
    "type": _read_type,
    "stars": _in_range(0, 5),
    "internet": _read_yes_no,
    "parking": _read_yes_no,
    "food": _read_food,
    "name": _read_name,
    "people": _in_range(1, MAX_PEOPLE),
    "stay": _in_range(1, MAX_STAY),
    "day": _read_day,
    "time": _read_time,
}
_EXPECTED: Final[Mapping[str, str]] = {
    "area": "centre, east, north, south or west",
    "pricerange": "cheap, moderate or expensive",
    "type": "hotel or guesthouse",
    "stars": "a number from 0 to 5",
    "internet": "yes or no",
    "parking": "yes or no",
    "food": "a cuisine",
    "name": "a name",
    "people": f"a number from 1 to {MAX_PEOPLE}",
    "stay": f"a number of nights from 1 to {MAX_STAY}",
    "day": "a day of the week",
    "time": "a time on the quarter hour, such as 18:30",
}
