"""Booking: one transaction that checks and writes, or refuses and leaves the database as it was.

A booking is refused when the world has declared it unavailable, and when the same booking exists: the same venue,
people, day and stay (or time). The refusal then names the first reference. A booking that differs in any of these
is a correction or another party, and is made. References are eight characters of A-Z and 0-9, unique in the world.
"""

import random
import string
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, cast

from sqlalchemy import Insert, Select, Table, bindparam, exists, insert, or_, select, text
from sqlalchemy.orm import Session, sessionmaker

from db.models import RoomBooking, TableBooking, Unavailability
from tools.results import BookingResult, Domain, Refusal, RefusalReason, Venue

BOOKINGS: Mapping[Domain, type[RoomBooking] | type[TableBooking]] = {"hotel": RoomBooking, "restaurant": TableBooking}
DETAILS: Mapping[Domain, tuple[str, str, str]] = {
    "hotel": ("people", "day", "stay"),
    "restaurant": ("people", "day", "time"),
}
"""What a booking needs beside the venue."""

_ALPHABET: Final = string.ascii_uppercase + string.digits
_LENGTH: Final = 8
_ATTEMPTS: Final = 20


def references(source: random.Random) -> Callable[[], str]:
    """A supply of references drawn from ``source``: the same seed gives the same references."""
    return lambda: "".join(source.choices(_ALPHABET, k=_LENGTH))


def book(
    sessions: sessionmaker[Session], venue: Venue, details: Mapping[str, str], reference: Callable[[], str]
) -> BookingResult | Refusal:
    """Book ``venue`` with canonical ``details`` (people, day and stay or time). Raises where ``reference`` runs dry."""
    values = {"venue_index": venue.index, **{slot: _stored(slot, value) for slot, value in details.items()}}
    with sessions() as session:
        session.execute(_BEGIN)
        earlier, unavailable = session.execute(_obstacles(venue.domain), values).one()
        if earlier is not None:
            message = f"{venue.name} is already booked for exactly this, with reference {earlier}"
            return _refusal(venue, details, RefusalReason.ALREADY_BOOKED, message, reference=earlier)
        if unavailable:
            message = f"{venue.name} is not available for {describe(details)}"
            return _refusal(venue, details, RefusalReason.UNAVAILABLE, message)
        values["reference"] = _unused(session, reference)
        session.execute(_insertion(venue.domain), values)
        session.commit()
    return BookingResult(domain=venue.domain, venue=venue, reference=str(values["reference"]), details=dict(details))


def describe(details: Mapping[str, str]) -> str:
    """The details of a booking in words: ``3 people, tuesday, 2 nights``."""
    wordings = {"people": _people, "stay": _nights}
    return ", ".join(wordings[slot](value) if slot in wordings else value for slot, value in details.items())


def _people(value: str) -> str:
    return f"{value} {'person' if value == '1' else 'people'}"


def _nights(value: str) -> str:
    return f"{value} {'night' if value == '1' else 'nights'}"


def _stored(slot: str, value: str) -> str | int:
    return int(value) if slot in ("people", "stay") else value


def _refusal(
    venue: Venue, details: Mapping[str, str], reason: RefusalReason, message: str, reference: str | None = None
) -> Refusal:
    facts = {"name": venue.name, **details} | ({"reference": reference} if reference else {})
    return Refusal(domain=venue.domain, reason=reason, message=message, details=facts)


def _unused(session: Session, reference: Callable[[], str]) -> str:
    for _ in range(_ATTEMPTS):
        candidate = reference()
        if not session.execute(_TAKEN, {"reference": candidate}).scalar_one():
            return candidate
    raise RuntimeError(f"{_ATTEMPTS} references in a row are taken: give build_toolbox a source that varies")


_BEGIN: Final = text("BEGIN IMMEDIATE")
"""Takes the write lock before the checks, so that what they saw still holds when the booking is written."""

_TAKEN: Final = select(or_(*(exists().where(model.reference == bindparam("reference")) for model in BOOKINGS.values())))
"""Whether a booking of either domain has the reference, which the schema would refuse."""


@cache
def _obstacles(domain: Domain) -> Select[str | None, bool]:
    """The reference of the same booking, if there is one, and whether the booking is declared unavailable."""
    slots = ("venue_index", *DETAILS[domain])
    booked, refused = BOOKINGS[domain].__table__.c, Unavailability.__table__.c
    same = select(booked["reference"]).where(*(booked[slot] == bindparam(slot) for slot in slots))
    agrees = (or_(refused[slot].is_(None), refused[slot] == bindparam(slot)) for slot in slots)
    return select(same.scalar_subquery(), exists().where(refused["domain"] == domain, *agrees))


@cache
def _insertion(domain: Domain) -> Insert:
    return insert(cast("Table", BOOKINGS[domain].__table__))
