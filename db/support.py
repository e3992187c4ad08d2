"""The support desk's tables: a web shop's customers, orders, payments, refunds, shipments, stock, sign-ins, articles.

Owns every rule that a stored row must obey, as a constraint or a trigger of the schema, so that no writer can break
one: one refund per payment and never more than was captured, statuses from closed sets, no more units reserved than
there are. A change to what customers own is journalled by triggers in ``changes``, whoever makes it; the end of an
episode is judged by that journal. Says nothing about what a clerk may do (``tools.support``) or where the rows come
from (``db.support_seed``).

Days count from the shop's opening; the desk works on day ``TODAY``. Money is in cents.
"""

from typing import Final, cast

from sqlalchemy import CheckConstraint, ForeignKey, Integer, PrimaryKeyConstraint, Table, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

TODAY: Final = 1000
"""The day on which every episode takes place."""

ORDER_STATUSES: Final = ("placed", "shipped", "delivered", "cancelled")
PAYMENT_STATUSES: Final = ("authorised", "captured", "failed", "disputed")
SHIPMENT_STATUSES: Final = ("in transit", "delayed", "lost", "delivered", "traced", "redirected")
ADVICE: Final = ("steps", "technical", "hazard", "policy")

_STRICT: Final = {"sqlite_strict": True}


def _one_of(column: str, values: tuple[str, ...]) -> str:
    return f"{column} IN ({', '.join(repr(value) for value in values)})"


class SupportBase(DeclarativeBase):
    """The schema's registry, apart from the booking tables': they never lie in one file."""

    type_annotation_map = {str: Text, int: Integer}  # noqa: RUF012 - SQLAlchemy reads this class attribute


class Customer(SupportBase):
    """A customer, known by a number and an address at ``example.com`` alone."""

    __tablename__ = "customers"
    __table_args__ = (CheckConstraint("closed IN (0, 1)", name="closed_is_a_flag"), _STRICT)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    email: Mapped[str] = mapped_column(unique=True)
    address: Mapped[str]
    pin: Mapped[str]
    """Four digits; who says them is the customer."""
    closed: Mapped[int]
    """1: the account was closed by the customer and only people reopen it."""


class Account(SupportBase):
    """How a customer signs in."""

    __tablename__ = "accounts"
    __table_args__ = (
        CheckConstraint("locked IN (0, 1) AND flagged IN (0, 1)", name="flags"),
        _STRICT,
    )

    customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id"), primary_key=True, autoincrement=False)
    locked: Mapped[int]
    flagged: Mapped[int]
    """1: the fraud team watches it, and only people touch it."""
    factor_code: Mapped[str | None]
    """What the registered second factor shows now, six digits; NULL: none is registered."""
    reset_day: Mapped[int | None]
    """When a link to a new password was last sent."""


class Product(SupportBase):
    """Something the shop sells."""

    __tablename__ = "products"
    __table_args__ = (CheckConstraint("on_hand >= 0 AND price_cents > 0", name="sane"), _STRICT)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str]
    model: Mapped[str] = mapped_column(unique=True)
    """A letter and three digits."""
    price_cents: Mapped[int]
    on_hand: Mapped[int]


class Order(SupportBase):
    """One product, bought once or more."""

    __tablename__ = "orders"
    __table_args__ = (
        CheckConstraint(_one_of("status", ORDER_STATUSES), name="known_status"),
        CheckConstraint("(delivered_day IS NOT NULL) = (status = 'delivered')", name="delivered_has_a_day"),
        CheckConstraint("quantity BETWEEN 1 AND 9", name="quantity_range"),
        _STRICT,
    )

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id"), index=True)
    product_id: Mapped[int] = mapped_column(ForeignKey("products.id"))
    quantity: Mapped[int]
    status: Mapped[str]
    placed_day: Mapped[int]
    delivered_day: Mapped[int | None]


class Payment(SupportBase):
    """What was charged for an order."""

    __tablename__ = "payments"
    __table_args__ = (
        CheckConstraint(_one_of("status", PAYMENT_STATUSES), name="known_status"),
        CheckConstraint("amount_cents > 0", name="positive"),
        _STRICT,
    )

    order_id: Mapped[int] = mapped_column(ForeignKey("orders.id"), primary_key=True, autoincrement=False)
    amount_cents: Mapped[int]
    status: Mapped[str]
    day: Mapped[int]


class Refund(SupportBase):
    """Money given back for an order, once."""

    __tablename__ = "refunds"
    __table_args__ = (CheckConstraint("amount_cents > 0", name="positive"), _STRICT)

    order_id: Mapped[int] = mapped_column(ForeignKey("payments.order_id"), primary_key=True, autoincrement=False)
    amount_cents: Mapped[int]
    day: Mapped[int]
    settled_day: Mapped[int | None]
    """When it reached the customer's bank; NULL: on its way."""


class Shipment(SupportBase):
    """An order on its way."""

    __tablename__ = "shipments"
    __table_args__ = (CheckConstraint(_one_of("status", SHIPMENT_STATUSES), name="known_status"), _STRICT)

    order_id: Mapped[int] = mapped_column(ForeignKey("orders.id"), primary_key=True, autoincrement=False)
    status: Mapped[str]
    address: Mapped[str]
    scan_day: Mapped[int]
    """When the carrier last saw it."""


class Reservation(SupportBase):
    """A unit kept back as the replacement for an order."""

    __tablename__ = "reservations"
    __table_args__ = (_STRICT,)

    order_id: Mapped[int] = mapped_column(ForeignKey("orders.id"), primary_key=True, autoincrement=False)
    product_id: Mapped[int] = mapped_column(ForeignKey("products.id"), index=True)


class SignIn(SupportBase):
    """One attempt to sign in."""

    __tablename__ = "sign_ins"
    __table_args__ = (CheckConstraint(_one_of("outcome", ("ok", "wrong password", "blocked")), name="known"), _STRICT)

    id: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id"), index=True)
    day: Mapped[int]
    outcome: Mapped[str]


class Article(SupportBase):
    """A page of the knowledge base; ``articles_text`` indexes its title and body."""

    __tablename__ = "articles"
    __table_args__ = (CheckConstraint(_one_of("advice", ADVICE), name="known_advice"), _STRICT)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    title: Mapped[str]
    body: Mapped[str]
    advice: Mapped[str]
    """What it leads to: ``steps`` the customer can take, work for ``technical`` support, a ``hazard``, a ``policy``."""


class Verification(SupportBase):
    """What a contact has proved about a customer: ``identity``, then ``second factor``."""

    __tablename__ = "verifications"
    __table_args__ = (
        PrimaryKeyConstraint("contact", "customer_id", "proof"),
        CheckConstraint(_one_of("proof", ("identity", "second factor")), name="known_proof"),
        _STRICT,
    )

    contact: Mapped[str]
    """The conversation: what one has proved says nothing about the next."""
    customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id"))
    proof: Mapped[str]


class Change(SupportBase):
    """The journal: a field of a row now has another value. Written by triggers alone."""

    __tablename__ = "changes"
    __table_args__ = (_STRICT,)

    id: Mapped[int] = mapped_column(primary_key=True)
    entity: Mapped[str]
    """The table."""
    key: Mapped[int]
    field: Mapped[str]
    value: Mapped[str | None]


def _on_update(table: str, key: str, field: str) -> str:
    return (
        f"CREATE TRIGGER {table}_{field}_is_journalled AFTER UPDATE OF {field} ON {table} "
        f"WHEN NEW.{field} IS NOT OLD.{field} BEGIN INSERT INTO changes (entity, key, field, value) "
        f"VALUES ('{table}', NEW.{key}, '{field}', CAST(NEW.{field} AS TEXT)); END"
    )


def _on_insert(table: str, key: str, field: str) -> str:
    return (
        f"CREATE TRIGGER {table}_are_journalled AFTER INSERT ON {table} BEGIN "
        f"INSERT INTO changes (entity, key, field, value) "
        f"VALUES ('{table}', NEW.{key}, '{field}', CAST(NEW.{field} AS TEXT)); END"
    )


def _forbidden(table: str, what: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{what.lower()} BEFORE {what} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, '{table} are kept as they were written'); END"
    )


JOURNAL_TRIGGERS: Final = (
    _on_update("customers", "id", "email"),
    _on_update("customers", "id", "address"),
    _on_update("customers", "id", "closed"),
    _on_update("accounts", "customer_id", "locked"),
    _on_update("accounts", "customer_id", "flagged"),
    _on_update("accounts", "customer_id", "factor_code"),
    _on_update("accounts", "customer_id", "reset_day"),
    _on_update("orders", "id", "status"),
    _on_update("payments", "order_id", "status"),
    _on_update("shipments", "order_id", "status"),
    _on_update("shipments", "order_id", "address"),
    _on_insert("refunds", "order_id", "amount_cents"),
    _on_insert("reservations", "order_id", "product_id"),
)

GUARD_TRIGGERS: Final = (
    "CREATE TRIGGER refunds_within_the_payment BEFORE INSERT ON refunds WHEN NOT EXISTS (SELECT 1 FROM payments "
    "WHERE order_id = NEW.order_id AND status = 'captured' AND amount_cents >= NEW.amount_cents) "
    "BEGIN SELECT RAISE(ABORT, 'a refund is at most what was captured'); END",
    "CREATE TRIGGER reservations_within_stock BEFORE INSERT ON reservations WHEN (SELECT on_hand FROM products "
    "WHERE id = NEW.product_id) <= (SELECT count(*) FROM reservations WHERE product_id = NEW.product_id) "
    "BEGIN SELECT RAISE(ABORT, 'no unit is left to reserve'); END",
    "CREATE TRIGGER delivered_orders_stay BEFORE UPDATE OF status ON orders WHEN OLD.status = 'delivered' "
    "BEGIN SELECT RAISE(ABORT, 'a delivered order stays delivered'); END",
    *(_forbidden(table, what) for table in ("refunds", "reservations", "changes") for what in ("UPDATE", "DELETE")),
)

ARTICLE_INDEX: Final = (
    "CREATE VIRTUAL TABLE articles_text USING fts5(title, body, content='articles', content_rowid='id', "
    "tokenize='porter unicode61')"
)
FILL_ARTICLE_INDEX: Final = "INSERT INTO articles_text (articles_text) VALUES ('rebuild')"


def table(model: type[SupportBase]) -> Table:
    """The table of ``model``: statements over tables cost half of what statements over models do."""
    return cast("Table", model.__table__)
