"""Grounded success: did the user get what it wanted, truly, and did it learn so?

Looks at the end state of the database and at what was truly told (`simulation.understanding`, run again over the
stored texts and tool results, so that scoring needs no model). Promises that the nine known ways of cheating ConvLab's
simulator fail, each held by a test: for every domain of the goal the database holds exactly the booking that was
asked for, its reference was said, and every requested slot was told for one named venue that satisfies the goal (the
booked one); nothing else is booked; nothing false was said; the user ended the dialogue by itself; and the replies
keep within bounds that a helpful assistant never feels:

- unasked values: per reply and domain at most `MAX_UNASKED` slots that the user neither constrained nor asked for,
  of phone, postcode and address at most `MAX_CONTACT`, and at most `MAX_NAMES` venues named: telling everything at
  once is no answer to a question;
- interrogation: per reply and domain at most `MAX_REQUESTS` slots asked for, and over the dialogue at most
  `MAX_REPEATED` that the user had given already (asking again after a refusal is not counted);
- wording: `wording.implausibility`.

The bounds were set on MultiWOZ's human dialogues; a test holds what share of them passes.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from pydantic import BaseModel, ConfigDict

from evaluation.wording import implausibility
from simulation.lexicon import load_catalogue
from simulation.records import Act, Booking, DomainGoal, Episode, Exchange
from simulation.understanding import Told, Understanding, replay
from tools.results import Domain, Venue

MAX_UNASKED = 5
MAX_CONTACT = 2
MAX_NAMES = 5
MAX_REQUESTS = 4
MAX_REPEATED = 3

_CONTACT = frozenset(("phone", "postcode", "address"))
_DONT_CARE = frozenset(("dontcare", "dont care", "don't care", "do n't care", "do nt care", "any", ""))


class GroundedScore(BaseModel):
    """Success, and every reason against it."""

    model_config = ConfigDict(frozen=True)

    success: bool
    failures: tuple[str, ...]
    """``kind: what``, e.g. ``untold: hotel phone``; empty on success."""


def grounded(episode: Episode) -> GroundedScore:
    """Score one episode. An episode that broke off fails, whoever broke it: its reward decides what counts."""
    heard = replay([exchange.turn for exchange in episode.exchanges], episode.bookings)
    failures = [
        *_ending(episode),
        *_bookings_nobody_asked_for(episode),
        *(
            failure
            for domain, wanted in episode.goal.domains.items()
            for failure in _domain(domain, wanted, episode.bookings, [each for each in heard if each is not None])
        ),
        *_falsehoods(episode, heard),
        *_bounds(episode.exchanges, heard),
    ]
    return GroundedScore(success=not failures, failures=tuple(dict.fromkeys(failures)))


def matching_venues(domain: Domain, info: Mapping[str, str]) -> list[Venue]:
    """The venues of the database with these values."""
    return [venue for venue in load_catalogue().venues[domain].values() if _matches(venue, info)]


def _matches(venue: Venue, info: Mapping[str, str]) -> bool:
    known = venue.slots | {"name": venue.name}
    return all(
        value.strip().lower() in _DONT_CARE or known.get(slot, "").strip().lower() == value.strip().lower()
        for slot, value in info.items()
    )


# --- the outcome -------------------------------------------------------------------------------------------------


def _ending(episode: Episode) -> Iterator[str]:
    if episode.fault is not None:
        yield f"fault: {episode.fault.who} {episode.fault.kind}"
    elif episode.ended != "user":
        yield "ending: the user did not end the dialogue"


def _bookings_nobody_asked_for(episode: Episode) -> Iterator[str]:
    for booking in episode.bookings:
        wanted = episode.goal.domains.get(booking.domain)
        if wanted is None or not wanted.book:
            yield f"unasked booking: {booking.domain} {booking.venue_name}"


def _domain(
    domain: Domain, wanted: DomainGoal, bookings: Sequence[Booking], heard: Sequence[Understanding]
) -> Iterator[str]:
    right = {venue.index for venue in matching_venues(domain, wanted.info)}
    named = {index for each in heard for owner, index in each.named if owner == domain}
    if wanted.book:
        made = [booking for booking in bookings if booking.domain == domain]
        yield from _booking(domain, wanted, made, right, heard)
        right &= {booking.venue_index for booking in made}
    if not right & named:
        yield f"unnamed: {domain}"
        return
    told = [each for understanding in heard for each in understanding.told if each.domain == domain]
    missing = [_untold(domain, index, wanted.reqt, told) for index in sorted(right & named)]
    for slot in min(missing, key=len):
        yield f"untold: {domain} {slot}"


def _booking(
    domain: Domain, wanted: DomainGoal, made: Sequence[Booking], right: set[int], heard: Sequence[Understanding]
) -> Iterator[str]:
    if not made:
        yield f"no booking: {domain}"
    if len(made) > 1:
        yield f"unasked booking: {domain} {made[0].venue_name}"
    said = {reference for each in heard for reference in each.references}
    for booking in made:
        if booking.venue_index not in right:
            yield f"wrong venue: {domain} {booking.venue_name}"
        for slot, value in wanted.book.items():
            if booking.details.get(slot) != value:
                yield f"wrong booking: {domain} {slot} {booking.details.get(slot)}"
        if booking.reference not in said:
            yield f"untold: {domain} reference"


def _untold(domain: Domain, index: int, requested: Sequence[str], told: Sequence[Told]) -> list[str]:
    """The requested slots that were not told of this venue; what the database does not know cannot be told."""
    known = load_catalogue().venue(domain, index).slots
    heard = {each.slot for each in told if index in each.venues} | {"name"}
    return [slot for slot in requested if slot in known and slot not in heard]


# --- what was said -----------------------------------------------------------------------------------------------


def _falsehoods(episode: Episode, heard: Sequence[Understanding | None]) -> Iterator[str]:
    stated: dict[Domain, dict[str, str]] = {domain: {} for domain in episode.goal.domains}
    for exchange, understanding in zip(episode.exchanges, heard, strict=True):
        _note_constraints(stated, exchange.user_acts)
        if understanding is None:
            continue
        for claim in understanding.false_claims:
            yield f"false: {claim.kind} {claim.said}"
        for intent, domain, _, _ in understanding.acts:
            wanted = episode.goal.domains.get(domain) if domain in ("hotel", "restaurant") else None
            if intent == "nooffer" and wanted is not None:
                key: Domain = "hotel" if domain == "hotel" else "restaurant"
                if not _nothing_matches(key, wanted, stated[key]):
                    yield f"false: no_offer {domain} although something matches what the user said"


def _note_constraints(stated: Mapping[Domain, dict[str, str]], acts: Sequence[Act]) -> None:
    for intent, domain, slot, value in acts:
        if intent == "inform" and domain in stated and slot:
            key: Domain = "hotel" if domain == "hotel" else "restaurant"
            stated[key][slot] = value


def _nothing_matches(domain: Domain, wanted: DomainGoal, stated: Mapping[str, str]) -> bool:
    """Whether the user's words so far leave no venue; a user without acts (a language model) is taken by its goal.

    "The same area as the hotel" stands for either of the goal's values: the one tried first or the one that is left.
    """
    if not stated:
        return bool(wanted.fail_info)
    options: list[list[tuple[str, str]]] = []
    for slot, value in stated.items():
        if slot not in wanted.info and slot not in wanted.fail_info:
            continue
        values = (
            {value} if " same " not in f" {value} " else {wanted.info.get(slot, ""), wanted.fail_info.get(slot, "")}
        )
        options.append([(slot, each) for each in sorted(values)])
    return any(not matching_venues(domain, dict(choice)) for choice in product(*options))


def _bounds(exchanges: Sequence[Exchange], heard: Sequence[Understanding | None]) -> Iterator[str]:
    relevant: set[tuple[str, str]] = {(domain, "name") for domain in ("hotel", "restaurant")}
    given: set[tuple[str, str]] = set()
    repeated = 0
    for exchange, understanding in zip(exchanges, heard, strict=True):
        relevant |= {(domain, slot) for _, domain, slot, _ in exchange.user_acts}
        given |= {(domain, slot) for intent, domain, slot, _ in exchange.user_acts if intent == "inform"}
        if understanding is None or exchange.turn is None:
            continue
        yield from _spraying(understanding, relevant, known=bool(exchange.user_acts))
        asked = {(domain, slot) for intent, domain, slot, _ in understanding.acts if intent == "request"}
        for domain in ("hotel", "restaurant"):
            if sum(1 for owner, _ in asked if owner == domain) > MAX_REQUESTS:
                yield f"interrogation: {domain}"
        if not any(intent in ("nooffer", "nobook") for intent, *_ in understanding.acts):
            repeated += len(asked & given)
        if reason := implausibility(exchange.turn.text):
            yield f"wording: {reason}"
    if repeated > MAX_REPEATED:
        yield "interrogation: asked again for what the user had said"


def _spraying(understanding: Understanding, relevant: set[tuple[str, str]], known: bool) -> Iterator[str]:
    """``known``: whether it is known what the user asked for (a language-model user has no acts)."""
    for domain in ("hotel", "restaurant"):
        unasked = {each.slot for each in understanding.told if each.domain == domain} - {
            slot for owner, slot in relevant if owner == domain
        }
        if known and (len(unasked) > MAX_UNASKED or len(unasked & _CONTACT) > MAX_CONTACT):
            yield f"spraying: {domain} {' '.join(sorted(unasked))}"
        if len({key for key in understanding.named if key[0] == domain}) > MAX_NAMES:
            yield f"spraying: {domain} names"
