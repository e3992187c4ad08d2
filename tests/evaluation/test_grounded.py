"""Grounded success: honest service earns it, and the nine ways to cheat do not."""

import json
import statistics
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import cast

import pytest

from agents.turns import Turn
from db.world import WorldFactory
from evaluation.grounded import grounded
from evaluation.rewards import reward
from simulation.agenda_user import AgendaUser
from simulation.episode import play_episode
from simulation.goals import load_corpus_goals, sample_goals
from simulation.policies import Policy, ScriptedPolicy
from simulation.records import Act, Booking, Episode, Exchange, Goal
from tests.cheats import CHEATS, Cheat, CheatPolicy

CORPUS = Path("../shared/data/multiwoz-val.json.zip")


@cache
def worlds() -> WorldFactory:
    return WorldFactory()


async def play(goals: Sequence[Goal], policy: Policy) -> list[Episode]:
    return [await play_episode(goal, policy, AgendaUser(goal, seed), worlds(), seed) for seed, goal in enumerate(goals)]


def mean_reward(episodes: Sequence[Episode]) -> float:
    return statistics.mean(parts.total for episode in episodes if (parts := reward(episode)) is not None)


@cache
def demanding_goals() -> list[Goal]:
    """Goals in which something is asked and something is booked, so that every trick has its occasion."""
    goals = sample_goals("test", 200, seed=3)
    return [
        goal
        for goal in goals
        if any(wanted.book for wanted in goal.domains.values()) and any(wanted.reqt for wanted in goal.domains.values())
    ][:12]


async def test_honest_service_earns_the_top_reward():
    episodes = await play(sample_goals("test", 60, seed=7), ScriptedPolicy())
    assert [grounded(episode).failures for episode in episodes if not grounded(episode).success] == []
    assert all(parts.success == 80 for episode in episodes if (parts := reward(episode)) is not None)


@pytest.mark.skipif(not CORPUS.exists(), reason="needs the MultiWOZ validation corpus")
async def test_honest_service_succeeds_on_the_corpus_goals():
    episodes = await play(load_corpus_goals(CORPUS)[:60], ScriptedPolicy())
    assert [grounded(episode).failures for episode in episodes if not grounded(episode).success] == []


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.__name__)
async def test_cheating_fails(cheat: type[Cheat]):
    cheated = await play(demanding_goals(), CheatPolicy(cheat))
    assert not any(grounded(episode).success for episode in cheated)
    assert mean_reward(cheated) < HONEST_REWARD - 80


HONEST_REWARD = 70
"""Below the scripted policy's mean reward on the same goals, as the next test holds."""


async def test_honest_service_is_worth_more_than_any_cheat():
    assert mean_reward(await play(demanding_goals(), ScriptedPolicy())) > HONEST_REWARD


@pytest.mark.skipif(not CORPUS.exists(), reason="needs the MultiWOZ validation corpus")
def test_human_assistants_keep_within_the_bounds():
    """154 of the 165 purely hotel/restaurant dialogues of the corpus: the rest tell nearly everything at once."""
    dialogues = [episode_of_humans(dialogue) for dialogue in hotel_restaurant_dialogues()]
    within = [not failures(dialogue) & {"spraying", "interrogation", "wording"} for dialogue in dialogues]
    assert len(within) == 165
    assert sum(within) >= 150


def hotel_restaurant_dialogues() -> list[list[dict[str, object]]]:
    with zipfile.ZipFile(CORPUS) as archive:
        dialogues = json.loads(archive.read("val.json")).values()
    others = ("taxi", "train", "attraction", "hospital", "police")
    return [each["log"] for each in dialogues if not any(each["goal"].get(other) for other in others)]


def episode_of_humans(log: list[dict[str, object]]) -> Episode:
    slots = {"addr": "address", "price": "pricerange", "post": "postcode"}
    exchanges = []
    for asked, answered in zip(log[::2], log[1::2], strict=True):
        acts: list[Act] = []
        for key, pairs in cast("dict[str, list[list[str]]]", asked.get("dialog_act", {})).items():
            domain, intent = key.lower().split("-")
            acts += [(intent, domain, slots.get(slot.lower(), slot.lower()), value) for slot, value in pairs]
        turn = Turn(text=str(answered["text"]), route=["hotel"], tool_events=[], model_calls=[])
        exchanges.append(Exchange(user_text=str(asked["text"]), user_acts=acts, turn=turn))
    goal = demanding_goals()[0]
    return Episode(
        id="human#0",
        goal=goal,
        seed=0,
        policy="human",
        user="human",
        exchanges=exchanges,
        bookings=[],
        ended="user",
    )


# --- one thing wrong at a time ---


@pytest.fixture
async def episode() -> Episode:
    """A success to spoil."""
    (played,) = await play(demanding_goals()[:1], ScriptedPolicy())
    assert grounded(played).success
    return played


def failures(episode: Episode) -> set[str]:
    return {failure.split(":")[0] for failure in grounded(episode).failures}


def respoken(episode: Episode, old: str, new: str) -> Episode:
    """The same dialogue with some words of the agent changed."""
    exchanges = [
        exchange.model_copy(
            update={"turn": exchange.turn.model_copy(update={"text": exchange.turn.text.replace(old, new)})}
        )
        if exchange.turn
        else exchange
        for exchange in episode.exchanges
    ]
    return episode.model_copy(update={"exchanges": exchanges})


def with_bookings(episode: Episode, bookings: list[Booking]) -> Episode:
    return episode.model_copy(update={"bookings": bookings})


def test_a_dialogue_that_the_user_did_not_end_fails(episode: Episode):
    assert failures(episode.model_copy(update={"ended": "limit"})) == {"ending"}


def test_a_booking_too_many_fails(episode: Episode):
    booking = episode.bookings[0]
    extra = booking.model_copy(update={"reference": "EXTRA001", "venue_index": booking.venue_index + 1})
    assert "unasked booking" in failures(with_bookings(episode, [*episode.bookings, extra]))


def test_a_booking_in_a_domain_nobody_mentioned_fails(episode: Episode):
    other = "hotel" if episode.bookings[0].domain == "restaurant" else "restaurant"
    extra = episode.bookings[0].model_copy(update={"reference": "EXTRA001", "domain": other})
    assert "unasked booking" in failures(with_bookings(episode, [*episode.bookings, extra]))


def test_a_missing_booking_fails_and_so_does_what_was_said_of_it(episode: Episode):
    assert {"no booking", "false"} <= failures(with_bookings(episode, []))


@pytest.mark.parametrize(("slot", "value"), [("people", "8"), ("day", "someday")])
def test_a_booking_with_a_wrong_detail_fails(episode: Episode, slot: str, value: str):
    booking = episode.bookings[0]
    wrong = booking.model_copy(update={"details": {**booking.details, slot: value}})
    assert "wrong booking" in failures(with_bookings(episode, [wrong, *episode.bookings[1:]]))


def test_a_reference_that_was_not_said_fails(episode: Episode):
    assert failures(respoken(episode, f", the reference is {episode.bookings[0].reference}", "")) == {"untold"}


def test_an_invented_reference_beside_the_real_one_fails(episode: Episode):
    real = episode.bookings[0].reference
    assert failures(respoken(episode, real, f"{real} or maybe the reference is QX7PL2ZA")) == {"false"}


def test_a_domain_without_a_word_of_the_venue_fails(episode: Episode):
    assert "unnamed" in failures(respoken(episode, episode.bookings[0].venue_name, "it"))


def test_asking_for_five_things_at_once_fails(episode: Episode):
    question = (
        "available . what area , what price range , how many stars , on which day and for how many people ? do you "
        "need parking or internet ?"
    )
    assert "interrogation" in failures(respoken(episode, "available .", question))
