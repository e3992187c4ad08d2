"""The user that a language model plays, over a real OpenAI-compatible server on the loopback."""

import httpx
import openai
import pytest
from langchain_core.language_models import BaseChatModel

from db.world import WorldFactory
from simulation.endpoint import EndpointConfig, open_endpoint
from simulation.episode import play_episode
from simulation.goals import sample_goals
from simulation.llm_user import END, LanguageUser, user_prompt
from simulation.policies import ScriptedPolicy
from simulation.records import DomainGoal, Goal
from simulation.users import AgentTurn, UserError, UserTurn
from tests.evaluation.openai_server import OpenAIServer, serve
from tests.fakes import ScriptedReplies
from tests.simulation.scripts import goal_of

GOAL = goal_of(
    DomainGoal(
        info={"area": "north", "stars": "4"},
        fail_info={"area": "north", "stars": "5"},
        reqt=("phone", "postcode"),
        book={"people": "3", "day": "monday", "stay": "2"},
        fail_book={"people": "3", "day": "monday", "stay": "3"},
    ),
    DomainGoal(info={"food": "thai"}, reqt=("address",)),
)


async def talk(user: LanguageUser, *heard: str) -> list[UserTurn]:
    turns = [await user.open()]
    for text in heard:
        turns.append(await user.reply(AgentTurn(text)))
    return turns


async def test_a_whole_dialogue_over_http():
    replies = ScriptedReplies(
        replies=[
            "I need a 5 star hotel in the north.",
            "User: Then one with four stars.",
            f"Thank you, goodbye! {END}",
        ]
    )
    with serve(OpenAIServer(replies)) as server:
        endpoint = EndpointConfig(model="guest", base_url=server.base_url)
        async with open_endpoint(endpoint, None) as policy:
            user = LanguageUser(GOAL, policy.chat_model(seed=5), name="user:guest")
            turns = await talk(user, "There is no such hotel.", "Booked, your reference is K7WQ2M9X.")
    assert user.name == "user:guest"
    assert [turn.text for turn in turns] == [
        "I need a 5 star hotel in the north.",
        "Then one with four stars.",
        "Thank you, goodbye!",
    ]
    assert [turn.done for turn in turns] == [False, False, True]
    assert all(turn.acts == () for turn in turns)
    last = server.requests[-1]
    assert last["seed"] == 5
    assert [message["role"] for message in last["messages"]] == ["system", *["user", "assistant"] * 2, "user"]
    assert last["messages"][0]["content"] == user_prompt(GOAL)
    assert last["messages"][3]["content"] == "There is no such hotel."
    assert last["messages"][4]["content"] == "Then one with four stars."


async def test_a_busy_server_is_asked_again_and_a_dead_one_is_no_fault_of_the_user_s():
    with serve(OpenAIServer(ScriptedReplies(replies=["A hotel please."]), fail_first=1)) as server:
        endpoint = EndpointConfig(model="guest", base_url=server.base_url)
        async with open_endpoint(endpoint, None) as policy:
            assert (await LanguageUser(GOAL, policy.chat_model(1)).open()).text == "A hotel please."
    endpoint = EndpointConfig(model="guest", base_url=server.base_url, max_retries=0)
    async with open_endpoint(endpoint, None) as policy:
        with pytest.raises((openai.APIConnectionError, httpx.HTTPError)):
            await LanguageUser(GOAL, policy.chat_model(1)).open()


def scripted(*replies: str) -> BaseChatModel:
    return ScriptedReplies(replies=list(replies))


@pytest.mark.parametrize(
    ("written", "said", "done"),
    [
        ("<think>The goal says north.</think>\nIn the north, please.", "In the north, please.", False),
        ('"In the north, please."', "In the north, please.", False),
        ("**Customer:** In the north.", "In the north.", False),
        (f"Bye.\n\n{END}", "Bye.", True),
        ("Bye. [done]", "Bye.", True),
        (END, "Thank you, goodbye.", True),
        ("In the\nnorth .", "In the north .", False),
        ("You: north", "north", False),
    ],
)
async def test_what_is_said_is_cleaned(written: str, said: str, done: bool):
    turns = await talk(LanguageUser(GOAL, scripted("Hello.", written)), "Where?")
    assert (turns[-1].text, turns[-1].done) == (said, done)


async def test_an_empty_message_is_asked_for_once_more():
    turns = await talk(LanguageUser(GOAL, scripted("<think>Hm.</think>", "Hello.")))
    assert turns[-1].text == "Hello."
    with pytest.raises(UserError, match="wrote nothing, twice"):
        await LanguageUser(GOAL, scripted("", "<think>never closed")).open()


async def test_an_episode_needs_no_acts_of_its_user():
    words = [
        "I want a thai restaurant.",
        "What is the address?",
        f"Goodbye. {END}",
    ]
    goal = goal_of(restaurant=DomainGoal(info={"food": "thai"}, reqt=("address",)))
    user = LanguageUser(goal, scripted(*words))
    episode = await play_episode(goal, ScriptedPolicy(), user, WorldFactory(), seed=1)
    assert (episode.ended, episode.fault, episode.user) == ("user", None, "language-model")
    assert [exchange.user_text for exchange in episode.exchanges] == [*words[:2], "Goodbye."]
    told = [act for exchange in episode.exchanges for act in exchange.agent_acts]
    assert any(slot == "address" for _, _, slot, _ in told)


async def test_a_server_that_dies_midway_is_infrastructure_s_fault():
    failure = openai.APIConnectionError(request=httpx.Request("POST", "http://127.0.0.1"))
    model = ScriptedReplies(replies=["I want a thai restaurant.", failure])
    episode = await play_episode(GOAL, ScriptedPolicy(), LanguageUser(GOAL, model), WorldFactory(), seed=1)
    assert episode.fault is not None
    assert episode.fault.who == "infrastructure"


async def test_a_user_that_falls_silent_is_the_user_s_fault():
    user = LanguageUser(GOAL, scripted("I want a thai restaurant.", "", ""))
    episode = await play_episode(GOAL, ScriptedPolicy(), user, WorldFactory(), seed=1)
    assert episode.fault is not None
    assert episode.fault.who == "user"


async def test_a_dialogue_that_ends_before_it_begins_is_the_user_s_fault():
    with pytest.raises(UserError, match="first message"):
        await LanguageUser(GOAL, scripted(f"Bye {END}")).open()


def test_the_prompt_has_the_whole_goal_and_nothing_left_to_fill():
    prompt = user_prompt(GOAL)
    for part in (
        "area north",
        "number of stars 5",
        "number of stars 4",
        "phone number, postcode",
        "number of nights 3",
    ):
        assert part in prompt
    assert prompt.index("number of nights 3") < prompt.index("number of nights 2"), "the first choice comes first"
    assert prompt.index("Find a hotel") < prompt.index("Find a restaurant")
    assert "Do not book it." in prompt.split("Find a restaurant")[1]
    assert "{" not in prompt
    assert END in prompt


def test_every_sampled_goal_has_a_prompt_with_all_its_values():
    def values(goal: Goal) -> set[str]:
        parts = [(each.info, each.fail_info, each.book, each.fail_book) for each in goal.domains.values()]
        return {value for group in parts for part in group for value in part.values()}

    for goal in sample_goals("train", 100, seed=1):
        prompt = user_prompt(goal)
        assert all(value in prompt for value in values(goal))
