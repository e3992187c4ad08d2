"""Dialogues without language: a system made of rules meets the agenda user on dialogue acts.

The yardstick for the rest: how fast ConvLab's simulator is by itself, what its numbers are for systems that make no
language mistakes, and how each fix moves them. Two systems: a small honest one, and ConvLab's ``RuleBasedMultiwozBot``.
Nothing here is a policy anybody trains or ships.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from simulation.act_names import from_unified, reverse_da, to_unified
from simulation.agenda_user import AgendaUser
from simulation.convlab_adapter import RuleBasedMultiwozBot, drawing_from
from simulation.fixed_agenda import BOOKING_SLOTS
from simulation.fixes import ALL_FIXES, Fixes
from simulation.goals import matching_venues
from simulation.official_evaluator import BookingDetails, OfficialEvaluator, OfficialScores
from simulation.records import Act, Goal
from tools.results import Domain

_CONSTRAINTS: Final[dict[Domain, tuple[str, ...]]] = {
    "hotel": ("name", "area", "parking", "pricerange", "stars", "internet", "type"),
    "restaurant": ("name", "area", "food", "pricerange"),
}


@dataclass
class Tracker:
    """What the user has told, by domain, with "the same as the hotel" resolved."""

    info: dict[Domain, dict[str, str]] = field(default_factory=lambda: {"hotel": {}, "restaurant": {}})
    book: dict[Domain, dict[str, str]] = field(default_factory=lambda: {"hotel": {}, "restaurant": {}})

    def hear(self, acts: Sequence[Act]) -> tuple[Act, ...]:
        """Note what the acts tell; hand them back with references replaced by the values they stand for."""
        return tuple(self._note(act) for act in acts)

    def _note(self, act: Act) -> Act:
        intent, domain, slot, value = act
        if intent != "inform" or domain not in ("hotel", "restaurant") or not value:
            return act
        part = self.book if slot in BOOKING_SLOTS else self.info
        if "same" in value.split():
            other: Domain = "restaurant" if domain == "hotel" else "hotel"
            value = part[other].get(slot, value)
        if slot in BOOKING_SLOTS or slot in _CONSTRAINTS[domain]:
            part[domain][slot] = value
        return (intent, domain, slot, value)


class ActSystem(Protocol):
    """A system at act level, for one dialogue."""

    @property
    def bookings(self) -> BookingDetails:
        """What it has booked so far."""
        ...

    def respond(self, user_acts: Sequence[Act]) -> tuple[Act, ...]: ...


class HonestSystem:
    """Searches, offers the first match by name, answers what is asked, books when the details are complete."""

    def __init__(self, refused: Mapping[Domain, Mapping[str, str]] | None = None) -> None:
        self._tracker = Tracker()
        self._refused = refused or {}
        self.bookings: dict[Domain, dict[str, str]] = {}

    def respond(self, user_acts: Sequence[Act]) -> tuple[Act, ...]:
        heard = self._tracker.hear(user_acts)
        domains: list[Domain] = [domain for domain in _CONSTRAINTS if any(of == domain for _, of, _, _ in heard)]
        acts = [act for domain in domains for act in self._about(domain, [a for a in heard if a[1] == domain])]
        return tuple(acts) or (("reqmore", "general", "", ""),)

    def _about(self, domain: Domain, heard: Sequence[Act]) -> list[Act]:
        venues = matching_venues(domain, self._tracker.info[domain])
        if not venues:
            return [("nooffer", domain, "", "")]
        venue, asked = venues[0], [slot for intent, _, slot, _ in heard if intent == "request"]
        acts: list[Act] = [("inform", domain, "name", venue["name"])]
        acts += [("inform", domain, slot, venue[slot]) for slot in asked if slot in venue]
        if any(slot in BOOKING_SLOTS for _, _, slot, _ in heard):
            acts += self._booking(domain, venue)
        return acts

    def _booking(self, domain: Domain, venue: Mapping[str, str]) -> list[Act]:
        details = self._tracker.book[domain]
        needed = ("people", "day", "stay" if domain == "hotel" else "time")
        missing = [slot for slot in needed if slot not in details]
        if missing:
            return [("request", domain, slot, "") for slot in missing]
        refused = self._refused.get(domain, {})
        if refused and all(details[slot] == value for slot, value in refused.items()):
            return [("nobook", domain, "", "")]
        if domain in self.bookings:
            return []
        self.bookings[domain] = dict(details)
        return [("book", domain, "", ""), ("inform", domain, "ref", _index(domain, venue))]


def _index(domain: Domain, venue: Mapping[str, str]) -> str:
    return f"{matching_venues(domain, {}).index(venue):08d}"


class RuleBot:
    """ConvLab's own rule-based system, with the tracker it needs."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(f"bot-{seed}")
        self._bot = RuleBasedMultiwozBot()
        self._tracker = Tracker()
        self._domain: Domain = "hotel"
        self.bookings: dict[Domain, dict[str, str]] = {}

    def respond(self, user_acts: Sequence[Act]) -> tuple[Act, ...]:
        heard = self._tracker.hear(user_acts)
        for _, domain, _, _ in heard:
            if domain in ("hotel", "restaurant"):
                self._domain = domain
        with drawing_from(self._rng):
            acts = self._bot.predict(self._state(heard))
        return tuple(each for act in acts for each in self._named(act))

    def _state(self, heard: Sequence[Act]) -> dict[str, object]:
        grouped = reverse_da({"acts": [_unified(act) for act in heard]})
        user_action = [
            [key.split("-")[1], key.split("-")[0], slot, value]
            for key, pairs in grouped.items()
            for slot, value in pairs
        ]
        belief = {
            domain: {
                "semi": {slot: self._tracker.info[domain].get(slot, "") for slot in slots},
                "book": {"booked": [], **self._tracker.book[domain]},
            }
            for domain, slots in _CONSTRAINTS.items()
        }
        return {"user_action": user_action, "belief_state": belief, "request_state": {}}

    def _named(self, act: Sequence[str]) -> list[Act]:
        """Its ``Booking-Book`` has no domain: it is the one talked about."""
        intent, domain, slot, value = act
        if domain != "Booking":
            old = _PLAIN_SLOTS.get(slot.lower(), slot.lower())
            return list(from_unified([[intent, domain, old, value]]))
        self.bookings[self._domain] = dict(self._tracker.book[self._domain])
        return [("book", self._domain, "", ""), ("inform", self._domain, "ref", value)]


_PLAIN_SLOTS: Final = {"addr": "address", "post": "postcode", "price": "pricerange"}


def _unified(act: Act) -> dict[str, str]:
    ((intent, domain, slot, value),) = to_unified([act])
    return {"intent": intent, "domain": domain, "slot": slot, "value": value}


@dataclass(frozen=True)
class ActDialogue:
    """One dialogue on acts: who said what, and what was booked after each system turn."""

    user_acts: tuple[tuple[Act, ...], ...]
    system_acts: tuple[tuple[Act, ...], ...]
    bookings: tuple[BookingDetails, ...]

    @property
    def exchanges(self) -> int:
        """User turns that got an answer; the goodbye gets none."""
        return len(self.system_acts)

    @property
    def turns(self) -> int:
        """As ConvLab's analyzer counts them: user and system each, the goodbye included."""
        return len(self.user_acts) + len(self.system_acts)


def play_acts(
    goal: Goal, system: ActSystem, seed: int, fixes: Fixes = ALL_FIXES, max_exchanges: int = 20
) -> ActDialogue:
    """One dialogue between ``system`` and the agenda user."""
    user = AgendaUser(goal, seed, fixes)
    said: list[tuple[Act, ...]] = []
    answered: list[tuple[Act, ...]] = []
    bookings: list[BookingDetails] = []
    acts, done = user.act(())
    said.append(acts)
    while not done and len(answered) < max_exchanges:
        answered.append(system.respond(acts))
        bookings.append({domain: dict(details) for domain, details in system.bookings.items()})
        acts, done = user.act(answered[-1])
        said.append(acts)
    return ActDialogue(tuple(said), tuple(answered), tuple(bookings))


def score_acts(goal: Goal, dialogue: ActDialogue, fixes: Fixes = ALL_FIXES) -> OfficialScores:
    """ConvLab's numbers for the dialogue."""
    evaluator = OfficialEvaluator(goal, fixes)
    for turn, user_acts in enumerate(dialogue.user_acts):
        evaluator.add_user(user_acts)
        if turn < len(dialogue.system_acts):
            evaluator.add_system(dialogue.system_acts[turn], dialogue.bookings[turn])
    return evaluator.scores()
