"""What an English text says, true or not: the clauses of an agent's reply with the facts and questions in each.

Reads replies about hotels and restaurants, from a template's lower-case sentences to a language model's paragraphs
and lists, by the expressions of `patterns`; never looks at evidence, so it says what was claimed and leaves to
`understanding` whether it holds. About 0.2 ms a reply.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from simulation import patterns
from simulation.lexicon import DAYS, NUMBERS, PLAIN_VALUES, TOKEN, VALUE_WORDS, Catalogue, Entity, respell, word_set
from tools.results import Domain

_AMENITY = {"internet": "internet", "wifi": "internet", "wireless": "internet", "parking": "parking"}
_AMENITY_NO = word_set("no not nt dont doesnt without lacks lack isnt arent lacking neither nor cant unavailable")
_AMENITY_YES = word_set(
    "has have offers offer includes include included including provides provide free with features feature "
    "complimentary available both also comes"
)
_FILLER = word_set(
    ": is are - available availability service access on site onsite wifi free paid at for of the <name>"
)
_PEOPLE = word_set("people guests persons person guest diners adults")
_CLAUSE_BREAKS = word_set("but however though instead although")


@dataclass(slots=True)
class Clause:
    """A piece of a sentence that says one thing, positive or negative, about the same venues."""

    words: list[str] = field(default_factory=list)
    """Respelt; phrases of the database stand as ``<name>``, ``<address>``, ``<phone>``, ``<postcode>``, ``<food>``."""
    entities: list[Entity] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    sentence: int = 0
    question: bool = False
    request: bool = False
    no_offer: bool = False
    no_book: bool = False
    booked: bool = False
    text: str = ""
    opening: str = ""
    """The text of the sentence's first clause, which says whom the sentence is about."""
    values: list[tuple[str, str]] = field(default_factory=list)
    """Slot and value of the words that describe venues: area, pricerange, type, stars, food, internet, parking."""
    details: list[tuple[str, str]] = field(default_factory=list)
    """Booking details that were said: day, people, stay, time."""
    requests: list[str] = field(default_factory=list)
    domain: Domain | None = None
    count: str | None = None
    offers_booking: bool = False

    def add(self, entity: Entity) -> None:
        """A phrase of the database, in the place of its words."""
        self.entities.append(entity)
        self.words.append(f"<{entity.kind}>")

    @property
    def names(self) -> list[Entity]:
        return [entity for entity in self.entities if entity.kind == "name"]

    @property
    def descriptive(self) -> bool:
        """Whether its values describe venues: not a bare question, not "there is no ...", not "not available"."""
        return not (self.no_offer or (self.question and not self.names))

    def asserts(self, slot: str, value: str) -> bool:
        """Whether it states the value so plainly of a venue named or meant that it is a lie if it is wrong."""
        if self.no_offer or self.no_book or self.question or self.request or patterns.HEDGED.search(self.text):
            return False
        if slot not in _AMENITY.values() and patterns.NEGATED.search(self.text):
            return False
        if (slot, value) == ("type", "hotel") and not patterns.PLAINLY_HOTEL_TYPE.search(self.text):
            return False  # people call a guesthouse "a 4 star hotel" and mean no harm
        if (slot, value) in VALUE_WORDS.values() and value not in PLAIN_VALUES.intersection(self.words) | {"hotel"}:
            return False
        return bool(self.names or patterns.PRONOUN.search(self.opening))


@dataclass(slots=True)
class Reading:
    """A reply as read."""

    clauses: list[Clause]
    general: list[str]
    """``reqmore``, ``bye``, ``welcome``, ``greet``."""
    unknown_places: list[str]
    addresses: list[str]


def read(text: str, catalogue: Catalogue) -> Reading:
    """Read one reply."""
    clauses: list[Clause] = []
    general: list[str] = []
    unknown: list[str] = []
    addresses: list[str] = []
    for number, (pieces, end) in enumerate(_sentences(text, catalogue)):
        sentence = " ".join(word for piece in pieces for word in piece.words)
        question = "?" in end or bool(patterns.QUESTION_START.search(sentence))
        general += _general(sentence, question)
        for clause in pieces:
            clause.sentence, clause.opening = number, " ".join(pieces[0].words)
            _analyse(clause, question)
            clauses.append(clause)
        unknown += _unknown_places(sentence)
        addresses += [match.group() for match in patterns.ADDRESS_LIKE.finditer(sentence)]
    _spread_domains(clauses)
    return Reading(clauses, list(dict.fromkeys(general)), unknown, addresses)


def _sentences(text: str, catalogue: Catalogue) -> Iterator[tuple[list[Clause], str]]:
    """The sentences, each as its clauses (parted at "but", "however") and the marks that end it."""
    found = list(TOKEN.finditer(patterns.TAG_QUESTION.sub(" . ", respell(text))))
    words = [match.group() for match in found]
    clauses = [Clause()]
    position = 0
    while position < len(words):
        word, kind = words[position], found[position].lastgroup
        clause = clauses[-1]
        if kind == "stop":
            if any(piece.words for piece in clauses):
                yield [piece for piece in clauses if piece.words], word
            clauses = [Clause()]
        elif kind == "time":
            clause.times.append(word.zfill(5))
            clause.words.append("<time>")
        elif entity := _number_entity(word, kind, catalogue):
            clause.add(entity)
        elif kind == "word" and (phrase := catalogue.match(words, position)):
            clause.add(phrase[0])
            position += phrase[1] - 1
        elif word in _CLAUSE_BREAKS and clause.words:
            clauses.append(Clause())
        elif word not in "()|/":
            clause.words.append(word)
        position += 1
    if any(piece.words for piece in clauses):
        yield [piece for piece in clauses if piece.words], ""


def _number_entity(word: str, kind: str | None, catalogue: Catalogue) -> Entity | None:
    """A phone number or postcode, whoever's it is."""
    value = re.sub(r"[ -]", "", word)
    if kind == "phone":
        return Entity("phone", value, catalogue.phones.get(value, ()))
    if kind == "postcode":
        return Entity("postcode", value, catalogue.postcodes.get(value, ()))
    return None


def _general(sentence: str, question: bool) -> Iterator[str]:
    if patterns.MORE.search(sentence) and (question or "let me know" in sentence or "if " in sentence):
        yield "reqmore"
    if patterns.BYE.search(sentence):
        yield "bye"
    if patterns.WELCOME.search(sentence):
        yield "welcome"
    if patterns.GREET.search(sentence):
        yield "greet"


def _analyse(clause: Clause, question: bool) -> None:
    text = clause.text = " ".join(clause.words)
    clause.question = question
    clause.request = question or bool(patterns.IMPERATIVE.search(text))
    clause.domain = _domain(clause)
    clause.values = list(_values(clause))
    if not question:
        clause.no_book = bool(patterns.NO_BOOK.search(text)) and not _about_amenity(clause)
        clause.no_offer = not clause.no_book and bool(patterns.NO_OFFER.search(text))
        clause.booked = not clause.no_book and _claims_booking(text)
        if not clause.no_offer and (match := patterns.COUNT.search(text)):
            clause.count = match["n"] or match["m"] or match["o"]
    elif patterns.OFFER_TO_BOOK.search(text) and not patterns.QUESTION_WORD.match(text):
        clause.offers_booking = True
    if not patterns.BYE.search(text):
        clause.details = list(_details(clause))
        clause.requests = list(_requests(clause)) if clause.request else []


def _about_amenity(clause: Clause) -> bool:
    """ "Parking is not available" is no refusal to book."""
    return not _AMENITY.keys().isdisjoint(clause.words) and not patterns.BOOKING_WORDS.search(clause.text)


def _claims_booking(text: str) -> bool:
    if patterns.REFERENCE_GIVEN.search(text):
        return True
    return bool(patterns.BOOKED.search(text)) and not patterns.NOT_YET.search(text)


def _domain(clause: Clause) -> Domain | None:
    named: set[Domain] = {domain for name in clause.names for domain, _ in name.venues}
    if len(named) == 1:
        return named.pop()
    hotel = bool(patterns.HOTEL_WORDS.search(clause.text))
    food = any(entity.kind == "food" for entity in clause.entities)
    restaurant = food or bool(patterns.RESTAURANT_WORDS.search(clause.text))
    if hotel == restaurant:
        return None
    return "hotel" if hotel else "restaurant"


def _spread_domains(clauses: list[Clause]) -> None:
    """A clause without a domain of its own goes on about the one before it, or else begins what comes after."""
    last: Domain | None = None
    for clause in clauses:
        last = clause.domain = clause.domain or last
    following: Domain | None = None
    for clause in reversed(clauses):
        following = clause.domain = clause.domain or following


def _values(clause: Clause) -> Iterator[tuple[str, str]]:
    for word in clause.words:
        if word in VALUE_WORDS:
            yield VALUE_WORDS[word]
    for entity in clause.entities:
        if entity.kind == "food":
            yield "food", entity.value
    for match in patterns.STARS.finditer(clause.text):
        number = match["n"] or match["m"] or match["o"]
        yield "stars", NUMBERS.get(number, number)
    if patterns.HOTEL_TYPE.search(clause.text):
        yield "type", "hotel"
    for position, word in enumerate(clause.words):
        if word in _AMENITY:
            yield _AMENITY[word], _amenity(clause.words, position)


def _amenity(words: list[str], position: int) -> str:
    """``yes`` or ``no``: what follows the word decides ("parking : no"), else the nearest sense before it."""
    for word in words[position + 1 : position + 6]:
        if word in ("yes", "no"):
            return word
        if word in _AMENITY_NO:
            return "no"
        if word not in _FILLER:
            break
    affirmed = False
    for word in reversed(words[max(0, position - 7) : position]):
        if word in _AMENITY_NO:
            return "no"
        if affirmed and word in ("and", ",", "or", "with"):
            return "yes"
        affirmed = affirmed or word in _AMENITY_YES
    return "yes"


def _details(clause: Clause) -> Iterator[tuple[str, str]]:
    for word in clause.words:
        if word in DAYS:
            yield "day", word
    for time in clause.times:
        yield "time", time
    for first, second in pairwise(clause.words):
        number = NUMBERS.get(first, first)
        if number.isdigit():
            if second in _PEOPLE:
                yield "people", number
            elif second in ("nights", "night"):
                yield "stay", number


def _requests(clause: Clause) -> Iterator[str]:
    text = clause.text
    if clause.question and patterns.MORE.search(text) and not patterns.ASKS_AFTER_ALL.search(text):
        return
    prefers = bool(patterns.PREFERENCE.search(text)) and not clause.names
    if prefers and clause.question:
        slots = [slot for slot, _ in dict.fromkeys(clause.values)]
        yield from (slot for slot in dict.fromkeys(slots) if slots.count(slot) > 1)
    for slot, domain, pattern in patterns.REQUESTS:
        if clause.domain not in (domain, None) and domain is not None:
            continue
        if not pattern.search(text):
            continue
        if slot in patterns.GIVEN:
            if not patterns.GIVEN[slot].search(text):
                yield slot
        elif prefers and (slot == "area" or not clause.offers_booking):
            yield slot


_PLAIN = (
    word_set(
        "a an one another other different any some the something someone it that this these those them you your i "
        "we my our changing trying if for in on at by with to from and or of is are as next first second last "
        "same later earlier hotel hotels guesthouse restaurant restaurants place places area town city price "
        "range cheaper food dinner lunch day time date table room rooms people person night nights just only "
        "looking search more less giving booking reservation choosing all both either each there here which what "
        "where when whether asking not no yes advance stay star stars system their its making having going "
        "staying dining eating visiting contacting calling me instead successfully now today tomorrow large small "
        "nice good great lovely wonderful high highly very really would will can could type kind priced best "
        "nearby local moderately"
    )
    | VALUE_WORDS.keys()
    | set(DAYS)
    | NUMBERS.keys()
)


def _unknown_places(sentence: str) -> Iterator[str]:
    """Places offered or booked by a name that the database does not know."""
    for match in patterns.UNKNOWN_PLACE.finditer(sentence):
        if not any(word in _PLAIN for word in match[1].split()[:-1]):
            yield match[1]
