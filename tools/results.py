"""What a tool hands back beside its text: the typed facts of a search, a booking or a refusal.

A tool returns ``(content, artifact)`` (LangChain's ``content_and_artifact``): the content is what the
language model reads, the artifact is one of the classes here. Experts fill placeholders from artifacts
and the simulator takes them as evidence, so nobody parses a tool's prose.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Domain = Literal["hotel", "restaurant"]


class Venue(BaseModel):
    """One hotel or restaurant: every slot MultiWOZ lets a user ask for, as the database spells it."""

    model_config = ConfigDict(frozen=True)

    index: int
    """Position in MultiWOZ's database file; ConvLab's evaluator calls ``f"{index:08d}"`` the reference."""
    domain: Domain
    name: str
    slots: dict[str, str]
    """MultiWOZ slot -> value: address, area, phone, postcode, pricerange; hotel: type, stars, internet,
    parking; restaurant: food. A slot that the database leaves empty is absent."""


class SearchResult(BaseModel):
    """The venues that match a search, in database order, and the constraints as they were understood."""

    kind: Literal["search"] = "search"
    domain: Domain
    constraints: dict[str, str]
    count: int
    venues: list[Venue]
    """The first few of ``count`` matches; empty when nothing matched."""


class BookingResult(BaseModel):
    """A booking that is in the database."""

    kind: Literal["booking"] = "booking"
    domain: Domain
    venue: Venue
    reference: str
    details: dict[str, str]
    """people, day and stay (hotel) or time (restaurant), normalised."""


class RefusalReason(StrEnum):
    """Why a tool did not do what it was asked to."""

    INVALID_ARGUMENT = "invalid_argument"
    MISSING_ARGUMENT = "missing_argument"
    UNKNOWN_VENUE = "unknown_venue"
    UNAVAILABLE = "unavailable"
    ALREADY_BOOKED = "already_booked"


class Refusal(BaseModel):
    """A readable "no": the database is unchanged."""

    kind: Literal["refusal"] = "refusal"
    domain: Domain
    reason: RefusalReason
    message: str
    details: dict[str, str] = {}


ToolArtifact = Annotated[SearchResult | BookingResult | Refusal, Field(discriminator="kind")]
