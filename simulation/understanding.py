"""What the agent told the user, in ConvLab's acts: what its text says, as far as the evidence of the episode bears it.

The user simulator hears only what comes out of here. A value is told if it was said of a venue that has it; "no such
place" is heard if a search really found nothing; "no room" if a booking was really refused; a booking if it is in the
database and its reference was said. What was said and is not so is listed apart, as `FalseClaim`. ``Listener`` follows
a dialogue turn by turn and needs no model, so a stored episode can be understood again. How English is read is
`reading`'s; whether the dialogue as a whole succeeded is `evaluation`'s.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agents.turns import ToolEvent, Turn
from simulation.lexicon import NUMBERS, Catalogue, Entity, VenueKey, load_catalogue, word_set, words_of
from simulation.reading import Clause, Reading, read
from simulation.records import Act, Booking
from tools.results import BookingResult, Domain, Refusal, RefusalReason, SearchResult

_MANY = word_set("several many multiple lots plenty some various both") | {"a few", "a couple", "a number"}
_REFERENCE_SAID = re.compile(
    r"\b(?:reference|ref|confirmation|booking)(?:\s+(?:number|code|no))?\.?\s*(?:is\b|are\b|:|#|=|-)+\s*(?:is\b|:|#)?\s*\W{0,3}"
    r"(?P<code>[A-Za-z0-9]{5,12})\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{8}\b")
_POSTCODE = re.compile(r"(?i)(?:cb|pe)\d{1,2}\d[a-z]{2}")


@dataclass(frozen=True)
class Evidence:
    """What is known of the episode when the agent speaks."""

    events: Sequence[ToolEvent]
    """All tool calls of the dialogue so far, this turn's included."""
    turn_events: Sequence[ToolEvent]
    """This turn's."""
    bookings: Sequence[Booking]
    """What is in the database. A booking counts once one of ``events`` made it, so the end state serves as well."""
    focus: Mapping[Domain, tuple[int, ...]] = field(default_factory=dict)
    """The venues spoken of when one was last named, by domain."""
    mentioned: frozenset[VenueKey] = frozenset()
    """Every venue named so far."""
    domain: Domain | None = None
    """The domain spoken of, for a text that names none."""
    catalogue: Catalogue = field(default_factory=load_catalogue)


@dataclass(frozen=True)
class Told:
    """A true value, said of these venues."""

    domain: Domain
    slot: str
    value: str
    venues: tuple[int, ...]


@dataclass(frozen=True)
class FalseClaim:
    """Something that was said and is not so."""

    kind: str
    """``value``, ``detail``, ``reference``, ``booking``, ``no_offer``, ``no_book``, ``venue``, ``address``."""
    said: str


@dataclass(frozen=True)
class Understanding:
    """One reply, understood."""

    acts: tuple[Act, ...]
    told: tuple[Told, ...]
    named: tuple[VenueKey, ...]
    """The venues the user now knows the name of."""
    references: tuple[str, ...]
    """References of real bookings that were said."""
    false_claims: tuple[FalseClaim, ...]
    focus: Mapping[Domain, tuple[int, ...]]
    domain: Domain | None


class Listener:
    """Understands the replies of one dialogue, in order."""

    def __init__(self, catalogue: Catalogue | None = None) -> None:
        self._catalogue = catalogue or load_catalogue()
        self._events: list[ToolEvent] = []
        self._focus: Mapping[Domain, tuple[int, ...]] = {}
        self._mentioned: frozenset[VenueKey] = frozenset()
        self._domain: Domain | None = None

    def hear(self, turn: Turn, bookings: Sequence[Booking]) -> Understanding:
        """Understand the next reply. ``bookings``: the database when it was said, or at the end of the dialogue."""
        self._events += turn.tool_events
        routed: list[Domain] = [node for node in turn.route if node != "router"]
        evidence = Evidence(
            events=self._events,
            turn_events=turn.tool_events,
            bookings=bookings,
            focus=self._focus,
            mentioned=self._mentioned,
            domain=routed[0] if routed else self._domain,
            catalogue=self._catalogue,
        )
        heard = understand(turn.text, evidence)
        self._focus, self._domain = heard.focus, heard.domain
        self._mentioned |= set(heard.named)
        return heard


def understand(text: str, evidence: Evidence) -> Understanding:
    """Compare what ``text`` says with ``evidence``."""
    return _Comparison(text, evidence).result()


class _Comparison:
    """One reply against the evidence; what comes out is collected in the lists."""

    def __init__(self, text: str, evidence: Evidence) -> None:
        self.text = text
        self.evidence = evidence
        self.catalogue = evidence.catalogue
        self.reading: Reading = read(text, evidence.catalogue)
        self.acts: list[Act] = []
        self.told: list[Told] = []
        self.named: list[VenueKey] = []
        self.false: list[FalseClaim] = []
        self.heard_names: dict[Domain, list[int]] = {}
        """Names in this text so far, by domain."""
        self.names_of_sentence: dict[int, list[VenueKey]] = {}
        made = {event.artifact.reference for event in evidence.events if isinstance(event.artifact, BookingResult)}
        self.bookings = [booking for booking in evidence.bookings if booking.reference in made]
        self.domain: Domain = evidence.domain or self._only_domain() or "hotel"
        self.focus: dict[Domain, tuple[int, ...]] = {
            domain: tuple(self._focus_before(domain)) for domain in ("hotel", "restaurant")
        }

    def result(self) -> Understanding:
        for clause in self.reading.clauses:
            for name in clause.names:
                keys = self.names_of_sentence.setdefault(clause.sentence, [])
                keys += self._owners(name, clause)
        for clause in self.reading.clauses:
            self.domain = clause.domain or self.domain
            self._clause(clause)
        references = self._references()
        self._general()
        self.false += [FalseClaim("venue", place) for place in self.reading.unknown_places]
        invented = [place for place in self.reading.addresses if not self.catalogue.is_part_of_address(place)]
        self.false += [FalseClaim("address", place) for place in invented]
        focus: dict[Domain, tuple[int, ...]] = {
            domain: tuple(self.heard_names.get(domain) or before) for domain, before in self.focus.items()
        }
        return Understanding(
            acts=tuple(dict.fromkeys(self.acts)),
            told=tuple(dict.fromkeys(self.told)),
            named=tuple(dict.fromkeys(self.named)),
            references=tuple(references),
            false_claims=tuple(dict.fromkeys(self.false)),
            focus=focus,
            domain=self.domain,
        )

    # --- whose is what is said ---

    def _only_domain(self) -> Domain | None:
        domains: set[Domain] = {
            event.artifact.domain for event in self.evidence.turn_events if event.artifact is not None
        }
        return domains.pop() if len(domains) == 1 else None

    def _focus_before(self, domain: Domain) -> Iterator[int]:
        """The venues a text without a name may speak of: this turn's booking, its search's first, the last named."""
        found: list[int] = []
        for event in reversed(self.evidence.turn_events):
            artifact = event.artifact
            if isinstance(artifact, BookingResult) and artifact.domain == domain:
                found.append(artifact.venue.index)
            elif isinstance(artifact, SearchResult) and artifact.domain == domain and artifact.venues:
                found.append(artifact.venues[0].index)
        return iter(dict.fromkeys([*found, *self.evidence.focus.get(domain, ())]))

    def _owners(self, name: Entity, clause: Clause) -> list[VenueKey]:
        """A name's venue; where two domains share a word, the clause's domain decides."""
        keys = list(name.venues)
        preferred = [key for key in keys if key[0] == (clause.domain or self.domain)]
        return (preferred or keys)[:1] if len(keys) > 1 else keys

    def _subjects(self, clause: Clause) -> list[VenueKey]:
        """The venues a clause speaks of: named in it, in its sentence, before it, or in focus."""
        own = [key for name in clause.names for key in self._owners(name, clause)]
        if own:
            return own
        sentence = [key for key in self.names_of_sentence.get(clause.sentence, []) if key[0] == self.domain]
        if sentence:
            return sentence
        heard = self.heard_names.get(self.domain)
        if heard:
            return [(self.domain, heard[-1])]
        return self._in_focus(self.domain)

    def _in_focus(self, domain: Domain) -> list[VenueKey]:
        return [(domain, index) for index in self.focus[domain]]

    def _around(self) -> set[VenueKey]:
        """Every venue this text may be about, for values that say whose they are: in focus, named ever, found now."""
        found: set[VenueKey] = {
            (event.artifact.domain, venue.index)
            for event in self.evidence.turn_events
            if isinstance(event.artifact, SearchResult)
            for venue in event.artifact.venues
        }
        here = {key for keys in self.names_of_sentence.values() for key in keys}
        return found | here | self.evidence.mentioned | {key for domain in self.focus for key in self._in_focus(domain)}

    # --- clause by clause ---

    def _clause(self, clause: Clause) -> None:
        domain = self.domain
        if not clause.no_offer:
            for name in clause.names:
                for key in self._owners(name, clause):
                    self.named.append(key)
                    self.heard_names.setdefault(key[0], []).append(key[1])
                    self.acts.append(("inform", key[0], "name", self.catalogue.venue(*key).name))
        self._exact_values(clause)
        if clause.descriptive:
            self._described_values(clause)
        self._refusals(clause)
        if clause.booked:
            self._booking_claim(clause)
        if clause.count is not None:
            self._count(clause.count)
        for slot in clause.requests:
            self.acts.append(("request", domain, slot, ""))
        if clause.offers_booking:
            self.acts.append(("offerbook", domain, "", ""))

    def _exact_values(self, clause: Clause) -> None:
        """Phone, postcode, address: true of a venue of the sentence, else of one this text is about."""
        for entity in clause.entities:
            if entity.kind not in ("phone", "postcode", "address"):
                continue
            named = set(self.names_of_sentence.get(clause.sentence, []))
            owners = set(entity.venues)
            right = (owners & named) or (owners & self._around() if not named else set())
            if right:
                for domain in self.focus:
                    venues = tuple(sorted(index for owner, index in right if owner == domain))
                    if venues:
                        self._tell(domain, entity.kind, entity.value, venues)
            elif entity.kind != "address" or not (
                clause.question or self._is_cut_short(entity, named or self._around())
            ):
                self.false.append(FalseClaim("value", f"{entity.kind} {entity.value}"))

    def _is_cut_short(self, address: Entity, candidates: set[VenueKey]) -> bool:
        """Whether it is the street of a candidate, whose full address says more."""
        street = " ".join(words_of(address.value))
        return any(
            street in " ".join(words_of(self.catalogue.venue(*key).slots.get("address", ""))) for key in candidates
        )

    def _described_values(self, clause: Clause) -> None:
        """Area, price, stars and so on: true of any venue the clause speaks of; wrong only where that is plain."""
        subjects = [key for key in self._subjects(clause) if key[0] == self.domain]
        for slot, value in dict.fromkeys(clause.values):
            having = [index for domain, index in subjects if self._has(domain, index, slot, value)]
            if having:
                self._tell(self.domain, slot, value, tuple(having))
            elif len(set(subjects)) == 1 and clause.asserts(slot, value) and self._is_slot(*subjects[0], slot):
                self.false.append(FalseClaim("value", f"{slot} {value}"))

    def _has(self, domain: Domain, index: int, slot: str, value: str) -> bool:
        return self.catalogue.venue(domain, index).slots.get(slot, "").lower() == value

    def _is_slot(self, domain: Domain, index: int, slot: str) -> bool:
        known = self.catalogue.venue(domain, index).slots
        return slot in known and not (slot == "type" and domain == "restaurant")

    def _tell(self, domain: Domain, slot: str, value: str, venues: tuple[int, ...]) -> None:
        if slot == "type" and domain == "restaurant":
            return
        self.told.append(Told(domain, slot, value, venues))
        self.acts.append(("inform", domain, slot, value))

    # --- searches and bookings ---

    def _refusals(self, clause: Clause) -> None:
        domain = self.domain
        no_offer, no_book = clause.no_offer, clause.no_book
        if no_offer and self._refused(self.evidence.turn_events, domain) and not self._empty_search(domain):
            no_offer, no_book = False, True  # "nothing is free at that time" is about the booking
        if no_book and not self._refused(self.evidence.events, domain) and self._empty_search(domain):
            no_offer, no_book = True, False  # "no hotel is available" after an empty search
        if no_offer:
            if self._empty_search(domain):
                self.acts.append(("nooffer", domain, "", ""))
            elif not clause.names:
                self.false.append(FalseClaim("no_offer", clause.text))
        if no_book:
            if self._refused(self.evidence.events, domain):
                self.acts.append(("nobook", domain, "", ""))
            elif not self._any_refusal(domain):
                self.false.append(FalseClaim("no_book", clause.text))

    def _empty_search(self, domain: Domain) -> bool:
        """Whether a search of this turn, or else the dialogue's latest, found nothing."""
        return 0 in (_counts(self.evidence.turn_events, domain) or _counts(self.evidence.events, domain)[-1:])

    def _refused(self, events: Sequence[ToolEvent], domain: Domain) -> bool:
        """Whether the latest attempt to book was refused because nothing is free."""
        for event in reversed(events):
            artifact = event.artifact
            if isinstance(artifact, BookingResult) and artifact.domain == domain:
                return False
            if isinstance(artifact, Refusal) and artifact.domain == domain:
                return artifact.reason is RefusalReason.UNAVAILABLE
        return False

    def _any_refusal(self, domain: Domain) -> bool:
        return any(
            isinstance(event.artifact, Refusal) and event.artifact.domain == domain for event in self.evidence.events
        )

    def _booking_claim(self, clause: Clause) -> None:
        """ "Booked for 3 people on Monday": a booking there must be, and with these details."""
        made = [booking for booking in self.bookings if booking.domain == self.domain]
        if not made:
            self.false.append(FalseClaim("booking", clause.text))
            return
        said: dict[str, list[str]] = {}
        for slot, value in clause.details:
            said.setdefault(slot, []).append(value)
        for slot, values in said.items():
            real = {booking.details[slot] for booking in self.bookings if slot in booking.details}
            self.acts += [("book", self.domain, slot, value) for value in values if value in real]
            if real and real.isdisjoint(values):  # "from Monday to Wednesday" is not wrong about the day
                self.false.append(FalseClaim("detail", f"{slot} {values[0]}"))

    def _references(self) -> list[str]:
        """Real references that the text says; what looks like one and is none is a false claim."""
        closed_up = re.sub(r"[\s\-.]+", "", self.text).upper()
        said = [booking for booking in self.bookings if booking.reference.upper() in closed_up]
        for booking in said:
            index = f"{booking.venue_index:08d}"
            self.acts += [("inform", booking.domain, "ref", index), ("book", booking.domain, "ref", index)]
        real = {booking.reference.upper() for booking in self.bookings}
        claimed = {match["code"] for match in _REFERENCE_SAID.finditer(self.text) if _looks_like_code(match["code"])}
        claimed |= set(_CODE.findall(self.text))
        for code in sorted(claimed):
            if code.upper() not in real and not _POSTCODE.fullmatch(code):
                self.false.append(FalseClaim("reference", code))
        return [booking.reference for booking in said]

    def _count(self, said: str) -> None:
        counts = _counts(self.evidence.events, self.domain)[-1:]
        number = NUMBERS.get(said, said)
        if counts and (number == str(counts[0]) or (said in _MANY and counts[0] > 1)) and number not in ("0", "zero"):
            self.acts.append(("inform", self.domain, "choice", number))

    def _general(self) -> None:
        self.acts += [(intent, "general", "", "") for intent in self.reading.general]


def _counts(events: Sequence[ToolEvent], domain: Domain) -> list[int]:
    """How many venues each search of ``domain`` found."""
    artifacts = (event.artifact for event in events)
    return [found.count for found in artifacts if isinstance(found, SearchResult) and found.domain == domain]


def _looks_like_code(word: str) -> bool:
    return any(letter.isdigit() for letter in word) or word.isupper()


def replay(turns: Sequence[Turn | None], bookings: Collection[Booking]) -> list[Understanding | None]:
    """Understand a stored dialogue again, one result a turn; ``None`` where the agent did not answer."""
    listener = Listener()
    final = list(bookings)
    return [listener.hear(turn, final) if turn is not None else None for turn in turns]
