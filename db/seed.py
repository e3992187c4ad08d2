"""Seeding: MultiWOZ's hotels and restaurants, from the installed ``convlab`` distribution into one SQLite file.

Promises that the venues are the ones this project was measured with (count and content hash are checked, in the
source and in a file that exists already), that a file is either whole or absent (it is written beside its place and
moved there), and that seeding twice changes nothing. Reads ``convlab``'s data files and never imports it: importing
it would run third-party code that only the simulator may run.
"""

import hashlib
import importlib.metadata
import json
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from sqlalchemy import create_engine, insert
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateTable

from db.errors import InputError
from db.models import REFERENCE_TRIGGERS, Base, Hotel, Restaurant

Domain = Literal["hotel", "restaurant"]
VenueRow = dict[str, str | int | None]
"""Column name -> value of one venue; a slot without a value is ``None``."""


@dataclass(frozen=True)
class _Source:
    model: type[Hotel] | type[Restaurant]
    count: int
    """How many venues MultiWOZ 2.1 has."""
    sha256: str
    """Of the venues as ``_digest`` writes them."""


_SOURCES: Final[dict[Domain, _Source]] = {
    "hotel": _Source(Hotel, 33, "15a8baf13c863afe25061bcf173e72015007ac6effeed2cf800cc2922825e54e"),
    "restaurant": _Source(Restaurant, 110, "8aaa15ca16e9099bb7026de85164db2507a6e565b57228a13d28d34e519f97f3"),
}


class SeedError(InputError):
    """The venues are not the ones this project knows; the message says where and what to do."""


def load_venues(domain: Domain) -> list[VenueRow]:
    """The venues of ``domain`` in MultiWOZ's order, checked. Raises ``SeedError`` when they are not MultiWOZ 2.1's."""
    source = _SOURCES[domain]
    path = _data_folder() / f"{domain}_db.json"
    columns = [column.key for column in source.model.__table__.columns if column.key != "index"]
    records = json.loads(path.read_text(encoding="utf-8"))
    rows: list[VenueRow] = [
        {"index": index, **{column: _value(record.get(column)) for column in columns}}
        for index, record in enumerate(records)
    ]
    if problem := _problem(domain, rows):
        raise SeedError(
            f"{path}: {problem}. Install convlab 3.0.1 as uv.lock has it: uv sync --reinstall-package convlab"
        )
    return rows


def default_path() -> Path:
    """Where the seeded file is kept: in the checkout, named by schema and content, so that a change makes a new one."""
    return Path(__file__).resolve().parent.parent / ".cache" / f"multiwoz-{_fingerprint()}.sqlite"


def seed_database(path: Path) -> Path:
    """Make ``path`` a SQLite file with the schema and the venues; an existing one is checked and left as it is.

    Raises ``SeedError`` when an existing file holds other venues: it may hold bookings, so it is not overwritten.
    """
    if path.exists():
        _check_file(path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        _write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _write(path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        for statement in (*REFERENCE_TRIGGERS, f"PRAGMA user_version = {_version()}"):
            connection.exec_driver_sql(statement)
        for domain, source in _SOURCES.items():
            connection.execute(insert(source.model), load_venues(domain))
    engine.dispose()


def _check_file(path: Path) -> None:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            if connection.execute("PRAGMA user_version").fetchone()[0] != _version():
                raise SeedError(f"{path} was made with another schema. Move the file away and start again")
            for domain, source in _SOURCES.items():
                query = f'SELECT * FROM {source.model.__tablename__} ORDER BY "index"'
                problem = _problem(domain, [dict(row) for row in connection.execute(query)])
                if problem:
                    raise SeedError(f"{path}: {problem}. Move the file away and start again")
    except sqlite3.Error as error:
        raise SeedError(f"{path} cannot be read as a database ({error}). Move the file away and start again") from error


def _problem(domain: Domain, rows: Sequence[VenueRow]) -> str | None:
    expected = _SOURCES[domain]
    if len(rows) != expected.count:
        return f"{len(rows)} {domain}s where MultiWOZ 2.1 has {expected.count}"
    if (found := _digest(rows)) != expected.sha256:
        return f"the {domain}s differ from MultiWOZ 2.1's (sha256 {found}, expected {expected.sha256})"
    return None


def _digest(rows: Sequence[VenueRow]) -> str:
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


@cache
def _fingerprint() -> str:
    """Of the schema and the expected venues."""
    tables = [str(CreateTable(table)) for table in Base.metadata.sorted_tables]
    content = "".join([*tables, *REFERENCE_TRIGGERS, *(source.sha256 for source in _SOURCES.values())])
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def _version() -> int:
    """The fingerprint as SQLite's 32-bit ``user_version``."""
    return int(_fingerprint()[:7], 16)


def _data_folder() -> Path:
    try:
        convlab = importlib.metadata.distribution("convlab")
    except importlib.metadata.PackageNotFoundError:
        raise SeedError(
            "the convlab distribution, which carries MultiWOZ's database, is not installed: run uv sync"
        ) from None
    return Path(str(convlab.locate_file("convlab"))) / "human_eval" / "db"


def _value(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() not in ("", "?") else None
