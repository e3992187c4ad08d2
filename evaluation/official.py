"""ConvLab's own measure of a stored episode: complete, success, book rate, inform precision/recall/F1, turns.

Feeds the recorded acts of both sides to `simulation.official_evaluator`, and for every turn the bookings that the
episode's tool results say were made by then (and that the end state confirms). The switches of `Fixes` decide which
of the evaluator's documented defects are repaired (1 and 3 to 6); with `NO_FIXES` these are ConvLab's numbers to the
last digit.
"""

from pydantic import BaseModel, ConfigDict

from agents.turns import Turn
from simulation.fixes import ALL_FIXES, Fixes
from simulation.official_evaluator import OfficialEvaluator
from simulation.records import Episode
from tools.results import BookingResult, Domain


class OfficialScore(BaseModel):
    """ConvLab's numbers for one episode; ``None`` where the goal asks for nothing of the kind."""

    model_config = ConfigDict(frozen=True)

    complete: bool
    success: bool
    """ConvLab's ``success_strict``: right venue, all answers, booking constraints."""
    success_lenient: bool
    """ConvLab's ``success``, without the booking constraints."""
    book_rate: float | None
    book_constraints: float | None
    inform_precision: float | None
    inform_recall: float | None
    inform_f1: float | None
    turns: int
    """As ConvLab's analyzer counts them: two an exchange, the user's goodbye included."""


def official(episode: Episode, fixes: Fixes = ALL_FIXES) -> OfficialScore:
    """Score one episode from its recorded acts."""
    evaluator = OfficialEvaluator(episode.goal, fixes)
    real = {booking.reference for booking in episode.bookings}
    details: dict[Domain, dict[str, str]] = {}
    for exchange in episode.exchanges:
        if exchange.turn is not None:
            details |= _booked(exchange.turn, real)
            evaluator.add_system(exchange.agent_acts, details)
        evaluator.add_user(exchange.user_acts)
    scores = evaluator.scores()
    return OfficialScore(
        complete=scores.complete,
        success=scores.success,
        success_lenient=scores.success_lenient,
        book_rate=scores.book_rate,
        book_constraints=scores.book_constraints,
        inform_precision=scores.inform_precision,
        inform_recall=scores.inform_recall,
        inform_f1=scores.inform_f1,
        turns=2 * len(episode.exchanges),
    )


def _booked(turn: Turn, real: set[str]) -> dict[Domain, dict[str, str]]:
    """The details of each domain's latest booking in this turn."""
    made = [event.artifact for event in turn.tool_events if isinstance(event.artifact, BookingResult)]
    return {booking.domain: booking.details for booking in made if booking.reference in real}
