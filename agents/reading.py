"""What a user's sentence says to one expert: constraints, booking details, questions, courtesies.

Reads ConvLab's user templates without fault (a test goes through all of them) and ordinary English about hotels and
restaurants fairly. Values stay as the user wrote them, lower-cased: the tools normalise. Knows nothing of the dialogue
before; ``SAME`` stands for what only the other expert's work can tell.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from agents.lexicon import Lexicon, load_lexicon
from tools.results import Domain

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


_NUMBER = r"(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten)"
_AREA = re.compile(r"\b(north|south|east|west|northern|southern|eastern|western|centre|center|central|downtown)\b")
_PRICE = re.compile(
    r"\b(cheap|cheaper|inexpensive|budget|affordable|moderate|moderately|mid-range|reasonable|reasonably|"
    r"expensive|pricey|upscale|upmarket|luxury|luxurious|fancy|high-end)\b"
)
_STARS = re.compile(rf"\b(\d|zero|one|two|three|four|five)[ -]stars?\b|\bstars? of {_NUMBER}\b")
_SAME_AREA = re.compile(r"\bsame (?:area|part of (?:the )?(?:town|city)|location)\b(?: as (?:the|my|our) \w+)?")
_SAME_PRICE = re.compile(r"\bsame price(?: ?range)?\b(?: as (?:the|my|our) \w+)?")
_SAME_DAY = re.compile(r"\bsame (?:day|date)\b")
_SAME_PEOPLE = re.compile(r"\b(?:the |for )same (?:(?:group|number|amount) of )?people\b|\bsame (?:group|party)\b")
_DAY = re.compile(r"\b(monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|weds?|thurs?|thu|fri|sat)\b")
_TIME = re.compile(
    r"\b(\d{1,2}:\d{2}(?: ?[ap]\.?m\b\.?)?|\d{1,2} ?[ap]\.?m\b\.?|noon|midday|"
    rf"(?:half|quarter) (?:past|to) {_NUMBER}|{_NUMBER} o'?clock)"
)
_AT_HOUR = re.compile(rf"\bat {_NUMBER}\b(?! (?:people|person|night))")
_PEOPLE = (
    re.compile(rf"\b{_NUMBER} (?:people|persons?|guests?|adults|diners|of us)\b"),
    re.compile(rf"\b(?:party|group) of {_NUMBER}\b"),
    re.compile(
        rf"\b(?:table|reservation|booking|room|book(?: it)?) for {_NUMBER}\b(?! ?(?:nights?|days?|[ap]m|stars?|o'|:))"
    ),
    re.compile(rf"\bfor {_NUMBER}(?= (?:at|on|and|,)|$)"),
)
_ALONE = re.compile(r"\b(just me|just myself|only me|by myself)\b")
_STAY = re.compile(rf"\b{_NUMBER} (?:nights?|days)\b")

_REQUEST_WORDS = {
    "phone": re.compile(r"\b(?:tele)?phone\b|\bcontact number\b|\bnumber for (?:the )?@|\bgive me the number for\b"),
    "postcode": re.compile(r"\bpost ?codes?\b|\bpostal codes?\b|\bzip ?codes?\b"),
    "address": re.compile(r"\baddress\b"),
    "ref": re.compile(r"\b(?:reference|confirmation|ref)\b"),
}
_AREA_QUESTION = re.compile(
    r"\b(?:area|part of (?:the )?(?:town|city))\b|\bwhere (?:is|are) (?:it|they|that)\b|\blocated\b"
)
_PRICE_QUESTION = re.compile(r"\bprice(?: ?range)?\b|\bhow much\b|\bhow expensive\b")
_TYPE_QUESTION = re.compile(
    r"\b(?:type|kind) of (?:hotels?|places?|accommodations?|lodging)\b|\bhotel or (?:a )?guest ?house\b"
)
_FOOD_QUESTION = re.compile(
    r"\b(?:type|types|kind|kinds) of (?:food|cuisine)\b|\bfood type\b|\bwhat (?:food|cuisine)\b"
)
_STARS_QUESTION = re.compile(r"\bhow many stars\b|\bstar rating\b|\bnumber of stars\b|\bwhat stars\b")
_INTERNET = re.compile(r"\b(?:internet|wi-?fi|wireless)\b")
_PARKING = re.compile(r"\bparking\b")
_ASKS_WHETHER = re.compile(
    r"\b(?:do|does|did) (?:they|it|that|this|the|any|all|you know|either|both|@)|\b(?:is|are) there (?:any )?(?:free )?(?:parking|wifi|internet)"
    r"|\b(?:if|whether|confirm)\b"
)
_NEEDS_NO = re.compile(r"\b(?:doesn't|don't|do not|does not|needn't) (?:really )?(?:need|have to have|require)\b")
_NO_MATTER = re.compile(
    r"\b(?:don't|doesn't|do not|does not|dont|doesnt) (?:really )?(?:care|mind|matter)\b|\bno (?:particular |specific |real )?preference\b"
    r"|\bno (?:particular|specific) \w+|\bany (?:area|price|price range|type|part|food|cuisine)\b"
)
_SLOT_WORDS = {
    "area": re.compile(r"\b(?:area|part of|location|located)\b"),
    "pricerange": re.compile(r"\bprice\b"),
    "type": re.compile(r"\btype\b(?! of (?:food|cuisine))"),
    "stars": re.compile(r"\bstars?\b"),
    "internet": _INTERNET,
    "parking": _PARKING,
    "food": re.compile(r"\b(?:food|cuisine)\b"),
    "name": re.compile(r"\bname\b"),
}
_GUESTHOUSE = re.compile(r"\b(guest ?house|bed and breakfast|b&b)s?\b")
_NO_GUESTHOUSE = re.compile(r"\b(?:not|n't want|rather than|instead of) a (?:guest ?house|bed and breakfast|b&b)\b")
_WANTS_HOTEL = re.compile(
    r"\b(?:prefer a|actually (?:am |was )?looking for a|finding a|one that is a|that's a|would like a|them a|it a|should be a|must be a) hotel\b"
    r"(?! (?:called|call|named|room|in|with|that|by|near|for))|\bhotel type\b|\btype (?:should be|is) hotel\b"
)
_FOOD_PHRASE = re.compile(
    r"\b(?:any|some|an?|try|have|serves?|serving|about|prefer|find|want|like|eat|for|is|craving|trying)"
    r" ((?:[a-z]+ ){0,2}[a-z]+) (?:food|cuisine|restaurants?|dishes)\b"
)
_NOT_A_FOOD = frozenset(
    "a an the some any of to at on in by and or me us my this that these those it its which what kind type types sort "
    "priced price range particular certain specific nice good great best fine lovely local different other another more "
    "same new fancy free find information info about looking look for want like need try have serve serves food restaurant "
    "restaurants place places one two popular quality decent favorite special details there here is are be do you i book"
    " reservation table them they all suggestions recommend recommendation please also just".split()
)
_NAME_PHRASE = re.compile(
    r"\b(?:called|named|name is|by the name of|hotel call|restaurant call|stay at)(?: the)? ((?:[\w'&-]+ ?){1,7}?)(?: (?:hotel|restaurant|please))*$"
)
_NAME_EXPECTED = re.compile(
    r"(?:^i would like|^i'd like|\bcalled|\bnamed|\bname is|\bby the name of|\bhotel call|\bstay at|\blooking for|\bnumber for|\bdetails on"
    r"|\binfo about|\binformation on|\btell me about|\bbook)(?: the)? ([\w'&-]+)(?: (?:hotel|restaurant))?(?: please)?$"
)
_BOOK = re.compile(r"\b(?:book|booking|booked|reserve|reservations?|schedule it)\b(?! one that)")
_NOT_BOOK = re.compile(
    r"\b(?:don't|do not) (?:need|want) (?:to (?:book|make)|a (?:room|table|booking|reservation))"
    r"|\bnot looking to (?:make|book)|\bno (?:booking|reservation)|\bnot (?:right now|at the moment)\b|\bdon't book\b"
)
_CHOOSE = re.compile(
    r"\bpick one\b|\b(?:select|choose) one\b|\bany ?one (?:would|will|is)\b|\bany of (?:them|those)\b|\beither\b|\bsurprise me\b"
    r"|\bwhich (?:one )?(?:would|do) you recommend\b|\byou (?:choose|decide|pick)\b|\brecommend\b|\bwhich ?ever\b"
)
_AGREES = re.compile(
    r"^(?:yes|yeah|yep|yup|sure|ok|okay|perfect|great|please do|that (?:works|will work|would work)|sounds good|go ahead)\b"
)
_CLOSES = re.compile(
    r"\b(?:good)?bye\b|\ball set\b|\bthat(?:'s| is| will be) all\b|\bthat will do\b|\bthanks?\b|\bdon't need anything\b"
)
_GREETS = re.compile(r"^(?:hello|hi|hey|good (?:morning|afternoon|evening))\b")

_AS_THE = re.compile(r"\b(?:as|near|by|close to|next to) (?:the|my|our) (?:hotel|restaurant|guest ?house)\b")
_CUES: dict[Domain, re.Pattern[str]] = {
    "hotel": re.compile(
        r"\b(?:hotels?|guest ?houses?|stay|staying|accommodations?|lodging|rooms?|nights?|check in|stars?|parking|internet|wi-?fi"
        r"|bed and breakfast|b&b)\b"
    ),
    "restaurant": re.compile(
        r"\b(?:restaurants?|food|eat|eating|dine|dining|diner|tables?|cuisine|serves?|meal|dinner|lunch|hungry|gastropub)\b"
    ),
}
_SENTENCE = re.compile(r"(?<=[^ap][.?!])\s+|(?<=\s[.?!])\s+|[.?!]\s*$")
_CLAUSE = re.compile(r" and (?:also )?| , |, | but | then ")


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
    for domain in CONSTRAINTS:
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
        sentence.strip(" .?!,") for sentence in _SENTENCE.split(masked) if sentence and sentence.strip(" .?!,")
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
    text = _AS_THE.sub(lambda match: "_" * len(match.group(0)), masked)
    found = [match.start() for match in _CUES[domain].finditer(text)]
    found += [match.start() for match in re.finditer("@" + domain[0], text)]
    if domain == "restaurant":
        found += [match.start() for pattern in (lexicon.foods, _TIME) for match in pattern.finditer(text)]
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
        for clause in _CLAUSE.split(sentence):
            owners = [known for known in CONSTRAINTS if _first_cue(clause, known, lexicon) is not None]
            owner = owners[0] if len(owners) == 1 else owner
            if domain in owners or (not owners and owner in (domain, None)):
                part.append(clause)
        if part:
            own.append(" and ".join(part))
    return own


class _Reader:
    """Collects one user turn, sentence by sentence; a later value wins."""

    def __init__(self, domain: Domain, lexicon: Lexicon, names: list[str]) -> None:
        self.domain = domain
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
        for clause in re.split(r" but |, ?but ", sentence):
            if _NO_MATTER.search(clause):
                self.dontcare |= {slot for slot, word in _SLOT_WORDS.items() if word.search(clause)}
            else:
                self._read_details(clause)
                self._read_constraints(clause)

    def _read_flags(self, sentence: str) -> None:
        if _NOT_BOOK.search(sentence):
            self.flags.add("not_book")
        elif _BOOK.search(sentence):
            self.flags.add("book")
        for flag, pattern in (("choose", _CHOOSE), ("agrees", _AGREES), ("closes", _CLOSES), ("greets", _GREETS)):
            if pattern.search(sentence):
                self.flags.add(flag)

    def _read_details(self, clause: str) -> None:
        if match := _first(_PEOPLE, clause):
            self.details["people"] = match
        elif _ALONE.search(clause):
            self.details["people"] = "1"
        if match := _STAY.search(clause):
            self.details["stay"] = match.group(1)
        if match := _DAY.search(clause):
            self.details["day"] = match.group(1)
        if match := _TIME.search(clause) or (_AT_HOUR.search(clause) if self.domain == "restaurant" else None):
            self.details["time"] = match.group(1)
        if _SAME_DAY.search(clause):
            self.details["day"] = SAME
        if _SAME_PEOPLE.search(clause):
            self.details["people"] = SAME

    def _read_constraints(self, clause: str) -> None:
        clause = self._read_names(clause)
        for slot, pattern in _REQUEST_WORDS.items():
            if pattern.search(clause):
                self.requests.add(slot)
        if self.domain == "restaurant":
            clause = self._read_food(clause)
        self._read_choice(clause, "area", _AREA, _SAME_AREA, _AREA_QUESTION)
        self._read_choice(clause, "pricerange", _PRICE, _SAME_PRICE, _PRICE_QUESTION)
        if self.domain == "hotel":
            self._read_type(clause)
            self._read_stars(clause)
            self._read_facility(clause, "internet", _INTERNET)
            self._read_facility(clause, "parking", _PARKING)

    def _read_names(self, clause: str) -> str:
        for match in re.finditer(r"@([a-z]+)(\d+)", clause):
            if self.domain[0] in match.group(1):
                self.constraints["name"] = self.names[int(match.group(2))]
        if "@" not in clause:
            expected = _NAME_EXPECTED.search(clause)
            if expected and expected.group(1) in self.lexicon.short_names[self.domain]:
                self.constraints["name"] = expected.group(1)
            elif match := _NAME_PHRASE.search(clause):
                self.constraints["name"] = match.group(1).strip()
                return clause[: match.start(1)]
        return clause

    def _read_food(self, clause: str) -> str:
        if _FOOD_QUESTION.search(clause):
            self.requests.add("food")
            return clause
        phrases = _FOOD_PHRASE.finditer(_PRICE.sub("@", _SAME_PRICE.sub("@", clause)))
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
        if _TYPE_QUESTION.search(clause):
            self.requests.add("type")
        elif _WANTS_HOTEL.search(clause) or _NO_GUESTHOUSE.search(clause):
            self.constraints["type"] = "hotel"
        elif match := _GUESTHOUSE.search(clause):
            self.constraints["type"] = match.group(1)

    def _read_stars(self, clause: str) -> None:
        if match := _STARS.search(clause):
            self.constraints["stars"] = match.group(1) or match.group(2)
        elif _STARS_QUESTION.search(clause):
            self.requests.add("stars")

    def _read_facility(self, clause: str, slot: str, word: re.Pattern[str]) -> None:
        if not word.search(clause):
            return
        if _NEEDS_NO.search(clause):
            self.constraints[slot] = "no"
        elif _ASKS_WHETHER.search(clause):
            self.requests.add(slot)
        else:
            self.constraints[slot] = "yes"


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> str | None:
    return next((match.group(1) for pattern in patterns if (match := pattern.search(text))), None)


def _unknown_food(words: str) -> str:
    kept = words.split()
    while kept and kept[0] in _NOT_A_FOOD and kept[:2] != ["new", "zealand"]:
        kept.pop(0)
    return "" if any(word in _NOT_A_FOOD - {"new"} for word in kept) else " ".join(kept)
