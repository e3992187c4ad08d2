"""The words that carry slot values, and the book of phrases that name venues and their addresses.

Owns spelling: what counts as the same word ("center", "guest house", "b & b"). Built from the database's venues, so
no name, address or cuisine is written down here. What a sentence says with these words is `reading`'s business.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeVar

from db.seed import load_venues
from tools.results import Domain, Venue

VenueKey = tuple[Domain, int]
Phrase = tuple[str, ...]
EntityKind = Literal["name", "address", "phone", "postcode", "food"]


def word_set(words: str) -> frozenset[str]:
    """Words written one after the other."""
    return frozenset(words.split())


NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
}
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

VALUE_WORDS: dict[str, tuple[str, str]] = {
    **{word: ("area", word) for word in ("north", "south", "east", "west", "centre")},
    **{f"{word}ern": ("area", word) for word in ("north", "south", "east", "west")},
    "central": ("area", "centre"),
    "downtown": ("area", "centre"),
    **dict.fromkeys(("cheap", "inexpensive", "affordable", "cheaply"), ("pricerange", "cheap")),
    **dict.fromkeys(("moderate", "moderately"), ("pricerange", "moderate")),
    **dict.fromkeys(("expensive", "pricey", "upscale"), ("pricerange", "expensive")),
    "guesthouse": ("type", "guesthouse"),
}
"""Words that are a value wherever they stand. ``hotel``, the other type, is also the domain's name: see `reading`."""
PLAIN_VALUES = frozenset(word for word, (_, value) in VALUE_WORDS.items() if word == value)
"""The words that can be wrong; whoever calls a moderate place "affordable" has said nothing false."""

_SPELLINGS: Sequence[tuple[str, str]] = (
    ("\N{RIGHT SINGLE QUOTATION MARK}", "'"),
    ("\N{LEFT SINGLE QUOTATION MARK}", "'"),
    ("\N{NON-BREAKING HYPHEN}", "-"),
    ("\N{EN DASH}", "-"),
    ("\N{EM DASH}", " , "),
    ("\N{NO-BREAK SPACE}", " "),
    ("&", " and "),
)
_REWRITES: Sequence[tuple[re.Pattern[str], str]] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\b(ca|wo|[a-z]+)\s?n\s?'\s?t\b", r"\1nt"),
        (r"\bcannot\b|\bcan not\b", "cant"),
        (r"\s?'\s?(s|m|re|ve|ll|d)\b", r" '\1"),
        (r"'(?!(?:s|m|re|ve|ll|d)\b)", ""),
        (r"\bcenter\b", "centre"),
        (r"\bguest[ -]?houses?\b", "guesthouse"),
        (r"\b(?:bed and breakfast|b and b|bandb)\b", "b and b"),
        (r"\bwi[ -]fi\b", "wifi"),
        (r"\bpost(?:al)? ?code\b", "postcode"),
        (r"\bprice ?range\b", "price range"),
        (r"\b(?:town ?info|tourist information|information|call) centre\b", "office"),
        (r"\b(st|rd|no|mr|dr)\.(?= )", r"\1"),
        (r"\b([ap])\.m\.?", r"\1m"),
    )
)

TOKEN = re.compile(
    r"(?P<phone>(?<![\w:])0\d(?:[ -]?\d){7,10}(?![\w:]))"
    r"|(?P<postcode>\b(?:cb|pe) ?\d{1,2} ?\d ?[a-z]{2}\b)"
    r"|(?P<time>\b\d{1,2}:\d{2}\b)"
    r"|(?P<word>'?[a-z0-9]+)"
    r"|(?P<stop>[.!?;\n]+)"
    r"|(?P<mark>[,:()|/])"
)


def respell(text: str) -> str:
    """Lower case, one spelling a word, contractions joined (``do n't`` -> ``dont``), possessives apart (``it 's``)."""
    text = text.lower()
    for wrong, right in _SPELLINGS:
        if wrong in text:
            text = text.replace(wrong, right)
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    return text


def words_of(phrase: str) -> Phrase:
    """A phrase as the tokens that a text would have for it, marks left out."""
    found = (match.group() for match in TOKEN.finditer(respell(phrase)) if match.lastgroup not in ("stop", "mark"))
    return tuple(word for part in found for word in part.split() if word != "'s")


@dataclass(frozen=True, slots=True)
class Entity:
    """A phrase of the database: what it is and the venues that have it."""

    kind: EntityKind
    value: str
    venues: tuple[VenueKey, ...]
    """Domain and index; empty for a cuisine."""


_SUFFIXES = ("guesthouse", "hotel", "restaurant", "b and b", "city centre")
_TOO_PLAIN = word_set(
    "bridge curry city express golden house home indian lodge peking pizza rice royal the river stop worth "
    "grafton cambridge university shanghai saigon bangkok station"
)
"""What is left of some names without their suffix, and is an ordinary word or a longer name's beginning."""


def full_names(name: str) -> list[Phrase]:
    """A venue's name with and without its "the"."""
    full = words_of(name)
    return list(dict.fromkeys((full, full[full[:1] == ("the",) :])))


def short_names(name: str) -> Iterator[Phrase]:
    """The spellings under which people mention a venue: without "guest house", without "restaurant"."""
    bare = full_names(name)[-1]
    for suffix in _SUFFIXES:
        tail = tuple(suffix.split())
        short = list(bare[: -len(tail)])
        distinct = len(short) > 1 or len("".join(short)) > 5
        if bare[-len(tail) :] == tail and distinct and short[0] not in _TOO_PLAIN:
            yield tuple(short)


class Catalogue:
    """Every venue of the database, by domain and index, and the phrases that mention one."""

    def __init__(self, venues: Mapping[Domain, Sequence[Venue]]) -> None:
        self.venues = {domain: {venue.index: venue for venue in found} for domain, found in venues.items()}
        everyone = [venue for found in venues.values() for venue in found]
        self.phones = _owners(everyone, lambda venue: [venue.slots.get("phone")])
        self.postcodes = _owners(everyone, lambda venue: [venue.slots.get("postcode", "").replace(" ", "").lower()])
        self._addresses = [" ".join(words_of(venue.slots.get("address", ""))) for venue in everyone]
        self._phrases: dict[str, list[tuple[Phrase, Entity]]] = {}
        names = _owners(everyone, lambda venue: full_names(venue.name))
        shorts = _owners(everyone, lambda venue: short_names(venue.name))
        names |= {phrase: keys for phrase, keys in shorts.items() if len(keys) == 1 and phrase not in names}
        for phrase, keys in names.items():
            self._add(phrase, Entity("name", self.venue(*keys[0]).name, keys))
        for address, keys in _owners(everyone, lambda venue: [venue.slots.get("address")]).items():
            self._add(words_of(address), Entity("address", address, keys))
        for food in _owners(everyone, lambda venue: [venue.slots.get("food")]):
            self._add(words_of(food), Entity("food", food, ()))
        for candidates in self._phrases.values():
            candidates.sort(key=lambda item: (-len(item[0]), item[1].kind != "name"))

    def _add(self, phrase: Phrase, entity: Entity) -> None:
        self._phrases.setdefault(phrase[0], []).append((phrase, entity))

    def venue(self, domain: Domain, index: int) -> Venue:
        """The venue at ``index`` of MultiWOZ's file for ``domain``."""
        return self.venues[domain][index]

    def is_part_of_address(self, phrase: str) -> bool:
        """Whether some venue's address has these words: people leave out "city centre"."""
        return any(phrase in address for address in self._addresses)

    def match(self, words: Sequence[str], start: int) -> tuple[Entity, int] | None:
        """The longest phrase that begins at ``words[start]`` and how many words it takes; commas within are skipped."""
        for phrase, entity in self._phrases.get(words[start], ()):
            position = start
            for wanted in phrase:
                while position < len(words) and position > start and words[position] in (",", "'s"):
                    position += 1
                if position >= len(words) or words[position] != wanted:
                    break
                position += 1
            else:
                return entity, position - start
        return None


_Key = TypeVar("_Key", bound=Hashable)


def _owners(
    venues: Iterable[Venue], keys_of: Callable[[Venue], Iterable[_Key | None]]
) -> dict[_Key, tuple[VenueKey, ...]]:
    """Key -> the venues that have it; empty keys are left out."""
    owners: dict[_Key, tuple[VenueKey, ...]] = {}
    for venue in venues:
        for key in keys_of(venue):
            if key:
                owners[key] = (*owners.get(key, ()), (venue.domain, venue.index))
    return owners


@cache
def load_catalogue() -> Catalogue:
    """The catalogue of MultiWOZ's hotels and restaurants, read once a process and never changed."""
    domains: tuple[Domain, ...] = ("hotel", "restaurant")
    return Catalogue({domain: [_venue(domain, row) for row in load_venues(domain)] for domain in domains})


def _venue(domain: Domain, row: Mapping[str, str | int | None]) -> Venue:
    slots = {slot: str(value) for slot, value in row.items() if value is not None and slot not in ("index", "name")}
    return Venue(index=int(row["index"] or 0), domain=domain, name=str(row["name"]), slots=slots)
