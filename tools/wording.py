"""What a language model reads as a tool's answer, in two styles.

``full`` is short English with the facts of the first matches, what to relax, and the reference. ``compact`` is for a
small model with a closed vocabulary: lower case, words separated by single spaces, names and no other facts. The
typed facts are in the artifact either way (``tools.results``).
"""

from collections.abc import Mapping
from typing import Literal

from tools.booking import describe
from tools.results import BookingResult, Domain, Refusal, RefusalReason, SearchResult, Venue

Style = Literal["full", "compact"]

SHOWN: Mapping[Style, int] = {"full": 5, "compact": 3}
"""How many matches an answer names."""


def word_search(result: SearchResult, relaxations: Mapping[str, int], closest: tuple[str, ...], style: Style) -> str:
    """A search's answer. ``relaxations``: constraint -> matches without it; ``closest``: names like an unknown one."""
    if style == "compact":
        names = " | ".join(venue.name.lower() for venue in result.venues)
        return f"{result.count} found : {names}" if result.count else "none found"
    if not result.count:
        return _word_no_match(result, relaxations, closest)
    first = f", the first {len(result.venues)}:" if result.count > len(result.venues) else ":"
    lines = [f"{result.count} {_noun(result.domain, result.count)} found{first}"]
    return "\n".join(lines + [_facts(venue) for venue in result.venues])


def word_booking(result: BookingResult, style: Style) -> str:
    """A booking's answer; the compact one leaves the reference to the placeholder that speaks it."""
    if style == "compact":
        return f"booked {result.venue.name.lower()}"
    return f"Booked {result.venue.name}: {describe(result.details)}. Reference: {result.reference}"


def word_refusal(refusal: Refusal, style: Style) -> str:
    """A refusal's answer."""
    return f"refused : {_compact_reason(refusal)}" if style == "compact" else f"Refused: {refusal.message}."


def _compact_reason(refusal: Refusal) -> str:
    if refusal.reason is RefusalReason.MISSING_ARGUMENT:
        return f"need {' '.join(refusal.details)}"
    if refusal.reason is RefusalReason.INVALID_ARGUMENT:
        return f"wrong {' '.join(refusal.details)}"
    if refusal.reason is RefusalReason.UNKNOWN_VENUE:
        return "several names" if "candidates" in refusal.details else "unknown name"
    return {RefusalReason.UNAVAILABLE: "not available", RefusalReason.ALREADY_BOOKED: "already booked"}[refusal.reason]


def _word_no_match(result: SearchResult, relaxations: Mapping[str, int], closest: tuple[str, ...]) -> str:
    wanted = ", ".join(f"{slot} {value}" for slot, value in result.constraints.items())
    answer = f"No {_noun(result.domain, 1)} found with {wanted}."
    if closest:
        answer += f" Names like it: {', '.join(closest)}."
    if relaxations:
        answer += f" Without {', '.join(f'{slot}: {count}' for slot, count in relaxations.items())} found."
    elif len(result.constraints) > 1:
        answer += " Dropping one constraint is not enough."
    return answer


def _noun(domain: Domain, count: int) -> str:
    return domain if count == 1 else f"{domain}s"


def _facts(venue: Venue) -> str:
    return f"- {venue.name}: " + ", ".join(f"{slot} {value}" for slot, value in venue.slots.items())
