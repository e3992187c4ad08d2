"""What a user's sentence says to one expert: constraints, booking details, questions, courtesies.

Reads ConvLab's user templates without fault (a test goes through all of them) and ordinary English about hotels and
restaurants fairly. Values stay as the user wrote them, lower-cased: the tools normalise. Knows nothing of the dialogue
before; ``SAME`` stands for what only the other expert's work can tell.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from agents import patterns
from agents.lexicon import Lexicon, load_lexicon
from tools.results import Domain

DOMAINS: tuple[Domain, ...] = ("hotel", "restaurant")
SAME = "same"
"""Value of a slot that the user wants "the same as the hotel"."""

CONSTRAINTS: dict[Domain, tuple[str, ...]] = {
    "hotel": ("area", "pricerange", "type", "stars", "internet", "parking", "name"),
    "restaurant": ("area", "pricerange", "food", "name"),
}
DETAILS: dict[Domain, tuple[str, ...]] = {"hotel": ("people", "day", "stay"), "restaurant": ("people", "day", "time")}
REQUESTS: dict[Domain, tuple[str, ...]] = {
    "hotel": ("phone", "postcode", "address", "area", "pricerange", "type", "stars", "internet", "parking", "ref"),
    "restaurant": ("phone", "postcode", "address", "area", "pricerange", "food", "ref"),
}


@dataclass(frozen=True)
class Reading:
    """One user turn as one expert understands it."""

    constraints: dict[str, str] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)
    requests: tuple[str, ...] = ()
    dontcare: frozenset[str] = frozenset()
    book: bool = False
    """Asks for a booking, with or without details."""
    not_book: bool = False
    choose: bool = False
    """Leaves the choice to the agent."""
    agrees: bool = False
    closes: bool = False
    """Thanks or goodbye."""
    greets: bool = False

    @property
    def says_something(self) -> bool:
        """Whether there is more to it than courtesy."""
        return bool(self.constraints or self.details or self.requests or self.dontcare or self.book or self.choose)


def plain(text: str) -> str:
    """Lower case with ConvLab's tokenised apostrophes ("do n't", "I ' m") put together again."""
    text = " ".join(text.lower().replace("’", "'").split())
    text = re.sub(r"\s?'\s?(s|m|d|ll|re|ve)\b", r"'\1", text)
    return re.sub(r"\s?n\s?'\s?t\b", "n't", text)


@lru_cache(maxsize=4096)
def named_domains(text: str) -> tuple[Domain, ...]:
    """The domains that a user turn speaks of, in order of mention; empty when its words belong to neither."""
    lexicon = load_lexicon()
    masked, _ = _mask_names(plain(text), lexicon)
    first: dict[Domain, int] = {}
    for domain in DOMAINS:
        at = _first_cue(masked, domain, lexicon)
        if at is not None:
            first[domain] = at
    return tuple(sorted(first, key=lambda domain: first[domain]))


@lru_cache(maxsize=8192)
def read(text: str, domain: Domain) -> Reading:
    """What ``text`` says to the expert of ``domain``."""
    lexicon = load_lexicon()
    masked, names = _mask_names(plain(text), lexicon)
    reader = _Reader(domain, lexicon, names)
    sentences = [
        sentence.strip(" .?!,") for sentence in patterns.SENTENCE.split(masked) if sentence and sentence.strip(" .?!,")
    ]
    for sentence in _own_part(sentences, domain, lexicon):
        reader.read_sentence(sentence)
    return reader.result()


def _mask_names(text: str, lexicon: Lexicon) -> tuple[str, list[str]]:
    names: list[str] = []

    def mask(match: re.Match[str]) -> str:
        names.append(match.group(0))
        domains = lexicon.domain_of[match.group(0)]
        return "@" + "".join(sorted(domain[0] for domain in domains)) + str(len(names) - 1)

    return lexicon.names.sub(mask, text), names


def _first_cue(masked: str, domain: Domain, lexicon: Lexicon) -> int | None:
    text = patterns.AS_THE.sub(lambda match: "_" * len(match.group(0)), masked)
    found = [match.start() for match in patterns.CUES[domain].finditer(text)]
    found += [match.start() for match in re.finditer("@" + domain[0], text)]
    if domain == "restaurant":
        found += [match.start() for pattern in (lexicon.foods, patterns.TIME) for match in pattern.finditer(text)]
    return min(found, default=None)


def _own_part(sentences: list[str], domain: Domain, lexicon: Lexicon) -> list[str]:
    """The sentences for this expert. Only a turn that speaks of both domains is divided, clause by clause."""
    other: Domain = "restaurant" if domain == "hotel" else "hotel"
    whole = " . ".join(sentences)
    if _first_cue(whole, domain, lexicon) is None or _first_cue(whole, other, lexicon) is None:
        return sentences
    own: list[str] = []
    owner: Domain | None = None
    for sentence in sentences:
        part: list[str] = []
        for clause in patterns.CLAUSE.split(sentence):
            owners: list[Domain] = [known for known in DOMAINS if _first_cue(clause, known, lexicon) is not None]
            owner = owners[0] if len(owners) == 1 else owner
            if domain in owners or (not owners and owner in (domain, None)):
                part.append(clause)
        if part:
            own.append(" and ".join(part))
    return own


class _Reader:
    """Collects one user turn, sentence by sentence; a later value wins."""

    def __init__(self, domain: Domain, lexicon: Lexicon, names: list[str]) -> None:
        self.domain: Domain = domain
        self.lexicon = lexicon
        self.names = names
        self.constraints: dict[str, str] = {}
        self.details: dict[str, str] = {}
        self.requests: set[str] = set()
        self.dontcare: set[str] = set()
        self.flags: set[str] = set()

    def result(self) -> Reading:
        return Reading(
            constraints={slot: self.constraints[slot] for slot in CONSTRAINTS[self.domain] if slot in self.constraints},
            details={slot: self.details[slot] for slot in DETAILS[self.domain] if slot in self.details},
            requests=tuple(slot for slot in REQUESTS[self.domain] if slot in self.requests),
            dontcare=frozenset(self.dontcare & set(CONSTRAINTS[self.domain])),
            book="book" in self.flags,
            not_book="not_book" in self.flags,
            choose="choose" in self.flags,
            agrees="agrees" in self.flags,
            closes="closes" in self.flags,
            greets="greets" in self.flags,
        )

    def read_sentence(self, sentence: str) -> None:
        self._read_flags(sentence)
        for clause in re.split(r" ,? ?but " if not patterns.NO_MATTER.search(sentence) else r" but | , |, ", sentence):
            if patterns.NO_MATTER.search(clause):
                self._leave_open(clause)
            else:
                for match in patterns.ANY_VALUE.finditer(clause):
                    self._leave_open(match.group(0))
                rest = patterns.ANY_VALUE.sub("@", clause)
                self._read_details(rest)
                self._read_constraints(rest)

    def _leave_open(self, words: str) -> None:
        self.dontcare |= {slot for slot, word in patterns.SLOT_WORDS.items() if word.search(words)}

    def _read_flags(self, sentence: str) -> None:
        if patterns.NOT_BOOK.search(sentence):
            self.flags.add("not_book")
        elif patterns.BOOK.search(sentence):
            self.flags.add("book")
        for flag, pattern in (
            ("choose", patterns.CHOOSE),
            ("agrees", patterns.AGREES),
            ("closes", patterns.CLOSES),
            ("greets", patterns.GREETS),
        ):
            if pattern.search(sentence):
                self.flags.add(flag)

    def _read_details(self, clause: str) -> None:
        if match := _first(patterns.PEOPLE, clause):
            self.details["people"] = match
        elif patterns.ALONE.search(clause):
            self.details["people"] = "1"
        if match := patterns.STAY.search(clause):
            self.details["stay"] = match.group(1)
        if match := patterns.DAY.search(clause):
            self.details["day"] = match.group(1)
        if match := patterns.TIME.search(clause) or (
            patterns.AT_HOUR.search(clause) if self.domain == "restaurant" else None
        ):
            self.details["time"] = match.group(1)
        if patterns.SAME_DAY.search(clause):
            self.details["day"] = SAME
        if patterns.SAME_PEOPLE.search(clause):
            self.details["people"] = SAME

    def _read_constraints(self, clause: str) -> None:
        clause = self._read_names(clause)
        for slot, pattern in patterns.REQUEST_WORDS.items():
            if pattern.search(clause):
                self.requests.add(slot)
        if self.domain == "restaurant":
            clause = self._read_food(clause)
        self._read_choice(clause, "area", patterns.AREA, patterns.SAME_AREA, patterns.AREA_QUESTION)
        self._read_choice(clause, "pricerange", patterns.PRICE, patterns.SAME_PRICE, patterns.PRICE_QUESTION)
        if self.domain == "hotel":
            self._read_type(clause)
            self._read_stars(clause)
            self._read_facility(clause, "internet", patterns.INTERNET)
            self._read_facility(clause, "parking", patterns.PARKING)

    def _read_names(self, clause: str) -> str:
        for match in re.finditer(r"@([a-z]+)(\d+)", clause):
            if self.domain[0] in match.group(1):
                self.constraints["name"] = self.names[int(match.group(2))]
        if not re.search(r"@[a-z]", clause):
            expected = patterns.NAME_EXPECTED.search(clause)
            if expected and expected.group(1) in self.lexicon.short_names[self.domain]:
                self.constraints["name"] = expected.group(1)
            elif match := patterns.NAME_PHRASE.search(clause):
                self.constraints["name"] = match.group(1).strip()
                return clause[: match.start(1)]
        return clause

    def _read_food(self, clause: str) -> str:
        if patterns.FOOD_QUESTION.search(clause):
            self.requests.add("food")
            return clause
        phrases = patterns.FOOD_PHRASE.finditer(patterns.PRICE.sub("@", patterns.SAME_PRICE.sub("@", clause)))
        food = next((food for phrase in phrases if (food := _unknown_food(phrase.group(1)))), "")
        if match := self.lexicon.foods.search(food or clause):
            food = food if food and len(food.split()) <= 2 else match.group(0)
        if food:
            self.constraints["food"] = food
            return clause.replace(food, "@")
        return clause

    def _read_choice(
        self, clause: str, slot: str, values: re.Pattern[str], same: re.Pattern[str], question: re.Pattern[str]
    ) -> None:
        if same.search(clause):
            self.constraints[slot] = SAME
        elif match := values.search(clause):
            self.constraints[slot] = match.group(1)
        elif question.search(clause):
            self.requests.add(slot)

    def _read_type(self, clause: str) -> None:
        if patterns.TYPE_QUESTION.search(clause):
            self.requests.add("type")
        elif patterns.WANTS_HOTEL.search(clause) or patterns.NO_GUESTHOUSE.search(clause):
            self.constraints["type"] = "hotel"
        elif match := patterns.GUESTHOUSE.search(clause):
            self.constraints["type"] = match.group(1)

    def _read_stars(self, clause: str) -> None:
        if match := patterns.STARS.search(clause):
            self.constraints["stars"] = match.group(1) or match.group(2)
        elif patterns.STARS_QUESTION.search(clause):
            self.requests.add("stars")

    def _read_facility(self, clause: str, slot: str, word: re.Pattern[str]) -> None:
        if not word.search(clause):
            return
        if patterns.NEEDS_NO.search(clause):
            self.constraints[slot] = "no"
        elif patterns.ASKS_WHETHER.search(clause):
            self.requests.add(slot)
        else:
            self.constraints[slot] = "yes"


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> str | None:
    return next((match.group(1) for pattern in patterns if (match := pattern.search(text))), None)


def _unknown_food(words: str) -> str:
    kept = words.split()
    while kept and kept[0] in patterns.NOT_A_FOOD and kept[:2] != ["new", "zealand"]:
        kept.pop(0)
    return "" if any(word in patterns.NOT_A_FOOD - {"new"} for word in kept) else " ".join(kept)
