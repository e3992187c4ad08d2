"""The reward: its parts, its proportions, and who is spared one."""

from typing import Literal

import pytest

from evaluation.grounded import GroundedScore
from evaluation.rewards import reward
from evaluation.runner import EpisodePlan
from simulation.episode import MAX_EXCHANGES
from simulation.records import Episode, Exchange, Fault
from tests.evaluation.samples import make_episode, make_goal

SUCCESS = GroundedScore(success=True, failures=())
FAILURE = GroundedScore(success=False, failures=("untold: hotel phone",))


def episode_of(exchanges: int) -> Episode:
    spoken = [Exchange(user_text="", user_acts=[], turn=None)] * exchanges
    return make_episode(EpisodePlan(make_goal("g"), 0, 1)).model_copy(update={"exchanges": spoken})


def total(exchanges: int, score: GroundedScore) -> float:
    parts = reward(episode_of(exchanges), score)
    assert parts is not None
    return parts.total


def test_the_parts_are_named_and_add_up():
    parts = reward(episode_of(5), SUCCESS)
    assert parts is not None
    assert parts.model_dump() == {"exchanges": -5.0, "success": 80.0, "failure": 0.0}
    assert parts.total == 75.0
    assert total(5, FAILURE) == -45.0


def test_a_goodbye_at_once_never_beats_the_longest_success():
    assert total(1, FAILURE) < total(MAX_EXCHANGES, SUCCESS)


def test_a_shorter_success_is_worth_more():
    assert total(4, SUCCESS) > total(5, SUCCESS)


@pytest.mark.parametrize("who", ["infrastructure", "user"])
def test_what_the_policy_did_not_break_has_no_reward(who: Literal["infrastructure", "user"]):
    fault = Fault(who=who, kind="Error", message="")
    assert reward(episode_of(3).model_copy(update={"fault": fault, "ended": "fault"})) is None


def test_what_the_policy_broke_is_a_failure():
    fault = Fault(who="agent", kind="Error", message="")
    parts = reward(episode_of(3).model_copy(update={"fault": fault, "ended": "fault"}))
    assert parts is not None
    assert parts.total == -43.0
