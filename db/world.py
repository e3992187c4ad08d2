"""Worlds: the seeded database, private to one episode or lasting in a file, behind a session factory.

An episode's world is a copy of the seeded file in SQLite's memory (``deserialize``), with one connection that a pool
lends to one session at a time: no world sees another's bookings, and threads within a world take turns. Opening one
costs well under a millisecond, because the dialect is initialised once per factory and the worlds share
the cache of compiled statements, which holds SQL and no data. Foreign keys are on in every connection.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self, cast

from sqlalchemy import create_engine, insert, select
from sqlalchemy.engine import Engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import QueuePool

from db.models import Hotel, Restaurant, RoomBooking, TableBooking, Unavailability
from db.seed import Domain, default_path, seed_database

_LOCK_TIMEOUT_S: Final = 10.0
_FILE_CONNECTIONS: Final = 8


@dataclass(frozen=True)
class UnavailableSlot:
    """Bookings that this world refuses: those that agree with every field that is not ``None``."""

    domain: Domain
    venue_index: int | None = None
    people: int | None = None
    day: str | None = None
    stay: int | None = None
    time: str | None = None
    """``HH:MM``, zero-padded."""

    @classmethod
    def of(cls, domain: Domain, details: Mapping[str, str], venue_index: int | None = None) -> Self:
        """From MultiWOZ's strings (people, day, stay, time): ``{"time": "9:15"}`` refuses a table at 09:15."""
        people, stay, time = (details.get(slot) for slot in ("people", "stay", "time"))
        return cls(
            domain,
            venue_index,
            people=int(people) if people else None,
            day=details.get("day"),
            stay=int(stay) if stay else None,
            time=time.zfill(5) if time else None,
        )


@dataclass(frozen=True)
class BookingRow:
    """A booking as the end of an episode finds it; ``details`` are people, day and stay or time, as strings."""

    domain: Domain
    reference: str
    venue_index: int
    venue_name: str
    details: dict[str, str]


class World:
    """A database to search and book in. Closing an episode's world forgets it; a file stays."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.sessions: sessionmaker[Session] = sessionmaker(engine)

    def bookings(self) -> list[BookingRow]:
        """All bookings, hotels first, each in the order in which they were made."""
        with self.sessions() as session:
            rooms = [
                BookingRow("hotel", room.reference, room.venue_index, name, _details(room, "stay", str(room.stay)))
                for room, name in session.execute(_ROOMS)
            ]
            tables = [
                BookingRow("restaurant", table.reference, table.venue_index, name, _details(table, "time", table.time))
                for table, name in session.execute(_TABLES)
            ]
        return rooms + tables

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class WorldFactory:
    """Opens worlds that all start as the same seeded file, which is made on first use.

    ``path`` is where that file lies (default: in the checkout's ``.cache``); it is read once and never written again.
    One factory serves any number of threads.
    """

    def __init__(self, path: Path | None = None) -> None:
        with closing(sqlite3.connect(seed_database(path or default_path()))) as connection:
            self._image = connection.serialize()
        self._template = create_engine("sqlite://", creator=self._copy)
        with self._template.connect():
            pass  # the first connection initialises the dialect, which all worlds share
        self._template.dispose()
        self._compiled: dict[object, object] = {}

    def open(self, unavailable: Sequence[UnavailableSlot] = ()) -> World:
        """A private world in memory that refuses what ``unavailable`` lists.

        Raises ``sqlalchemy.exc.IntegrityError`` for a slot that no booking could have, such as nine people.
        """
        world = World(self._engine(self._copy, connections=1))
        if unavailable:
            with world.sessions.begin() as session:
                session.execute(insert(Unavailability), [asdict(slot) for slot in unavailable])
        return world

    def open_file(self, path: Path) -> World:
        """A lasting world: ``path`` is seeded if it is not there, and keeps its bookings."""
        seed_database(path)

        def connect() -> DBAPIConnection:
            return _with_foreign_keys(sqlite3.connect(path, check_same_thread=False, timeout=_LOCK_TIMEOUT_S))

        return World(self._engine(connect, connections=_FILE_CONNECTIONS))

    def _copy(self) -> DBAPIConnection:
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        connection.deserialize(self._image)
        return _with_foreign_keys(connection)

    def _engine(self, connect: Callable[[], DBAPIConnection], connections: int) -> Engine:
        dialect = self._template.dialect
        pool = QueuePool(connect, dialect=dialect, pool_size=connections, max_overflow=0, timeout=_LOCK_TIMEOUT_S)
        return Engine(pool, dialect, self._template.url, execution_options={"compiled_cache": self._compiled})


def _with_foreign_keys(connection: sqlite3.Connection) -> DBAPIConnection:
    connection.execute("PRAGMA foreign_keys = ON")
    return cast("DBAPIConnection", connection)  # SQLAlchemy's protocol asks for a __getattr__ that sqlite3 needs not


def _details(booking: RoomBooking | TableBooking, slot: str, value: str) -> dict[str, str]:
    return {"people": str(booking.people), "day": booking.day, slot: value}


_ROOMS: Final = select(RoomBooking, Hotel.name).join(Hotel).order_by(RoomBooking.id)
_TABLES: Final = select(TableBooking, Restaurant.name).join(Restaurant).order_by(TableBooking.id)
