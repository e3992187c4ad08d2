"""What an episode's world refuses, so that a goal's first booking really fails and its second can be learnt.

Reads the goal only; ``db.world`` makes the rows hold.
"""

from db.world import UnavailableSlot
from simulation.records import Goal
from tools.results import Domain


def refused_details(goal: Goal) -> dict[Domain, dict[str, str]]:
    """domain -> the values in which ``fail_book`` differs from ``book``, for domains whose first booking fails."""
    refused: dict[Domain, dict[str, str]] = {}
    for domain, wanted in goal.domains.items():
        details = {slot: value for slot, value in wanted.fail_book.items() if wanted.book.get(slot) != value}
        if details:
            refused[domain] = details
    return refused


def unavailable_slots(goal: Goal) -> list[UnavailableSlot]:
    """One row per domain with a failing booking: the values in which ``fail_book`` differs from ``book``.

    Fails at every venue and only on what differs: with Tuesday in ``fail_book`` and Wednesday in ``book``, no
    booking of that domain on a Tuesday succeeds, for however many people.
    """
    return [UnavailableSlot.of(domain, details) for domain, details in refused_details(goal).items()]
