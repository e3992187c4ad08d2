"""The seeded shop behind the support desk: thousands of customers whose rows agree with each other, in one SQLite file.

Promises that the same code makes the same rows on any machine (``digest``), that every situation a case may need
(``OrderState`` of the latest order, ``AccountState``) occurs in good number and independently, and that a file is
either whole or absent. Nobody in it exists: customers are numbers at ``example.com``.
"""

import hashlib
import os
import random
import sqlite3
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, Literal, get_args

from sqlalchemy import create_engine, insert
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateTable

from db.seed import SeedError
from db.support import (
    ARTICLE_INDEX,
    FILL_ARTICLE_INDEX,
    GUARD_TRIGGERS,
    JOURNAL_TRIGGERS,
    TODAY,
    Account,
    Article,
    Customer,
    Order,
    Payment,
    Product,
    Refund,
    Shipment,
    SignIn,
    SupportBase,
)

CUSTOMERS: Final = 8000
SEED: Final = 20
VERSION: Final = 1
"""Raise it when the rows change: files are named by it."""

OrderState = Literal[
    "authorised",
    "paid",
    "unpaid",
    "in transit",
    "delayed",
    "lost",
    "delivered",
    "delivered long ago",
    "refunded",
    "refund on its way",
    "refund overdue",
    "disputed",
    "expensive",
]
"""What the latest order of a customer is like."""

AccountState = Literal["plain", "no factor", "locked", "locked, no factor", "flagged", "closed"]

KINDS: Final = (
    "kettle",
    "lamp",
    "router",
    "speaker",
    "camera",
    "heater",
    "drill",
    "keyboard",
    "monitor",
    "printer",
    "scale",
    "tablet",
)
ISSUES: Final = ("pairing", "battery", "noise", "display", "leak", "firmware", "charging", "overheating")
"""What goes wrong with products; every product has articles on some of them, and overheating is a hazard."""
ERROR_CODES: Final = tuple(range(10, 90))
"""``E10`` to ``E89``: what the sign-in page may show."""

_MODELS_PER_KIND: Final = 20
_EXPENSIVE_FROM: Final = 15
"""Models of a kind from this one on cost more than the desk may refund."""
_ORDER_WEIGHTS: Final[dict[OrderState, int]] = {
    **dict[OrderState, int].fromkeys(get_args(OrderState), 2),
    "delivered": 8,
}
_ACCOUNT_WEIGHTS: Final[dict[AccountState, int]] = {
    "plain": 10,
    "no factor": 1,
    "locked": 2,
    "locked, no factor": 1,
    "flagged": 1,
    "closed": 1,
}

Row = dict[str, str | int | None]


@dataclass
class _Rows:
    """What is written, a list per table, in the order in which foreign keys allow it."""

    customers: list[Row] = field(default_factory=list)
    accounts: list[Row] = field(default_factory=list)
    products: list[Row] = field(default_factory=list)
    orders: list[Row] = field(default_factory=list)
    payments: list[Row] = field(default_factory=list)
    refunds: list[Row] = field(default_factory=list)
    shipments: list[Row] = field(default_factory=list)
    sign_ins: list[Row] = field(default_factory=list)
    articles: list[Row] = field(default_factory=list)


_MODELS: Final[dict[str, type[SupportBase]]] = {
    "customers": Customer,
    "accounts": Account,
    "products": Product,
    "orders": Order,
    "payments": Payment,
    "refunds": Refund,
    "shipments": Shipment,
    "sign_ins": SignIn,
    "articles": Article,
}


def default_path() -> Path:
    """Where the seeded file is kept: in the checkout, named by schema, size and version."""
    return Path(__file__).resolve().parent.parent / ".cache" / f"support-{_fingerprint()}.sqlite"


def seed_support(path: Path) -> Path:
    """Make ``path`` the seeded shop; an existing file of this version is left as it is.

    :raises SeedError: an existing file is of another version: it may hold a desk's work, so it is not overwritten.
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


def digest(path: Path) -> str:
    """The sha256 of every row in ``path``, whatever SQLite's version wrote it."""
    total = hashlib.sha256()
    with closing(sqlite3.connect(path)) as connection:
        for table in _MODELS:
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1"):
                total.update(repr(row).encode())
    return total.hexdigest()


def build_rows(customers: int = CUSTOMERS, seed: int = SEED) -> dict[str, list[Row]]:
    """Table -> its rows; the same arguments give the same rows."""
    rng = random.Random(seed)
    rows = _Rows(products=_products(rng), articles=list(_articles(rng)))
    for number in range(1, customers + 1):
        account = rng.choices(list(_ACCOUNT_WEIGHTS), list(_ACCOUNT_WEIGHTS.values()))[0]
        _add_customer(rows, number, account, rng)
        for _ in range(rng.randrange(2)):
            _add_order(rows, number, "delivered long ago", rng)
        _add_order(rows, number, rng.choices(list(_ORDER_WEIGHTS), list(_ORDER_WEIGHTS.values()))[0], rng)
    return {name: getattr(rows, name) for name in _MODELS}


def _products(rng: random.Random) -> list[Row]:
    return [
        {
            "id": index * _MODELS_PER_KIND + model + 1,
            "kind": kind,
            "model": _model_name(kind, index, model),
            "price_cents": rng.randrange(550, 990) * 100 if model >= _EXPENSIVE_FROM else rng.randrange(900, 23900),
            "on_hand": 0 if rng.random() < 0.35 else rng.randrange(3, 60),
        }
        for index, kind in enumerate(KINDS)
        for model in range(_MODELS_PER_KIND)
    ]


def _model_name(kind: str, index: int, model: int) -> str:
    return f"{kind[0].upper()}{100 + index * _MODELS_PER_KIND + model}"


def _articles(rng: random.Random) -> Iterable[Row]:
    number = 0
    for index, kind in enumerate(KINDS):
        for model in range(_MODELS_PER_KIND):
            name = _model_name(kind, index, model)
            for issue in rng.sample(ISSUES, 5):
                number += 1
                advice = "hazard" if issue == "overheating" else rng.choice(("steps", "technical"))
                yield _article(number, f"{kind.capitalize()} {name}: {issue}", advice)
    for code in rng.sample(ERROR_CODES, 60):
        number += 1
        yield _article(number, f"Sign-in error E{code}", rng.choice(("steps", "technical")))
    for title in ("Returns policy", "Cancellation policy"):
        number += 1
        yield _article(number, title, "policy")


_BODIES: Final = {
    "steps": "Switch it off and on again, then follow the three steps in this article.",
    "technical": "A known fault. Nothing helps but work by technical support.",
    "hazard": "A danger to people. Stop using it; a person takes over at once.",
    "policy": "Goods are taken back within 30 days of delivery. What has been sent cannot be cancelled.",
}


def _article(number: int, title: str, advice: str) -> Row:
    return {"id": number, "title": title, "body": _BODIES[advice], "advice": advice}


def _add_customer(rows: _Rows, number: int, state: AccountState, rng: random.Random) -> None:
    rows.customers.append(
        {
            "id": number,
            "email": f"customer-{number:06d}@example.com",
            "address": f"{rng.randrange(1, 200)} Street {rng.randrange(1, 80)}, Town {rng.randrange(1, 40)}",
            "pin": f"{rng.randrange(10000):04d}",
            "closed": int(state == "closed"),
        }
    )
    locked = state.startswith("locked")
    rows.accounts.append(
        {
            "customer_id": number,
            "locked": int(locked),
            "flagged": int(state == "flagged"),
            "factor_code": None if state.endswith("no factor") else f"{rng.randrange(1_000_000):06d}",
            "reset_day": None,
        }
    )
    first = TODAY - rng.randrange(2, 40)
    outcomes = ["ok", *(["wrong password"] * 3), "blocked"] if locked else ["ok", "ok"]
    rows.sign_ins += [
        {"customer_id": number, "day": min(first + day, TODAY), "outcome": outcome}
        for day, outcome in enumerate(outcomes)
    ]


@dataclass(frozen=True)
class _OrderPlan:
    """The rows of an order in one state; days are before ``TODAY``."""

    status: str
    placed: tuple[int, int]
    payment: str = "captured"
    delivered: tuple[int, int] | None = None
    shipment: str | None = None
    scanned: int = 1
    refund: tuple[int, int | None] | None = None
    """Days since it was made, and since it was settled."""
    expensive: bool = False


_DELIVERED: Final = _OrderPlan("delivered", (5, 30), delivered=(1, 20), shipment="delivered")

_PLANS: Final[dict[OrderState, _OrderPlan]] = {
    "authorised": _OrderPlan("placed", (0, 2), payment="authorised"),
    "paid": _OrderPlan("placed", (0, 2)),
    "unpaid": _OrderPlan("placed", (1, 4), payment="failed"),
    "in transit": _OrderPlan("shipped", (2, 6), shipment="in transit", scanned=1),
    "delayed": _OrderPlan("shipped", (8, 12), shipment="delayed", scanned=4),
    "lost": _OrderPlan("shipped", (20, 30), shipment="lost", scanned=15),
    "delivered": _DELIVERED,
    "delivered long ago": replace(_DELIVERED, delivered=(31, 120), placed=(35, 130)),
    "refunded": replace(_DELIVERED, refund=(9, 2), delivered=(10, 25), placed=(28, 35)),
    "refund on its way": replace(_DELIVERED, refund=(3, None), delivered=(4, 25), placed=(28, 35)),
    "refund overdue": replace(_DELIVERED, refund=(20, None), delivered=(21, 28), placed=(30, 35)),
    "disputed": replace(_DELIVERED, payment="disputed"),
    "expensive": replace(_DELIVERED, expensive=True),
}


def _add_order(rows: _Rows, customer: int, state: OrderState, rng: random.Random) -> None:
    plan = _PLANS[state]
    cheap, dear = range(_EXPENSIVE_FROM), range(_EXPENSIVE_FROM, _MODELS_PER_KIND)
    place = rng.randrange(len(KINDS)) * _MODELS_PER_KIND + rng.choice(dear if plan.expensive else cheap)
    product = rows.products[place]
    quantity = 1 if plan.expensive else rng.choice((1, 1, 1, 2))
    delivered = TODAY - rng.randint(*plan.delivered) if plan.delivered else None
    placed = TODAY - rng.randint(*plan.placed)
    if delivered is not None:
        placed = min(placed, delivered - 2)
    number = 100000 + len(rows.orders)
    rows.orders.append(
        {
            "id": number,
            "customer_id": customer,
            "product_id": product["id"],
            "quantity": quantity,
            "status": plan.status,
            "placed_day": placed,
            "delivered_day": delivered,
        }
    )
    amount = int(str(product["price_cents"])) * quantity
    rows.payments.append({"order_id": number, "amount_cents": amount, "status": plan.payment, "day": placed})
    if plan.shipment:
        scanned = delivered if delivered is not None else TODAY - plan.scanned
        address = rows.customers[-1]["address"]
        rows.shipments.append({"order_id": number, "status": plan.shipment, "address": address, "scan_day": scanned})
    if plan.refund:
        made, settled = plan.refund
        days = {"day": TODAY - made, "settled_day": None if settled is None else TODAY - settled}
        rows.refunds.append({"order_id": number, "amount_cents": amount, **days})


def _write(path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    SupportBase.metadata.create_all(engine)
    with engine.begin() as connection:
        for name, rows in build_rows().items():
            connection.execute(insert(_MODELS[name]), rows)
        for statement in (ARTICLE_INDEX, FILL_ARTICLE_INDEX, *JOURNAL_TRIGGERS, *GUARD_TRIGGERS):
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql(f"PRAGMA user_version = {_version()}")
    engine.dispose()


def _check_file(path: Path) -> None:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error as error:
        raise SeedError(f"{path} cannot be read as a database ({error}). Move the file away and start again") from error
    if found != _version():
        raise SeedError(f"{path} was made with another schema. Move the file away and start again")


@cache
def _fingerprint() -> str:
    """Of the schema and of what is written."""
    tables = [str(CreateTable(table)) for table in SupportBase.metadata.sorted_tables]
    parts: Sequence[str] = (*tables, ARTICLE_INDEX, *JOURNAL_TRIGGERS, *GUARD_TRIGGERS, f"{CUSTOMERS}/{SEED}/{VERSION}")
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:12]


def _version() -> int:
    """The fingerprint as SQLite's 32-bit ``user_version``."""
    return int(_fingerprint()[:7], 16)
