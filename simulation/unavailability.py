"""What an episode's world refuses, so that a goal's first booking really fails and its second can be learnt.

Reads the goal only; ``db.world`` makes the rows hold.
"""

from db.world import UnavailableSlot
from simulation.records import Goal


def unavailable_slots(goal: Goal) -> list[UnavailableSlot]:
    """One row per domain with a failing booking: the values in which ``fail_book`` differs from ``book``.

    Fails at every venue and only on what differs: with Tuesday in ``fail_book`` and Wednesday in ``book``, no
    booking of that domain on a Tuesday succeeds, for however many people.
    """
    rows = []
    for domain, wanted in goal.domains.items():
        refused = {slot: value for slot, value in wanted.fail_book.items() if wanted.book.get(slot) != value}
        if refused:
            rows.append(UnavailableSlot.of(domain, refused))
    return rows
