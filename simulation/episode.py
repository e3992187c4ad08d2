"""Playing one dialogue: a user with a goal, an agent, and a world of their own.

Promises: the episode is reproducible from its goal, policy and seed, booking references included; no two episodes
share anything that changes; whatever breaks is stored on the episode, with whose fault it was and the dialogue so
far (this is the one broad catch in the code); cancellation passes through. A dialogue that the user does not end
within the limit ends as ``limit``, which is no fault: an agent that says nothing, or loops, is scored as it stands.
There is no reward here.
"""

import random
import time
from dataclasses import asdict

from agents.graph import Agent, build_graph
from db.world import World, WorldFactory
from simulation.faults import Speaker, fault_of
from simulation.policies import Policy
from simulation.records import Booking, Episode, Exchange, Fault, Goal
from simulation.unavailability import unavailable_slots
from simulation.understanding import Listener
from simulation.users import AgentTurn, User
from tools.booking import references
from tools.results import BookingResult
from tools.toolbox import build_toolbox

MAX_EXCHANGES = 20
"""ConvLab's limit of 40 turns."""


async def play_episode(  # noqa: PLR0917
    goal: Goal,
    policy: Policy,
    user: User,
    worlds: WorldFactory,
    seed: int,
    max_exchanges: int = MAX_EXCHANGES,
    *,
    repeat: int = 0,
) -> Episode:
    """Play ``goal`` once. ``user`` is fresh and has the same goal.

    :param repeat: which try at this goal it is; part of the episode's id.
    """
    started = time.perf_counter()
    dialogue = _Dialogue(user, max_exchanges)
    bookings: list[Booking] = []
    fault: Fault | None = None
    try:
        with worlds.open(unavailable_slots(goal)) as world:
            try:
                await dialogue.play(_build_agent(goal, policy, world, seed), world)
            finally:
                bookings = _bookings(world)
    except Exception as error:
        fault = fault_of(error, dialogue.speaker)
    return Episode(
        id=f"{goal.id}#{repeat}",
        goal=goal,
        seed=seed,
        policy=policy.name,
        user=user.name,
        exchanges=dialogue.exchanges,
        bookings=bookings,
        ended="fault" if fault else "user" if dialogue.finished else "limit",
        fault=fault,
        wall_s=time.perf_counter() - started,
    )


def _build_agent(goal: Goal, policy: Policy, world: World, seed: int) -> Agent:
    reference = references(random.Random(f"references-{seed}-{goal.id}"))
    toolbox = build_toolbox(world.sessions, style=policy.config.style, reference=reference)
    return build_graph(policy.chat_model(seed), toolbox, policy.config)


def _bookings(world: World) -> list[Booking]:
    return [Booking(**asdict(row)) for row in world.bookings()]


class _Dialogue:
    """The exchanges so far, and whose turn it is."""

    def __init__(self, user: User, max_exchanges: int) -> None:
        self.exchanges: list[Exchange] = []
        self.speaker: Speaker = "infrastructure"
        self.finished = False
        """Whether the user said goodbye."""
        self._user = user
        self._max_exchanges = max_exchanges
        self._listener = Listener()

    async def play(self, agent: Agent, world: World) -> None:
        """Talk until the user says goodbye, or the limit of exchanges is reached."""
        self.speaker = "user"
        said = await self._user.open()
        made: list[Booking] = []
        while len(self.exchanges) < self._max_exchanges:
            exchange = Exchange(user_text=said.text, user_acts=list(said.acts), turn=None)
            self.exchanges.append(exchange)
            if said.done:
                self.finished = True
                return
            self.speaker = "agent"
            turn = exchange.turn = await agent.respond(said.text)
            self.speaker = "user"
            if any(isinstance(event.artifact, BookingResult) for event in turn.tool_events):
                made = _bookings(world)
            exchange.agent_acts = list(self._listener.hear(turn, made).acts)
            said = await self._user.reply(AgentTurn(turn.text, tuple(exchange.agent_acts)))
