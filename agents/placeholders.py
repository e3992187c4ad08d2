"""What an expert knows for sure, and the sentences that are filled in from it.

``Facts`` follows the tool results of one expert; ``fill`` turns ``the phone number is {hotel.phone} .`` into words. A
sentence whose value is unknown is dropped and reported, so an agent that writes placeholders cannot state a wrong fact.
``fill_arguments`` does the same for a call, so that a small model need not copy a venue's name to book there.
"""

import re
from dataclasses import dataclass, field, replace

from tools.results import BookingResult, Domain, SearchResult, ToolArtifact, Venue

PLACEHOLDER = re.compile(r"\{(\w+)\.(\w+)\}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
SHARED_SLOTS = ("area", "pricerange", "day", "people")
"""What one expert is told of the other's work, in this order: enough for "the same day as the hotel"."""


@dataclass(frozen=True)
class Facts:
    """The focus venue is the first of the latest search that found something, or the venue just booked."""

    domain: Domain
    focus: Venue | None = None
    count: int | None = None
    """Matches of the latest search."""
    booking: BookingResult | None = None
    asked: dict[str, str] = field(default_factory=dict)
    """Shared slots as the latest search and the latest booking call had them, made or refused."""

    def after(self, arguments: dict[str, object], artifact: ToolArtifact) -> "Facts":
        """The facts once a call with ``arguments`` was answered with ``artifact``."""
        if isinstance(artifact, SearchResult):
            booking_slots = {slot: value for slot, value in self.asked.items() if slot in ("day", "people")}
            source = artifact.venues[0].slots if artifact.venues else artifact.constraints
            asked = booking_slots | {slot: source[slot] for slot in ("area", "pricerange") if slot in source}
            focus = artifact.venues[0] if artifact.venues else self.focus
            return replace(self, focus=focus, count=artifact.count, asked=asked)
        if isinstance(artifact, BookingResult):
            slots = artifact.venue.slots | artifact.details
            asked = {slot: slots[slot] for slot in SHARED_SLOTS if slot in slots}
            return replace(self, focus=artifact.venue, booking=artifact, asked=asked)
        tried = {slot: str(arguments[slot]) for slot in ("day", "people") if arguments.get(slot)}
        return replace(self, asked=self.asked | tried)

    def value(self, slot: str) -> str | None:
        """The words for one placeholder, ``None`` when nothing is known."""
        if slot == "count":
            return None if self.count is None else str(self.count)
        if self.booking and slot == "ref":
            return self.booking.reference
        if self.booking and slot in self.booking.details:
            return self.booking.details[slot]
        if self.focus and slot == "name":
            return self.focus.name
        return self.focus.slots.get(slot) if self.focus else None

    def shared(self) -> str:
        """The line the other expert reads, ``""`` when there is nothing to tell."""
        words = [f"{slot} {self.asked[slot]}" for slot in SHARED_SLOTS if slot in self.asked]
        return f"[{self.domain} {' '.join(words)}]" if words else ""


def fill(text: str, facts: Facts) -> tuple[str, list[str]]:
    """The text with its placeholders replaced, and the ``domain.slot`` of those that have no value."""
    kept: list[str] = []
    unfilled: list[str] = []
    for sentence in _SENTENCE_END.split(text.strip()):
        values = {match.group(0): _value(match, facts) for match in PLACEHOLDER.finditer(sentence)}
        missing = [placeholder[1:-1] for placeholder, value in values.items() if value is None]
        unfilled += missing
        if not missing:
            kept.append(PLACEHOLDER.sub(lambda match: _value(match, facts) or "", sentence))
    return " ".join(kept), unfilled


def fill_arguments(arguments: dict[str, object], facts: Facts) -> dict[str, object]:
    """A call's arguments with known placeholders replaced; one without a value stays, and the tool will refuse it."""

    def filled(value: object) -> object:
        if not isinstance(value, str) or "{" not in value:
            return value
        return PLACEHOLDER.sub(lambda match: _value(match, facts) or match.group(0), value)

    return {name: filled(value) for name, value in arguments.items()}


def _value(match: re.Match[str], facts: Facts) -> str | None:
    return facts.value(match.group(2)) if match.group(1) == facts.domain else None
