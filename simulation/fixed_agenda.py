"""ConvLab's agenda user with its defects repaired, each by its switch.

Owns the policy at act level: what the user wants to say next, given what the system did. With every switch off it
makes the same draws and the same acts as ``UserPolicyAgendaMultiWoz`` (a test holds that). Runs under
``drawing_from``; wording is ``wordings``', the protocol around it ``agenda_user``'s.
"""

from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from typing import Final, TypeAlias

from simulation.convlab_adapter import Agenda, AgendaGoal, UserPolicyAgendaMultiWoz, draw
from simulation.fixes import Fixes
from simulation.records import Goal

SystemActs: TypeAlias = dict[str, list[list[str]]]
"""ConvLab's ``{"hotel-inform": [["area", "north"]]}``."""
DomainGoals: TypeAlias = dict[str, dict[str, dict[str, str]]]

BOOKING_SLOTS: Final = ("people", "day", "stay", "time")
_SHARED_SLOTS: Final = ("people", "day", "area", "pricerange")
_REFERENCE_SHARE: Final = 0.3
"""How often ConvLab's user says "the same" where it could."""
_PATIENCE: Final = 2
"""How often a user repeats a booking request that was refused and that it has no alternative for."""


def convlab_domains(goal: Goal) -> dict[str, dict[str, object]]:
    """The goal in ConvLab's form, without its empty parts: a ``book`` that is there counts as a wish to book."""
    domains: dict[str, dict[str, object]] = {}
    for domain, wanted in goal.domains.items():
        parts: dict[str, object] = wanted.model_dump()
        domains[domain] = {part: deepcopy(value) for part, value in parts.items() if value or part == "info"}
    return domains


def agenda_goal(goal: Goal) -> AgendaGoal:
    """A fresh, mutable ConvLab goal: the agenda writes the answers into it."""
    # The constructor would draw a goal of its own.
    convlab_goal = object.__new__(AgendaGoal)
    convlab_goal.set_user_goal({**convlab_domains(goal), "domain_ordering": tuple(goal.domains)})
    return convlab_goal


class FixedAgenda(Agenda):
    """The user's stack of intentions."""

    def __init__(self, goal: AgendaGoal, fixes: Fixes) -> None:
        self._fixes = fixes
        self._told: dict[tuple[str, str], str] = {}
        """(domain, slot) -> the value as the user last told it, in so many words or by a reference."""
        self._refusals: Counter[str] = Counter()
        self._misbooked: set[str] = set()
        super().__init__(goal)

    def update(self, sys_action: SystemActs, goal: AgendaGoal) -> None:
        if self._fixes.booking_details:
            self._misbooked = {
                domain for domain in goal.domains if _contradicts(sys_action, domain, goal.domain_goals[domain])
            }
        super().update(sys_action, goal)

    def _handle_inform(self, domain: str, intent: str, slot_vals: list[list[str]], goal: AgendaGoal) -> bool:  # type: ignore[override]
        """Fix 2: a booking that the same turn describes wrongly is not accepted."""
        if intent == "book" and domain in self._misbooked:
            return False
        return super()._handle_inform(domain, intent, slot_vals, goal)

    def _handle_request(self, domain: str, intent: str, slot_vals: list[list[str]], goal: AgendaGoal) -> bool:  # type: ignore[override]
        """Fix 2: asked for booking details it has none of, the user says that it does not want to book."""
        if self._fixes.booking_details and not goal.domain_goals[domain].get("book"):
            if any(slot in BOOKING_SLOTS for slot, _ in slot_vals):
                self._push_item(f"{domain}-inform", "NotBook", "none")
            slot_vals = [pair for pair in slot_vals if pair[0] not in BOOKING_SLOTS]
        return super()._handle_request(domain, intent, slot_vals, goal)

    def _handle_nobook(self, domain: str, intent: str, slot_vals: list[list[str]], goal: AgendaGoal) -> bool:
        """Fix 7: the second choice where there is one; else the request is repeated twice before hanging up.

        A refusal after the booking was made changes nothing.
        """
        wanted = goal.domain_goals[domain]
        if not self._fixes.second_choice or wanted.get("fail_book") or "booked" not in wanted:
            return super()._handle_nobook(domain, intent, slot_vals, goal)
        if wanted["booked"] == "yes":
            return False
        self._refusals[domain] += 1
        if self._refusals[domain] > _PATIENCE:
            return super()._handle_nobook(domain, intent, slot_vals, goal)
        for slot, value in wanted["book"].items():
            self._push_item(f"{domain}-inform", slot, value)
        return False

    # ConvLab's stack is private to its class, hence the mangled names.

    def _Agenda__push(self, diaact: str, slot: str = "none", value: str = "none") -> None:
        """Fix 8: an item keeps its value and remembers that another domain's is the same; ConvLab forgets it."""
        if not self._fixes.fresh_references:
            super()._Agenda__push(diaact, slot, value)  # type: ignore[misc]
            return
        stack: list[dict[str, str]] = self._Agenda__stack  # type: ignore[attr-defined]
        domain, intent = diaact.split("-")
        if slot in _SHARED_SLOTS and intent == "inform":
            for item in stack:
                same = (item["slot"], item["value"]) == (slot, value) and item["diaact"].endswith("-inform")
                if same and draw() < _REFERENCE_SHARE:
                    item["value"] = _Same(value, domain)
        stack.append({"diaact": diaact, "slot": slot, "value": value})

    def _Agenda__pop(self, initiative: int = 1) -> tuple[list[str], list[str], list[str]]:
        diaacts, slots, values = super()._Agenda__pop(initiative)  # type: ignore[misc]
        if not self._fixes.fresh_references:
            return diaacts, slots, values
        said = []
        for diaact, slot, value in zip(diaacts, slots, values, strict=True):
            domain, intent = diaact.split("-")
            said.append(self._words_for(domain, slot, value))
            if intent == "inform":
                self._told[domain, slot] = str(value)
        return diaacts, slots, said

    def _words_for(self, domain: str, slot: str, value: str) -> str:
        """A reference only where the user has told the other domain's value and it is this one at this moment."""
        other = value.domain if isinstance(value, _Same) else domain
        if other == domain or self._told.get((other, slot)) != value:
            return str(value)
        return {
            "people": "the same",
            "day": "the same day",
            "pricerange": f"in the same price range as the {other}",
            "area": f"same area as the {other}",
        }[slot]


class _Same(str):
    """A value that is also another domain's."""

    __slots__ = ("domain",)
    domain: str

    def __new__(cls, value: str, domain: str) -> "_Same":
        same = super().__new__(cls, value)
        same.domain = domain
        return same


def _contradicts(sys_action: SystemActs, domain: str, wanted: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether the system states a booking detail that is not the one the user asks for now."""
    book = wanted.get("fail_book") or wanted.get("book") or {}
    stated = [
        (slot, value)
        for act, pairs in sys_action.items()
        if act in (f"{domain}-inform", f"{domain}-book")
        for slot, value in pairs
    ]
    return any(slot in book and value != book[slot] for slot, value in stated if slot in BOOKING_SLOTS)


class FixedUserPolicy(UserPolicyAgendaMultiWoz):
    """ConvLab's user policy over a ``FixedAgenda``."""

    def __init__(self, fixes: Fixes) -> None:
        super().__init__()
        self._fixes = fixes

    def init_session(self, goal: AgendaGoal) -> None:  # type: ignore[override]
        self.reset_turn()
        self.goal = goal
        self.domain_goals = goal.domain_goals
        self.agenda = FixedAgenda(goal, self._fixes)

    def get_goal(self) -> DomainGoals:
        """Fix 1: what the user was answered, without the quotes it puts round a "no" for itself."""
        goals: DomainGoals = deepcopy(self.domain_goals)
        if self._fixes.answered_no:
            for wanted in goals.values():
                if "reqt" in wanted:
                    wanted["reqt"] = {slot: value.strip('"') for slot, value in wanted["reqt"].items()}
        return goals

    def _transform_sysact_in(self, action: SystemActs) -> SystemActs:  # type: ignore[override]
        """Fix 2: ConvLab's table has no booking slots for hotels and restaurants, so it drops them."""
        known: SystemActs = super()._transform_sysact_in(action)
        if self._fixes.booking_details:
            for act, pairs in action.items():
                details = [[slot.lower(), value] for slot, value in pairs if slot.lower() in BOOKING_SLOTS]
                if details and not act.startswith("general"):
                    known.setdefault(act.lower(), []).extend(details)
        return known
