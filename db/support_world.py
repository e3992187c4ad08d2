"""Worlds of the support desk: the seeded shop, private to one episode or lasting in a file, behind a session factory.

The shop is thousands of rows, so an episode does not copy it. Each world at work has a database in memory of its own
(copied when as many worlds are open at once for the first time), and an episode is one transaction on it that is never
committed: closing the world rolls it back, which costs microseconds, and hands the database to the next. Two worlds
that are open at once share no database, so neither can see the other's work, and a session factory kept beyond its
world's end raises. Foreign keys are on in every connection.
"""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self, cast

from sqlalchemy import create_engine, select
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.orm import Session
from sqlalchemy.pool import QueuePool

from db.support import Change, table
from db.support_seed import default_path, seed_support

_LOCK_TIMEOUT_S: Final = 10.0
_FILE_CONNECTIONS: Final = 8

OpenSession = Callable[[], Session]
"""Opens a session in one world."""

Changes = Mapping[tuple[str, int, str], str | None]
"""(table, key, field) -> the value it has now, of all fields that were given another."""


class SupportWorld:
    """A shop to work in. Used by one thread at a time; as many coroutines as like."""

    def __init__(self, bind: Connection | Engine, worlds: "SupportWorlds | None" = None) -> None:
        self._bind = bind
        self._worlds = worlds
        # Not a sessionmaker, which makes a class, at a third of a millisecond. In an episode a commit keeps the
        # transaction open; what was written stays until the world closes.
        self.sessions: OpenSession = partial(Session, bind, autoflush=False, join_transaction_mode="rollback_only")

    def changes(self) -> Changes:
        """What has been changed for customers in this world; a field changed twice has its last value."""
        with self.sessions() as session:
            return {(entity, key, field): value for entity, key, field, value in session.execute(_CHANGES)}

    def close(self) -> None:
        """Forget an episode's work; a file keeps it. Closing twice does nothing."""
        if isinstance(self._bind, Engine):
            self._bind.dispose()
        elif not self._bind.closed and self._worlds is not None:
            engine = self._bind.engine
            self._bind.close()
            self._worlds.take_back(engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SupportWorlds:
    """Opens worlds that all start as the same seeded shop, which is made on first use.

    ``path`` is where that file lies (default: in the checkout's ``.cache``); it is read once and never written again.
    """

    def __init__(self, path: Path | None = None) -> None:
        with closing(sqlite3.connect(seed_support(path or default_path()))) as connection:
            self._image = connection.serialize()
        self._template = create_engine("sqlite://", creator=self._copy)
        with self._template.connect():
            pass  # the first connection initialises the dialect, which all worlds share
        self._template.dispose()
        self._compiled: dict[object, object] = {}
        self._idle: list[Engine] = []

    def open(self) -> SupportWorld:
        """A private world in memory."""
        engine = self._idle.pop() if self._idle else self._engine()
        connection = engine.connect()
        connection.begin()
        return SupportWorld(connection, self)

    def open_file(self, path: Path) -> SupportWorld:
        """A lasting world: ``path`` is seeded if it is not there, and keeps what is done."""
        seed_support(path)

        def connect() -> DBAPIConnection:
            return _with_foreign_keys(sqlite3.connect(path, check_same_thread=False, timeout=_LOCK_TIMEOUT_S))

        dialect = self._template.dialect
        pool = QueuePool(connect, dialect=dialect, pool_size=_FILE_CONNECTIONS, max_overflow=0)
        return SupportWorld(
            Engine(pool, dialect, self._template.url, execution_options={"compiled_cache": self._compiled})
        )

    def take_back(self, engine: Engine) -> None:
        """Called by a world at its end, when nothing of its work is left in the database."""
        self._idle.append(engine)

    def _engine(self) -> Engine:
        dialect = self._template.dialect
        pool = QueuePool(self._copy, dialect=dialect, pool_size=1, max_overflow=0, timeout=_LOCK_TIMEOUT_S)
        return Engine(pool, dialect, self._template.url, execution_options={"compiled_cache": self._compiled})

    def _copy(self) -> DBAPIConnection:
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        connection.deserialize(self._image)
        return _with_foreign_keys(connection)


def _with_foreign_keys(connection: sqlite3.Connection) -> DBAPIConnection:
    connection.execute("PRAGMA foreign_keys = ON")
    return cast("DBAPIConnection", connection)  # SQLAlchemy's protocol asks for a __getattr__ that sqlite3 needs not


_JOURNAL: Final = table(Change).c
_CHANGES: Final = select(_JOURNAL.entity, _JOURNAL.key, _JOURNAL.field, _JOURNAL.value).order_by(_JOURNAL.id)
