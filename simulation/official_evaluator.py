"""ConvLab's evaluator, as it is and with its documented defects repaired by the same switches as the user's.

Owns complete, success, book rate and inform precision/recall/F1 of one dialogue, from dialogue acts alone. With
``NO_FIXES`` it *is* ``MultiWozEvaluator`` (a test holds the numbers equal to the last digit). Whether what an agent
said is true English and true of the database's end state is the grounded measure's, not this module's.
"""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Final, cast

from simulation.act_names import to_unified
from simulation.convlab_adapter import MultiWozEvaluator, database
from simulation.fixes import ALL_FIXES, NO_FIXES, Fixes
from simulation.records import Act, Goal
from tools.results import Domain

BookingDetails = Mapping[Domain, Mapping[str, str]]
"""domain -> people, day, stay or time."""
_DOMAINS: Final[tuple[Domain, ...]] = ("hotel", "restaurant")
_STATING: Final = ("inform", "recommend", "offerbook", "offerbooked")
_INDEX: Final = re.compile(r"\d{8}")


@dataclass(frozen=True)
class OfficialScores:
    """ConvLab's numbers for one dialogue; ``None`` where the goal asks for nothing of the kind."""

    complete: bool
    """Everything was booked and answered, rightly or not."""
    success: bool
    """Right venue, right answers; booking constraints included (ConvLab's ``success_strict``)."""
    success_lenient: bool
    """Without the booking constraints (ConvLab's ``success``)."""
    book_rate: float | None
    book_constraints: float | None
    inform_precision: float | None
    inform_recall: float | None
    inform_f1: float | None


class OfficialEvaluator:
    """Scores one dialogue; acts as in ``agenda_user``'s table."""

    def __init__(self, goal: Goal, fixes: Fixes = ALL_FIXES) -> None:
        self._evaluator = MultiWozEvaluator() if fixes == NO_FIXES else FixedEvaluator(fixes)
        self._evaluator.add_goal(evaluator_goal(goal))

    def add_user(self, acts: Sequence[Act]) -> None:
        """A user turn. ConvLab keeps it and scores nothing by it."""
        self._evaluator.add_usr_da(to_unified(acts))

    def add_system(self, acts: Sequence[Act], bookings: BookingDetails | None = None) -> None:
        """A system turn, and the details of each domain's latest booking after it.

        ``bookings`` takes the place of the belief state that ConvLab asks the system for: give the database's, and
        defect 3 has nothing left to hide. ``None`` fails every booking constraint; stock, a domain that is absent
        passes.
        """
        state = None
        if bookings is not None:
            state = {
                domain: {f"book {slot}": value for slot, value in bookings.get(domain, {}).items()}
                for domain in _DOMAINS
            }
        self._evaluator.add_sys_da(to_unified(acts), state)

    def scores(self) -> OfficialScores:
        """The numbers so far; adding more turns and asking again is allowed."""
        evaluator = self._evaluator
        evaluator.task_success()
        precision, recall, f1 = evaluator.inform_F1()
        return OfficialScores(
            complete=bool(evaluator.complete),
            success=bool(evaluator.success_strict),
            success_lenient=bool(evaluator.success),
            book_rate=_number(evaluator.book_rate()),
            book_constraints=_number(evaluator.book_rate_constrains()),
            inform_precision=_number(precision),
            inform_recall=_number(recall),
            inform_f1=_number(f1),
        )


def _number(value: object) -> float | None:
    return None if value is None else float(cast("float", value))


def evaluator_goal(goal: Goal) -> dict[str, dict[str, dict[str, str]]]:
    """The goal as ConvLab's user hands it to the evaluator: what is asked for still unanswered."""
    goals: dict[str, dict[str, dict[str, str]]] = {}
    for domain, wanted in goal.domains.items():
        parts = {"info": wanted.info, "reqt": dict.fromkeys(wanted.reqt, "?"), "book": wanted.book}
        goals[domain] = {part: dict(value) for part, value in parts.items() if value or part == "info"}
    return goals


class FixedEvaluator(MultiWozEvaluator):
    """ConvLab's evaluator with defects 1 and 3 to 6 repaired."""

    def __init__(self, fixes: Fixes) -> None:
        super().__init__()
        self._fixes = fixes

    def add_goal(self, goal: dict[str, dict[str, dict[str, str]]]) -> None:
        super().add_goal(goal)
        self._named: dict[str, list[Mapping[str, str]]] = {domain: [] for domain in _DOMAINS}
        """The venues each domain's talk is about: those the latest naming turn named."""
        self._untrue: set[int] = set()
        """Positions in ``sys_da_array`` of what was not true when it was said."""

    def add_sys_da(self, da_turn: list[list[str]], belief_state: dict[str, dict[str, str]] | None = None) -> None:
        if self._fixes.booked_index:
            da_turn = _with_booked_index(da_turn)
        if self._fixes.last_booking:
            for domain in _DOMAINS:
                if _books(da_turn, domain):
                    self.booked[domain] = None
        before = len(self.sys_da_array)
        super().add_sys_da(da_turn, belief_state)
        if self._fixes.true_informs:
            self._check_truth(da_turn, before)

    def update_goal(self, goal: dict[str, dict[str, dict[str, str]]], system_action: list[list[str]]) -> object:
        """Fix 1: a told "no" is kept as the word, so that the database is asked for it and not for ``"no"``."""
        updated = super().update_goal(goal, system_action)
        if self._fixes.answered_no:
            for wanted in updated.values():
                if "reqt" in wanted:
                    wanted["reqt"] = {slot: value.strip('"') for slot, value in wanted["reqt"].items()}
        return updated

    def _book_goal_constraints(
        self,
        goal: dict[str, dict[str, dict[str, str]]],
        booked_states: dict[str, dict[str, str] | None],
        domains: Sequence[str] | None = None,
    ) -> list[float]:
        """Fix 3: a booking without recorded details satisfies no constraint."""
        if not self._fixes.booking_evidence:
            return super()._book_goal_constraints(goal, booked_states, domains)
        scores = []
        for domain in domains or _DOMAINS:
            wanted = goal[domain]["book"] if domain in _DOMAINS else {}
            if wanted:
                state = booked_states.get(domain) or {}
                scores.append(sum(state.get(f"book {slot}") == value for slot, value in wanted.items()) / len(wanted))
        return scores

    def _inform_F1_goal(
        self,
        goal: dict[str, dict[str, dict[str, str]]],
        sys_history: Sequence[str],
        domains: Sequence[str] | None = None,
    ) -> tuple[int, int, int, set[object], set[object], set[object]]:
        """Fix 6: untrue informs count as false and answer nothing; a reference is no superfluous inform."""
        if not self._fixes.true_informs:
            return super()._inform_F1_goal(goal, sys_history, domains)
        told, untrue = [], set()
        for position, entry in enumerate(sys_history):
            domain, _, slot, _ = entry.split("_", 3)
            if position in self._untrue and (domains is None or domain in domains):
                untrue.add(entry)
            elif position not in self._untrue and slot != "ref":
                told.append(entry)
        hits, superfluous, missing, bad, unanswered, extra = super()._inform_F1_goal(goal, told, domains)
        return hits, superfluous + len(untrue), missing, bad | untrue, unanswered, extra

    def _check_truth(self, da_turn: list[list[str]], first: int) -> None:
        for domain in _DOMAINS:
            names = [
                value.lower()
                for intent, of, slot, value in da_turn
                if of == domain and slot == "name" and intent in _STATING
            ]
            if names:
                self._named[domain] = [venue for venue in _records(domain) if venue["name"].lower() in names]
        for position in range(first, len(self.sys_da_array)):
            domain, intent, slot, value = self.sys_da_array[position].split("_", 3)
            if intent in _STATING and domain in _DOMAINS and slot in _SLOTS:
                venues = self._about(domain)
                if not any(str(venue.get(_SLOTS[slot], "")).lower() == value.lower() for venue in venues):
                    self._untrue.add(position)

    def _about(self, domain: str) -> list[Mapping[str, str]]:
        """The venues named; before any is, those that the goal's constraints allow."""
        if self._named[domain]:
            return self._named[domain]
        info = self.goal.get(domain, {}).get("info", {})
        return [venue for venue in _records(domain) if all(venue.get(slot) == value for slot, value in info.items())]


_SLOTS: Final = {
    "addr": "address",
    "area": "area",
    "food": "food",
    "internet": "internet",
    "name": "name",
    "parking": "parking",
    "phone": "phone",
    "post": "postcode",
    "price": "pricerange",
    "stars": "stars",
    "type": "type",
}
"""The evaluator's slot names, as they stand in its history -> the database's."""


def _records(domain: str) -> Sequence[Mapping[str, str]]:
    return database().dbs[domain]


def _with_booked_index(da_turn: list[list[str]]) -> list[list[str]]:
    """Fix 4: ConvLab reads a booking's index from the turn's first ``inform ref``; so let that one carry it."""
    turn = deepcopy(da_turn)
    for intent, domain, _, value in da_turn:
        if intent == "book" and _INDEX.fullmatch(value):
            turn = [act for act in turn if not _is_ref(act, domain)] + [["inform", domain, "ref", value]]
    return turn


def _is_ref(act: list[str], domain: str) -> bool:
    intent, of, slot, _ = act
    return (intent, of, slot) == ("inform", domain, "ref")


def _books(da_turn: list[list[str]], domain: str) -> bool:
    """Whether this turn books a venue that exists, so that it may take an earlier booking's place."""
    if not any(intent == "book" and of == domain for intent, of, _, _ in da_turn):
        return False
    references = [act[3] for act in da_turn if _is_ref(act, domain)]
    return bool(references and _INDEX.fullmatch(references[0]) and int(references[0]) < len(database().dbs[domain]))
