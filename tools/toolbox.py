"""The four tools, as LangChain tools over a world's session factory: search and book, hotels and restaurants.

Each call answers in words (``content``) and typed facts (``artifact``, ``tools.results``). Whatever arguments a
model sends, the answer is a readable result: nothing is raised but bugs and a broken database. A toolbox is cheap and
belongs to one world; what its tools take to describe themselves to a model is computed once per process.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from langchain_core.tools import BaseTool
from langchain_core.tools.base import ArgsSchema
from pydantic import PrivateAttr
from sqlalchemy.orm import Session, sessionmaker

from tools.booking import DETAILS, book, references
from tools.names import closest_names
from tools.normalise import UnreadableValue, normalise_slot
from tools.results import Domain, Refusal, RefusalReason, ToolArtifact
from tools.schemas import SCHEMAS, json_schema
from tools.searching import VenueSearch
from tools.wording import SHOWN, Style, word_booking, word_refusal, word_search

Answer = tuple[str, ToolArtifact]

SEARCH_TOOLS: Final[Mapping[Domain, str]] = {"hotel": "find_hotels", "restaurant": "find_restaurants"}
BOOKING_TOOLS: Final[Mapping[Domain, str]] = {"hotel": "book_hotel", "restaurant": "book_table"}


@dataclass(frozen=True)
class Toolbox:
    """The tools of one world."""

    by_domain: Mapping[Domain, tuple[BaseTool, BaseTool]]

    def for_domain(self, domain: Domain) -> list[BaseTool]:
        """The search tool and the booking tool of ``domain``."""
        return list(self.by_domain[domain])


def build_toolbox(
    sessions: sessionmaker[Session], style: Style = "full", reference: Callable[[], str] | None = None
) -> Toolbox:
    """Tools over the world behind ``sessions``, answering in ``style``.

    ``reference`` supplies booking references (see ``tools.booking.references`` for seeded ones); by default they are
    drawn from the system's randomness.
    """
    supply = reference or references(random.SystemRandom())
    desks: dict[Domain, _Desk] = {domain: _Desk(domain, sessions, style, supply) for domain in SEARCH_TOOLS}
    return Toolbox(
        {
            domain: (_tool(SEARCH_TOOLS[domain], desk.find), _tool(BOOKING_TOOLS[domain], desk.book))
            for domain, desk in desks.items()
        }
    )


class VenueTool(BaseTool):
    """A tool whose answer never depends on a validation error. Runs in the caller's thread, in async code too,
    since a call is shorter than a change of threads."""

    _answer: Callable[[dict[str, str]], Answer] = PrivateAttr()

    @property
    def tool_call_schema(self) -> ArgsSchema:
        """What models are told: LangChain would build a class per instance, at a millisecond each, and drop
        ``additionalProperties``."""
        return json_schema(self.name)

    def _run(self, /, **arguments: str) -> Answer:
        return self._answer(arguments)

    async def _arun(self, /, **arguments: str) -> Answer:
        return self._answer(arguments)


def _tool(name: str, answer: Callable[[dict[str, str]], Answer]) -> VenueTool:
    schema = SCHEMAS[name]
    tool = VenueTool(
        name=name,
        description=schema.__doc__ or "",
        args_schema=schema,
        response_format="content_and_artifact",
    )
    tool._answer = answer
    return tool


class _Desk:
    """Searches and bookings of one domain: arguments as a model wrote them in, words and facts out."""

    def __init__(
        self, domain: Domain, sessions: sessionmaker[Session], style: Style, reference: Callable[[], str]
    ) -> None:
        self._domain: Domain = domain
        self._sessions = sessions
        self._style: Style = style
        self._reference = reference
        self._venues = VenueSearch(domain, SHOWN[style])

    def find(self, arguments: dict[str, str]) -> Answer:
        read = self._read(SEARCH_TOOLS[self._domain], arguments)
        if isinstance(read, Refusal):
            return self._refuse(read)
        with self._sessions() as session:
            result = self._venues.search(session, read)
            if result.count or self._style == "compact":
                return word_search(result, {}, (), self._style), result
            relaxations = self._venues.relaxations(session, read)
            closest = closest_names(read["name"], self._venues.names(session)) if "name" in read else ()
        return word_search(result, relaxations, closest, self._style), result

    def book(self, arguments: dict[str, str]) -> Answer:
        read = self._read(BOOKING_TOOLS[self._domain], arguments)
        if isinstance(read, Refusal):
            return self._refuse(read)
        if missing := [slot for slot in ("name", *DETAILS[self._domain]) if slot not in read]:
            message = f"a booking needs {', '.join(missing)} as well; ask the user"
            return self._refuse(self._refusal(RefusalReason.MISSING_ARGUMENT, message, dict.fromkeys(missing, "")))
        with self._sessions() as session:
            matches = self._venues.by_name(session, read["name"])
            if len(matches) != 1:
                known = tuple(venue.name for venue in matches)
                return self._refuse(self._unknown_venue(read["name"], known, self._venues.names(session)))
        details = {slot: read[slot] for slot in DETAILS[self._domain]}
        result = book(self._sessions, matches[0], details, self._reference)
        if isinstance(result, Refusal):
            return self._refuse(result)
        return word_booking(result, self._style), result

    def _read(self, tool: str, arguments: Mapping[str, str]) -> dict[str, str] | Refusal:
        """Arguments in canonical form, without those that constrain nothing; or what is wrong with them."""
        read: dict[str, str] = {}
        wrong: dict[str, str] = {}
        for slot, value in arguments.items():
            if slot not in SCHEMAS[tool].model_fields:
                wrong["argument"] = f"{tool} has no argument '{slot[:20]}'"
                continue
            try:
                canonical = normalise_slot(slot, value)
            except UnreadableValue as error:
                wrong[slot] = str(error)
                continue
            if canonical is not None:
                read[slot] = canonical
        if wrong:
            return self._refusal(RefusalReason.INVALID_ARGUMENT, "; ".join(wrong.values()), wrong)
        return read

    def _unknown_venue(self, name: str, matches: tuple[str, ...], names: tuple[str, ...]) -> Refusal:
        details = {"name": name}
        if matches:
            details["candidates"] = ", ".join(matches)
            message = f"'{name}' may be several {self._domain}s: {details['candidates']}; ask which"
        else:
            like = ", ".join(closest_names(name, names))
            message = f"there is no {self._domain} called '{name}'" + (f"; names like it: {like}" if like else "")
        return self._refusal(RefusalReason.UNKNOWN_VENUE, message, details)

    def _refusal(self, reason: RefusalReason, message: str, details: Mapping[str, str]) -> Refusal:
        return Refusal(domain=self._domain, reason=reason, message=message, details=dict(details))

    def _refuse(self, refusal: Refusal) -> Answer:
        return word_refusal(refusal, self._style), refusal
