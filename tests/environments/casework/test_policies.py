"""The policies that nobody trains, and a language model behind the same door."""

from itertools import cycle

import pytest
from langchain_core.messages import AIMessage

from db.support_world import SupportWorlds
from environments.casework.actions import Action
from environments.casework.cases import Case
from environments.casework.chat_policy import ChatPolicy
from environments.casework.episode import play_case
from environments.casework.policies import GoldPolicy, HeuristicPolicy, Policy, RandomPolicy
from environments.casework.records import CaseEpisode
from environments.casework.text import write_output
from simulation.faults import InfrastructureError
from tests.fakes import ScriptedReplies


async def resolved_share(policy: Policy, worlds: SupportWorlds, cases: list[Case]) -> float:
    episodes = [await play_case(case, policy, worlds, seed=number) for number, case in enumerate(cases)]
    assert all(episode.fault is None for episode in episodes)
    return sum(episode.resolved for episode in episodes) / len(episodes)


async def test_gold_resolves_all_chance_next_to_nothing_and_rules_some(worlds: SupportWorlds, cases: list[Case]):
    assert await resolved_share(GoldPolicy(), worlds, cases[:300]) == 1.0
    assert await resolved_share(RandomPolicy(), worlds, cases) < 0.1
    assert 0.3 < await resolved_share(HeuristicPolicy(), worlds, cases[:300]) < 1.0


async def test_a_language_model_plays_by_text(worlds: SupportWorlds, cases: list[Case]):
    case = next(each for each in cases if len(each.gold_actions()) == 3)
    replies = ["what?", *(write_output(action, "next") for action in case.gold_actions())]
    model = ScriptedReplies(replies=[AIMessage(reply) for reply in replies])
    episode = await play_case(case, ChatPolicy("told", lambda seed: model), worlds, seed=0)
    assert (episode.resolved, episode.format_faults, len(episode.steps)) == (True, 1, 4)
    assert [step.output for step in episode.steps] == replies
    assert episode.reward == pytest.approx(20 - 0.5 - 1.0 - 0.5)
    assert [len(messages) for messages in model.asked] == [2, 4, 6, 8]
    assert CaseEpisode.model_validate_json(episode.model_dump_json()) == episode


@pytest.mark.parametrize(
    ("error", "who"), [(InfrastructureError("the server is gone"), "infrastructure"), (ValueError("a bug"), "agent")]
)
async def test_what_breaks_is_on_the_record(error: Exception, who: str, worlds: SupportWorlds, cases: list[Case]):
    first = write_output(cases[0].gold_actions()[0], "next")
    model = ScriptedReplies(replies=[AIMessage(first), error])
    episode = await play_case(cases[0], ChatPolicy("breaks", lambda seed: model), worlds, seed=0)
    assert episode.fault is not None
    assert (episode.fault.who, episode.ended, len(episode.steps)) == (who, "fault", 1)


async def test_a_model_that_never_makes_sense_is_stopped(worlds: SupportWorlds, cases: list[Case]):
    says = cycle(["hm", "{}"])
    model = ScriptedReplies(replies=[next(says) for _ in range(20)])
    episode = await play_case(cases[0], ChatPolicy("lost", lambda seed: model), worlds, seed=0)
    assert (episode.ended, episode.format_faults, episode.resolved) == ("limit", 10, False)
    assert Action.CONSULT_LLM not in {step.action for step in episode.steps}
