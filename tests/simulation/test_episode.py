"""One dialogue: reproducible, alone in its world, and whatever breaks is stored with whose fault it was."""

import asyncio
from collections.abc import Sequence

import httpx
import openai
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from agents.config import COMPACT, FULL, AgentConfig
from agents.scripted import ScriptedModel
from db.world import WorldFactory
from simulation.agenda_user import AgendaUser
from simulation.episode import MAX_EXCHANGES, play_episode
from simulation.faults import InfrastructureError
from simulation.goals import sample_goals
from simulation.policies import Policy, ScriptedPolicy
from simulation.records import DomainGoal, Episode, Goal
from simulation.users import AgentTurn, UserError, UserTurn

GOAL = Goal(
    id="one",
    source="convlab",
    domains={
        "hotel": DomainGoal(
            info={"area": "north", "stars": "4"},
            reqt=("phone",),
            book={"people": "3", "day": "tuesday", "stay": "2"},
            fail_book={"people": "3", "day": "monday", "stay": "2"},
        )
    },
)


@pytest.fixture(scope="module")
def worlds() -> WorldFactory:
    return WorldFactory()


class Failing(ScriptedModel):
    """The scripted model up to its ``after``-th completion, which raises."""

    after: int
    error: Exception

    def answer(self, messages: Sequence[BaseMessage]) -> AIMessage:
        self.after -= 1
        if self.after < 0:
            raise self.error
        return super().answer(messages)


class Mute(ScriptedModel):
    """Says nothing."""

    def answer(self, messages: Sequence[BaseMessage]) -> AIMessage:
        return AIMessage("")


class Looping(ScriptedModel):
    """Calls tools without end."""

    def answer(self, messages: Sequence[BaseMessage]) -> AIMessage:
        return AIMessage("", tool_calls=[ToolCall(name="find_hotels", args={}, id=str(len(messages)))])


class OneModel:
    """A policy of one model."""

    name = "test"

    def __init__(self, model: BaseChatModel, config: AgentConfig = COMPACT) -> None:
        self.config = config
        self._model = model

    def chat_model(self, seed: int) -> BaseChatModel:
        return self._model


class Broken:
    """A user that breaks down at its second turn."""

    name = "broken"

    async def open(self) -> UserTurn:
        return UserTurn("i need a hotel in the north .")

    async def reply(self, agent: AgentTurn) -> UserTurn:
        raise UserError("lost the thread")


async def play(worlds: WorldFactory, policy: Policy | None = None, goal: Goal = GOAL, seed: int = 5) -> Episode:
    return await play_episode(goal, policy or ScriptedPolicy(), AgendaUser(goal, seed), worlds, seed)


def content(episode: Episode) -> dict[str, object]:
    """All of an episode but its clock."""
    kept = episode.model_dump(exclude={"wall_s"})
    for exchange in kept["exchanges"]:
        for call in exchange["turn"]["model_calls"] if exchange["turn"] else ():
            call["latency_s"] = 0.0
    return kept


def request_error(kind: type[openai.APIStatusError], status: int, message: str) -> openai.APIStatusError:
    request = httpx.Request("POST", "http://127.0.0.1/v1/chat/completions")
    return kind(message, response=httpx.Response(status, request=request), body=None)


async def test_the_scripted_policy_gets_the_second_choice_after_the_first_was_refused(worlds: WorldFactory):
    episode = await play(worlds)
    assert (episode.ended, episode.fault) == ("user", None)
    assert [booking.details for booking in episode.bookings] == [GOAL.domains["hotel"].book]
    heard = [act for exchange in episode.exchanges for act in exchange.agent_acts]
    assert ("nobook", "hotel", "", "") in heard
    assert ("book", "hotel", "ref", f"{episode.bookings[0].venue_index:08d}") in heard
    assert episode.exchanges[-1].turn is None
    assert episode.id == "one#0"


async def test_full_prompts_and_filled_values_work_as_well(worlds: WorldFactory):
    episode = await play(worlds, ScriptedPolicy(FULL))
    assert (episode.ended, len(episode.bookings)) == ("user", 1)


async def test_the_same_seed_gives_the_same_episode_references_included(worlds: WorldFactory):
    first, again, other = await play(worlds), await play(worlds), await play(worlds, seed=6)
    assert content(first) == content(again)
    assert first.bookings[0].reference != other.bookings[0].reference


async def test_64_episodes_at_once_are_what_they_are_one_at_a_time(worlds: WorldFactory):
    goals = sample_goals("test", 64, seed=11)
    together = await asyncio.gather(*(play(worlds, goal=goal, seed=seed) for seed, goal in enumerate(goals)))
    alone = [await play(worlds, goal=goal, seed=seed) for seed, goal in enumerate(goals)]
    assert [content(episode) for episode in together] == [content(episode) for episode in alone]
    references = [booking.reference for episode in together for booking in episode.bookings]
    assert len(set(references)) == len(references)


@pytest.mark.parametrize(
    ("error", "who"),
    [
        (InfrastructureError("the server counted other tokens"), "infrastructure"),
        (openai.APIConnectionError(request=httpx.Request("POST", "http://127.0.0.1")), "infrastructure"),
        (request_error(openai.InternalServerError, 500, "out of memory"), "infrastructure"),
        (ConnectionResetError("peer"), "infrastructure"),
        (request_error(openai.BadRequestError, 400, "maximum context length is 8192 tokens"), "agent"),
        (ZeroDivisionError("a bug"), "agent"),
    ],
)
async def test_what_breaks_while_the_agent_answers_is_kept_with_the_dialogue_so_far(
    worlds: WorldFactory, error: Exception, who: str
):
    episode = await play(worlds, OneModel(Failing(after=6, error=error)))
    assert episode.ended == "fault"
    assert episode.fault is not None
    assert (episode.fault.who, episode.fault.kind) == (who, type(error).__name__)
    assert len(episode.exchanges) > 1
    assert episode.exchanges[0].turn is not None
    assert episode.exchanges[-1].turn is None


async def test_a_user_that_breaks_down_is_the_users_fault(worlds: WorldFactory):
    episode = await play_episode(GOAL, ScriptedPolicy(), Broken(), worlds, seed=1)
    assert episode.fault is not None
    assert (episode.fault.who, episode.fault.message) == ("user", "lost the thread")
    assert episode.exchanges[0].turn is not None


async def test_a_world_that_does_not_open_is_infrastructure():
    class Closed(WorldFactory):
        def __init__(self) -> None:
            pass

        def open(self, unavailable: object = ()) -> object:  # type: ignore[override]
            raise OSError("no space left on device")

    episode = await play(Closed())
    assert episode.fault is not None
    assert (episode.fault.who, episode.exchanges) == ("infrastructure", [])


@pytest.mark.parametrize("model", [Mute(), Looping()])
async def test_silence_and_endless_tool_loops_run_into_the_limit_and_are_no_fault(
    worlds: WorldFactory, model: BaseChatModel
):
    episode = await play(worlds, OneModel(model))
    assert (episode.ended, episode.fault) == ("limit", None)
    assert len(episode.exchanges) == MAX_EXCHANGES


async def test_cancellation_passes_through(worlds: WorldFactory):
    class Endless(ScriptedModel):
        async def _agenerate(self, *args: object, **kwargs: object):  # pyright: ignore[reportIncompatibleMethodOverride]
            await asyncio.sleep(3600)

    playing = asyncio.create_task(play(worlds, OneModel(Endless())))
    await asyncio.sleep(0.05)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing


async def test_an_episode_survives_its_file(worlds: WorldFactory):
    episode = await play(worlds)
    assert Episode.model_validate_json(episode.model_dump_json()) == episode
