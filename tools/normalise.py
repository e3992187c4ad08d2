"""Reading slot values: from what a user or a language model writes to how MultiWOZ spells it.

``normalise_slot`` returns the canonical value, ``None`` for "no constraint" ("doesn't matter"), or raises
``UnreadableValue`` with a message a language model can act on. Numbers in words are word2number's, days dateutil's,
spelling mistakes rapidfuzz's. Readings are cached, since dialogues repeat few values. What exists in the database is
not known here (``tools.names`` matches venue names): an unknown food is a fine value that matches nothing.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
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
    if words.startswith(("[", "{")):
        return None, False  # a list or an object, as JSON: which of its values is meant is not for us to say
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
    | (i\ )?(really\ )?(do|does|would|could|will)(n'?t|\ not)\ (really\ )?(care|mind|matter|need|require)\b.*
    | (it\ )?(really\ )?(do|does)(n'?t|\ not)\ (really\ )?(care|mind|matter)\b.*
    | dont?\ ?(care|mind)\b.* | doesnt\ ?matter\b.* | no\ matter\b.*
    | no\ (\w+\ )?(preference|constraint|requirement)s?\b.*
    | not\ (\w+\ )?(mentioned|given|specified|important|needed|required|necessary)
    | any(thing|where|one|time|day)?(\ .*)? | all | both | either(\ .*)? | whatever\b.* | whichever\b.*
    | flexible | open | optional | unknown | null | none | nil | n/a | -
    | hotels?\ or\ guest\ ?houses? | guest\ ?houses?\ or\ hotels?
    """,
    re.VERBOSE,
)
"""Whole values that leave a slot open; the empty one (the first alternative) is among them."""

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
    numbers = {float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", words)}
    if not numbers and not re.search(r"\b(or|and|to)\b", words):
        with suppress(ValueError):
            numbers = {float(w2n.word_to_num(words.replace("-", " ")))}
    number = numbers.pop() if len(numbers) == 1 else None
    return int(number) if number is not None and number.is_integer() else None


def _in_range(low: int, high: int) -> Callable[[str], str | None]:
    def read(words: str) -> str | None:
        number = _number(words)
        return str(number) if number is not None and low <= number <= high else None

    return read


def _read_day(words: str) -> str | None:
    days: set[str] = set()
    for token in re.findall(r"[a-z]+", words):
        weekday = _DAY_INFO.weekday(token)
        if weekday is not None:
            days.add(DAYS[weekday])
        elif token in _EXTRA_DAYS:
            days.add(_EXTRA_DAYS[token])
    if days:
        return days.pop() if len(days) == 1 else None
    return _one_of(words, _DAY_WORDS, max_typos=2)


_HALF_OF_DAY: Final = re.compile(
    r"(?P<time>.*?)\s*"
    r"(?:(?P<pm>p\.?m\.?|in the (?:afternoon|evening)|at night|tonight)|(?P<am>a\.?m\.?|in the morning))"
)
_CLOCK: Final = re.compile(r"(?P<hour>\d{1,2})(?:\s*[:.h]\s*(?P<minute>\d{2}))?(?::00)?")
_MILITARY: Final = re.compile(r"(?P<hour>\d{2})(?P<minute>\d{2})(?:\s*(?:hours|h|hrs))?")
_RELATIVE: Final = re.compile(
    r"(?P<part>half|quarter|fifteen|thirty|15|30)(?: minutes)? (?P<side>past|after|to|before|of|(?=\w))\s*(?P<hour>.+)"
)
_PARTS: Final = {"half": 30, "thirty": 30, "30": 30, "quarter": 15, "fifteen": 15, "15": 15}
_SPOKEN: Final = re.compile(r"(?P<hour>[a-z]+(?: (?:one|two|three))?) (?P<minute>fifteen|thirty|forty five|hundred)")
_SPOKEN_MINUTES: Final = {"fifteen": 15, "thirty": 30, "forty five": 45, "hundred": 0}
_NAMED_TIMES: Final = {"noon": "12:00", "12 noon": "12:00", "midday": "12:00", "midnight": "00:00"}


def _read_time(words: str) -> str | None:
    text = re.sub(r"^((at|by|around|about|for) )?(a (?=quarter))?", "", words)
    if text in _NAMED_TIMES:
        return _NAMED_TIMES[text]
    half_of_day = _HALF_OF_DAY.fullmatch(text)
    clock = _clock(half_of_day["time"] if half_of_day else text)
    if clock is None:
        return None
    hour, minute, ambiguous = clock
    if half_of_day:
        hour = hour % 12 + (12 if half_of_day["pm"] else 0) if hour <= 12 else hour
    elif ambiguous and 1 <= hour <= 8:
        hour += 12
    return f"{hour:02d}:{minute:02d}" if 0 <= hour < 24 and minute in (0, 15, 30, 45) else None


def _clock(text: str) -> tuple[int, int, bool] | None:
    """Hour, minute, and whether the hour may mean afternoon."""
    if match := _MILITARY.fullmatch(text):
        return int(match["hour"]), int(match["minute"]), False
    bare = re.sub(r"\s*(o'? ?clock|hours|sharp)$", "", text).replace("-", " ")
    if match := _CLOCK.fullmatch(bare):
        return int(match["hour"]), int(match["minute"] or 0), not match["hour"].startswith("0")
    minutes = 0
    before = False
    if match := _RELATIVE.fullmatch(bare):
        minutes, before = _PARTS[match["part"]], match["side"] in ("to", "before", "of")
    elif match := _SPOKEN.fullmatch(bare):
        minutes = _SPOKEN_MINUTES[match["minute"]]
    hour = _number(match["hour"] if match else bare)
    if hour is None or not 0 <= hour < 24:
        return None
    if before:
        return 12 if hour == 1 else (hour - 1) % 24, 60 - minutes, True
    return hour, minutes, True


_FOODS: Final = {
    "asian": "asian oriental",
    "oriental": "asian oriental",
    "gastro pub": "gastropub",
    "sea food": "seafood",
    "american": "north american",
}
"""Other names of foods in the database. Cuisines it lacks (english, world, ...) are left alone: none is served."""


def _read_food(words: str) -> str | None:
    plain = re.sub(r" (food|cuisine|restaurants?|dishes|style)$", "", words.replace("-", " "))
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
