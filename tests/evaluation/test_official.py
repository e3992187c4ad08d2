"""ConvLab's measure: with the documented fixes off, its own numbers to the last digit."""

import random
from dataclasses import astuple

import pytest

from agents.turns import ToolEvent, Turn
from db.world import WorldFactory
from evaluation.official import official
from simulation.act_names import to_unified
from simulation.agenda_user import AgendaUser
from simulation.convlab_adapter import MultiWozEvaluator
from simulation.episode import play_episode
from simulation.fixes import ALL_FIXES, NO_FIXES
from simulation.goals import sample_goals
from simulation.lexicon import load_catalogue
from simulation.policies import ScriptedPolicy
from simulation.records import Act, Booking, Episode, Exchange, Goal
from tests.cheats import CheatPolicy, InventedReference, NamelessSprayer, Speculator
from tools.results import BookingResult, Domain

DOMAINS: tuple[Domain, ...] = ("hotel", "restaurant")
SLOTS = {
    "hotel": ("area", "pricerange", "type", "stars", "internet", "parking", "name", "phone", "postcode", "address"),
    "restaurant": ("area", "pricerange", "food", "name", "phone", "postcode", "address"),
}
NUMBERS = ("complete", "success", "book_rate", "book_constraints", "inform_precision", "inform_recall", "inform_f1")


def convlabs_numbers(episode: Episode) -> tuple[object, ...]:
    """ConvLab's evaluator called directly on the recorded acts."""
    evaluator = MultiWozEvaluator()
    goal = {}
    for domain, wanted in episode.goal.domains.items():
        goal[domain] = {"info": dict(wanted.info)}
        if wanted.reqt:
            goal[domain]["reqt"] = dict.fromkeys(wanted.reqt, "?")
        if wanted.book:
            goal[domain]["book"] = dict(wanted.book)
    evaluator.add_goal(goal)
    state: dict[str, dict[str, str]] = {domain: {} for domain in DOMAINS}
    for exchange in episode.exchanges:
        if exchange.turn is not None:
            for event in exchange.turn.tool_events:
                if isinstance(event.artifact, BookingResult):
                    details = {f"book {slot}": value for slot, value in event.artifact.details.items()}
                    state = state | {event.artifact.domain: details}
            evaluator.add_sys_da(to_unified(exchange.agent_acts), state)
        evaluator.add_usr_da(to_unified(exchange.user_acts))
    evaluator.task_success()
    precision, recall, f1 = evaluator.inform_F1()
    return (
        bool(evaluator.complete),
        bool(evaluator.success_strict),
        evaluator.book_rate(),
        evaluator.book_rate_constrains(),
        precision,
        recall,
        f1,
    )


def our_numbers(episode: Episode) -> tuple[object, ...]:
    score = official(episode, NO_FIXES)
    return tuple(getattr(score, name) for name in NUMBERS)


def random_episode(goal: Goal, rng: random.Random) -> Episode:
    """A dialogue of random acts and bookings, plausible enough to reach every branch of the evaluator."""
    bookings: list[Booking] = []
    exchanges = []
    for number in range(rng.randint(1, 8)):
        acts: list[Act] = []
        events: list[ToolEvent] = []
        for _ in range(rng.randint(0, 6)):
            domain = rng.choice(DOMAINS)
            place = rng.choice(list(load_catalogue().venues[domain].values()))
            slot = rng.choice(SLOTS[domain])
            value = rng.choice([(place.slots | {"name": place.name}).get(slot, "none"), "no", "dontcare", "nonsense"])
            acts.append((rng.choice(["inform", "recommend", "request", "nooffer"]), domain, slot, value))
            if rng.random() < 0.25:
                wanted = goal.domains.get(domain)
                details = dict(wanted.book) if wanted and rng.random() < 0.7 else {"people": "2", "day": "monday"}
                result = BookingResult(domain=domain, venue=place, reference=f"REF{number:05d}", details=details)
                if rng.random() < 0.7:  # else the agent's word is all there is
                    events.append(
                        ToolEvent(node=domain, call_id="1", name="book", arguments={}, content="", artifact=result)
                    )
                    bookings.append(
                        Booking(
                            domain=domain,
                            reference=result.reference,
                            venue_index=place.index,
                            venue_name=place.name,
                            details=details,
                        )
                    )
                index = f"{place.index:08d}"
                acts += [("inform", domain, "ref", index)] * rng.randint(0, 1) + [("book", domain, "ref", index)]
        turn = Turn(text="", route=["hotel"], tool_events=events, model_calls=[])
        exchanges.append(
            Exchange(user_text="", user_acts=[("inform", "hotel", "area", "north")], turn=turn, agent_acts=acts)
        )
    exchanges.append(Exchange(user_text="", user_acts=[("bye", "general", "", "")], turn=None))
    return Episode(
        id="random#0",
        goal=goal,
        seed=0,
        policy="random",
        user="random",
        exchanges=exchanges,
        bookings=bookings,
        ended="user",
    )


def test_with_the_fixes_off_the_numbers_are_convlabs_over_random_dialogues():
    rng = random.Random(1)
    episodes = [random_episode(goal, rng) for goal in sample_goals("test", 400, seed=5)]
    assert [our_numbers(episode) for episode in episodes] == [convlabs_numbers(episode) for episode in episodes]
    assert len({our_numbers(episode) for episode in episodes}) > 50  # the dialogues do differ


@pytest.mark.parametrize("cheat", [None, NamelessSprayer, Speculator, InventedReference])
async def test_with_the_fixes_off_the_numbers_are_convlabs_over_played_dialogues(cheat: type | None):
    policy = CheatPolicy(cheat) if cheat else ScriptedPolicy()
    worlds = WorldFactory()
    for seed, goal in enumerate(sample_goals("test", 15, seed=9)):
        episode = await play_episode(goal, policy, AgendaUser(goal, seed), worlds, seed)
        assert our_numbers(episode) == convlabs_numbers(episode)


async def test_the_scripted_policy_succeeds_with_every_fix_on():
    worlds = WorldFactory()
    for seed, goal in enumerate(sample_goals("test", 30, seed=4)):
        episode = await play_episode(goal, ScriptedPolicy(), AgendaUser(goal, seed), worlds, seed)
        score = official(episode, ALL_FIXES)
        assert (score.complete, score.success) == (True, True)
        assert score.book_rate in (1.0, None)
        assert score.turns == 2 * len(episode.exchanges)


def test_each_of_the_fixes_3_to_6_changes_something_on_some_dialogue():
    rng = random.Random(2)
    episodes = [random_episode(goal, rng) for goal in sample_goals("test", 300, seed=6)]
    stock = [official(episode, NO_FIXES) for episode in episodes]
    names = ("booking_evidence", "booked_index", "last_booking", "true_informs")
    for name in names:
        fixed = [official(episode, type(NO_FIXES)(**{**_switches(), name: True})) for episode in episodes]
        assert fixed != stock, name


def _switches() -> dict[str, bool]:
    names = list(NO_FIXES.__dataclass_fields__)
    return dict(zip(names, astuple(NO_FIXES), strict=True))
