"""The tables: hotels, restaurants, room and table bookings, and what is unavailable.

Owns every rule that a stored row must obey, as a constraint of the schema, so that no writer can break one:
unique references, one to eight people, a day of the week, a time on the quarter hour, one to seven nights, and
bookings of venues that exist (with foreign keys on, which ``db.world`` sees to). Columns are named like MultiWOZ's
slots. Says nothing about how values are read from English (``tools.normalise``) or where the venues come from
(``db.seed``).

The same booking cannot be made twice: a venue with the same people, day and stay (or time) is unique. A second
booking that differs in anything is a correction or another party, and is allowed.
"""

from typing import Final

from sqlalchemy import CheckConstraint, ForeignKey, Integer, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MAX_PEOPLE: Final = 8
MAX_STAY: Final = 7

_STRICT: Final = {"sqlite_strict": True}


def _day(column: str = "day") -> str:
    return f"{column} IN ({', '.join(repr(day) for day in DAYS)})"


_PEOPLE: Final = f"people BETWEEN 1 AND {MAX_PEOPLE}"
_STAY: Final = f"stay BETWEEN 1 AND {MAX_STAY}"
_TIME: Final = (
    "time GLOB '[0-2][0-9]:[0-5][0-9]' AND substr(time, 1, 2) < '24' AND substr(time, 4) IN ('00', '15', '30', '45')"
)
_REFERENCE: Final = "length(reference) = 8 AND reference NOT GLOB '*[^A-Z0-9]*'"


class Base(DeclarativeBase):
    """The schema's registry. Text is ``TEXT`` because SQLite's strict tables know no ``VARCHAR``."""

    type_annotation_map = {str: Text, int: Integer}  # noqa: RUF012 - SQLAlchemy reads this class attribute


class Hotel(Base):
    """A hotel or guesthouse. A slot MultiWOZ leaves empty or marks ``?`` is NULL and matches any constraint."""

    __tablename__ = "hotels"
    __table_args__ = (_STRICT,)

    index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Position in MultiWOZ's file, from 0."""
    name: Mapped[str] = mapped_column(unique=True)
    address: Mapped[str | None]
    area: Mapped[str | None]
    internet: Mapped[str | None]
    parking: Mapped[str | None]
    phone: Mapped[str | None]
    postcode: Mapped[str | None]
    pricerange: Mapped[str | None]
    stars: Mapped[str | None]
    """A digit as text, as in MultiWOZ."""
    type: Mapped[str | None]
    """``hotel`` or ``guesthouse``."""


class Restaurant(Base):
    """A restaurant. A slot MultiWOZ leaves empty or marks ``?`` is NULL and matches any constraint."""

    __tablename__ = "restaurants"
    __table_args__ = (_STRICT,)

    index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Position in MultiWOZ's file, from 0."""
    name: Mapped[str] = mapped_column(unique=True)
    address: Mapped[str | None]
    area: Mapped[str | None]
    food: Mapped[str | None]
    phone: Mapped[str | None]
    postcode: Mapped[str | None]
    pricerange: Mapped[str | None]


class RoomBooking(Base):
    """A stay at a hotel: from ``day``, for ``stay`` nights."""

    __tablename__ = "room_bookings"
    __table_args__ = (
        CheckConstraint(_REFERENCE, name="reference_shape"),
        CheckConstraint(_PEOPLE, name="people_range"),
        CheckConstraint(_day(), name="day_of_week"),
        CheckConstraint(_STAY, name="stay_range"),
        UniqueConstraint("venue_index", "people", "day", "stay", name="same_stay"),
        _STRICT,
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    reference: Mapped[str] = mapped_column(unique=True)
    venue_index: Mapped[int] = mapped_column(ForeignKey("hotels.index"))
    people: Mapped[int]
    day: Mapped[str]
    stay: Mapped[int]


class TableBooking(Base):
    """A table at a restaurant, on ``day`` at ``time`` (``HH:MM``, zero-padded)."""

    __tablename__ = "table_bookings"
    __table_args__ = (
        CheckConstraint(_REFERENCE, name="reference_shape"),
        CheckConstraint(_PEOPLE, name="people_range"),
        CheckConstraint(_day(), name="day_of_week"),
        CheckConstraint(_TIME, name="time_on_the_quarter_hour"),
        UniqueConstraint("venue_index", "people", "day", "time", name="same_sitting"),
        _STRICT,
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    reference: Mapped[str] = mapped_column(unique=True)
    venue_index: Mapped[int] = mapped_column(ForeignKey("restaurants.index"))
    people: Mapped[int]
    day: Mapped[str]
    time: Mapped[str]


class Unavailability(Base):
    """Bookings that are refused: those that agree with every column that is not NULL."""

    __tablename__ = "unavailability"
    __table_args__ = (
        CheckConstraint("domain IN ('hotel', 'restaurant')", name="known_domain"),
        CheckConstraint(_PEOPLE, name="people_range"),
        CheckConstraint(_day(), name="day_of_week"),
        CheckConstraint(_STAY, name="stay_range"),
        CheckConstraint(_TIME, name="time_on_the_quarter_hour"),
        CheckConstraint("domain = 'hotel' OR stay IS NULL", name="stay_is_for_hotels"),
        CheckConstraint("domain = 'restaurant' OR time IS NULL", name="time_is_for_restaurants"),
        _STRICT,
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    domain: Mapped[str]
    venue_index: Mapped[int | None]
    """NULL: at every venue of the domain."""
    people: Mapped[int | None]
    day: Mapped[str | None]
    stay: Mapped[int | None]
    time: Mapped[str | None]


def _one_reference(table: str, other: str) -> str:
    return (
        f"CREATE TRIGGER {table}_reference_is_new BEFORE INSERT ON {table} "
        f"WHEN EXISTS (SELECT 1 FROM {other} WHERE reference = NEW.reference) "
        f"BEGIN SELECT RAISE(ABORT, 'the reference is taken by another kind of booking'); END"
    )


REFERENCE_TRIGGERS: Final = (
    _one_reference("room_bookings", "table_bookings"),
    _one_reference("table_bookings", "room_bookings"),
)
"""A reference is unique over both kinds of booking, which a unique column cannot say."""
