"""Small episodes made by hand, for tests of what happens to episodes rather than in them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agents.turns import ModelCall, Turn
from evaluation.runner import EpisodePlan, Play
from simulation.records import DomainGoal, Episode, Exchange, Fault, Goal


def make_goal(name: str) -> Goal:
    return Goal(id=name, source="convlab", domains={"hotel": DomainGoal(info={"area": "north"}, reqt=("phone",))})


def make_goals(count: int) -> list[Goal]:
    return [make_goal(f"goal-{number}") for number in range(count)]


def make_turn(text: str = "the guide is {nice} & <b>bold</b> .", latency_s: float = 0.25) -> Turn:
    call = ModelCall(node="hotel", prompt_tokens=100, completion_tokens=10, latency_s=latency_s)
    return Turn(text=text, route=["hotel"], tool_events=[], model_calls=[call, call])


def make_episode(plan: EpisodePlan, fault: Fault | None = None) -> Episode:
    return Episode(
        id=plan.id,
        goal=plan.goal,
        seed=plan.seed,
        policy="sample",
        user="sample",
        exchanges=[
            Exchange(user_text="i want a hotel in the north", user_acts=[], turn=make_turn()),
            Exchange(user_text="goodbye", user_acts=[("bye", "general", "none", "none")], turn=None),
        ],
        bookings=[],
        ended="fault" if fault else "user",
        fault=fault,
    )


def infrastructure_fault() -> Fault:
    return Fault(who="infrastructure", kind="APIConnectionError", message="Connection error.\nnobody listens")


@asynccontextmanager
async def open_sample_play() -> AsyncIterator[Play]:
    """Finishes in an order that differs from the plan's."""

    async def play(plan: EpisodePlan) -> Episode:
        await asyncio.sleep((plan.seed % 5) / 1000)
        return make_episode(plan)

    yield play


@asynccontextmanager
async def open_broken_play() -> AsyncIterator[Play]:
    async def play(plan: EpisodePlan) -> Episode:
        raise ZeroDivisionError(plan.id)

    yield play


@asynccontextmanager
async def open_dead_play() -> AsyncIterator[Play]:
    async def play(plan: EpisodePlan) -> Episode:
        return make_episode(plan, infrastructure_fault())

    yield play
