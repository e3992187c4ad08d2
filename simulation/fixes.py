"""The switches for the eight documented defects of ConvLab's user simulator and evaluator.

One switch per defect, numbered as in the facts the project keeps; all on by default. With all of them off the
classes behave as ConvLab's own, draw for draw and digit for digit (tests hold that). This module only names
the switches: the user's are obeyed in ``fixed_agenda``, the evaluator's in ``official_evaluator``.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fixes:
    """Which defects are repaired. 2, 7 and 8 live in the user, 3 to 6 in the evaluator, 1 in both."""

    answered_no: bool = True
    """1. An answer "no" was kept as ``'"no"'``, matched no venue, and made a right dialogue fail."""
    booking_details: bool = True
    """2. The user ignored questions about day, stay, people and time, and accepted wrong details."""
    booking_evidence: bool = True
    """3. Booking constraints were read from the system's own state; a system with no state passed."""
    booked_index: bool = True
    """4. A ``book`` act's venue index was overwritten by the reference told in the same turn."""
    last_booking: bool = True
    """5. Only the first booking of a domain counted, so that a corrected one still failed."""
    true_informs: bool = True
    """6. Inform precision and recall looked at a value's format, not its truth, and punished references."""
    second_choice: bool = True
    """7. After "no booking possible" the user hung up instead of proposing its second choice."""
    fresh_references: bool = True
    """8. "Same area as the hotel" was said although the hotel's area had changed meanwhile."""


ALL_FIXES = Fixes()
NO_FIXES = Fixes(
    answered_no=False,
    booking_details=False,
    booking_evidence=False,
    booked_index=False,
    last_booking=False,
    true_informs=False,
    second_choice=False,
    fresh_references=False,
)
