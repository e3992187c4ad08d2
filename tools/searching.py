"""Searching venues: one SQL statement per search, one more when nothing matches, to say what to relax.

A venue matches when it agrees with every constraint or has no value for it; this is the rule of ConvLab's database
query, which ConvLab's evaluator applies. Values are canonical already (``tools.normalise``).
"""

from collections.abc import Mapping
from functools import cache

from sqlalchemy import ColumnElement, Integer, RowMapping, Select, and_, bindparam, case, func, or_, select, true
from sqlalchemy.orm import Session

from db.models import Hotel, Restaurant
from tools.names import match_names
from tools.results import Domain, SearchResult, Venue

VENUES: Mapping[Domain, type[Hotel] | type[Restaurant]] = {"hotel": Hotel, "restaurant": Restaurant}


class VenueSearch:
    """Searches one domain through the sessions it is given; remembers the names of the venues, which never change."""

    def __init__(self, domain: Domain, shown: int) -> None:
        self.domain: Domain = domain
        self._shown = shown
        self._names: tuple[str, ...] | None = None

    def names(self, session: Session) -> tuple[str, ...]:
        """All venues' names, in database order."""
        if self._names is None:
            self._names = tuple(session.scalars(_all_names(self.domain)))
        return self._names

    def search(self, session: Session, constraints: Mapping[str, str]) -> SearchResult:
        """The venues that meet all ``constraints`` (slot -> canonical value; ``name`` as the user says it)."""
        understood = dict(constraints)
        parameters: dict[str, object] = {"shown": self._shown, **constraints}
        if name := constraints.get("name"):
            matches = match_names(name, self.names(session))
            parameters["name"] = matches
            if len(matches) == 1:
                understood["name"] = matches[0]
        rows = session.execute(_matching(self.domain, tuple(constraints)), parameters).mappings().all()
        venues = [_venue(self.domain, row) for row in rows]
        count = rows[0]["total"] if rows else 0
        return SearchResult(domain=self.domain, constraints=understood, count=count, venues=venues)

    def relaxations(self, session: Session, constraints: Mapping[str, str]) -> dict[str, int]:
        """For each constraint whose dropping alone would give matches: how many, the most first."""
        parameters: dict[str, object] = dict(constraints)
        if name := constraints.get("name"):
            parameters["name"] = match_names(name, self.names(session))
        row = session.execute(_relaxed(self.domain, tuple(constraints)), parameters).mappings().one()
        return dict(sorted(((slot, n) for slot, n in row.items() if n), key=lambda item: -item[1]))

    def by_name(self, session: Session, name: str) -> list[Venue]:
        """The venues that ``name`` may mean."""
        return self.search(session, {"name": name}).venues


def _venue(domain: Domain, row: RowMapping) -> Venue:
    slots = {slot: str(row[slot]) for slot in _slots(domain) if row[slot] is not None}
    return Venue(index=int(str(row["index"])), domain=domain, name=str(row["name"]), slots=slots)


@cache
def _slots(domain: Domain) -> tuple[str, ...]:
    return tuple(column.key for column in VENUES[domain].__table__.columns if column.key not in ("index", "name"))


@cache
def _all_names(domain: Domain) -> Select[str]:
    model = VENUES[domain]
    return select(model.name).order_by(model.index)


@cache
def _matching(domain: Domain, slots: tuple[str, ...]) -> Select[*tuple[object, ...]]:
    table = VENUES[domain].__table__
    conditions = [_condition(domain, slot) for slot in slots]
    query = select(*table.columns, func.count().over().label("total")).where(*conditions)
    return query.order_by(table.c.index).limit(bindparam("shown", type_=Integer))


@cache
def _relaxed(domain: Domain, slots: tuple[str, ...]) -> Select[*tuple[object, ...]]:
    conditions = {slot: _condition(domain, slot) for slot in slots}
    return select(
        *(
            func.sum(case((and_(true(), *(c for other, c in conditions.items() if other != slot)), 1), else_=0)).label(
                slot
            )
            for slot in slots
        )
    ).select_from(VENUES[domain].__table__)


def _condition(domain: Domain, slot: str) -> ColumnElement[bool]:
    column = VENUES[domain].__table__.columns[slot]
    if slot == "name":
        return column.in_(bindparam("name", expanding=True))
    return or_(column.is_(None), column == bindparam(slot))
