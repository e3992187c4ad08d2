"""Who plays an episode: a policy, a simulated user and a world, bound into one callable for `evaluation.runner`.

Owns the choice of goals and of users by name. Everything is opened inside the process and the event loop that use it.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from db.errors import InputError
from db.world import WorldFactory
from evaluation.runner import EpisodePlan, Play
from simulation.agenda_user import AgendaUser
from simulation.endpoint import EndpointConfig, open_endpoint
from simulation.episode import play_episode
from simulation.goals import Split, load_corpus_goals, sample_goals
from simulation.llm_user import LanguageUser
from simulation.policies import Policy
from simulation.records import Episode, Goal
from simulation.users import User
from simulation.wordings import Wordings

OpenPolicy = Callable[[], AbstractAsyncContextManager[Policy]]
MakeUser = Callable[[Goal, int], User]
"""A fresh user for a goal and an episode's seed."""


@dataclass(frozen=True)
class UserConfig:
    """Who plays the user."""

    kind: Literal["agenda", "llm"] = "agenda"
    wordings: Wordings = "all"
    """Which of the agenda user's sentences."""
    endpoint: EndpointConfig | None = None
    """The language model behind ``llm``."""
    api_key: str | None = None


@asynccontextmanager
async def open_users(config: UserConfig) -> AsyncIterator[MakeUser]:
    """A maker of users, for as long as the connection to their model is open."""
    if config.kind == "agenda":
        yield lambda goal, seed: AgendaUser(goal, seed, wordings=config.wordings)
        return
    if config.endpoint is None:
        raise InputError("the user llm needs a model: name it with --user-model, and its server with --user-base-url")
    async with open_endpoint(config.endpoint, config.api_key) as source:
        name = f"llm:{config.endpoint.model}"
        yield lambda goal, seed: LanguageUser(goal, source.chat_model(seed), name)


@asynccontextmanager
async def open_player(open_policy: OpenPolicy, user: UserConfig) -> AsyncIterator[Play]:
    """A `Play` for as long as the policy and the users are open."""
    worlds = WorldFactory()
    async with open_policy() as policy, open_users(user) as make_user:

        async def play(plan: EpisodePlan) -> Episode:
            speaker = make_user(plan.goal, plan.seed)
            return await play_episode(plan.goal, policy, speaker, worlds, plan.seed, repeat=plan.repeat)

        yield play


def pick_goals(name: str, count: int, seed: int) -> list[Goal]:
    """``count`` goals of a split, or at most ``count`` of a corpus file, in its order.

    :raises InputError: there is neither such a split nor such a file, or the file is no corpus.
    """
    if name in get_args(Split):
        split: Split = next(split for split in get_args(Split) if split == name)
        return sample_goals(split, count, seed)
    if not Path(name).exists():
        splits = ", ".join(get_args(Split))
        raise InputError(f"--goals {name} is neither a split ({splits}) nor a file: name one of these")
    return load_corpus_goals(Path(name))[:count]
