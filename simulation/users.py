"""What every simulated user can do: open a dialogue, and answer the agent until it is done.

Owns the protocol and the two turns that cross it. The agenda user and the language-model user implement it;
``play_episode`` drives it and knows nothing else about a user.
"""

from dataclasses import dataclass
from typing import Protocol

from simulation.records import Act


@dataclass(frozen=True)
class UserTurn:
    """What the user says. ``acts`` is empty for a user that has only words; ``done`` means it says goodbye."""

    text: str
    acts: tuple[Act, ...] = ()
    done: bool = False


@dataclass(frozen=True)
class AgentTurn:
    """What the agent said: its text, and the acts understood from text and evidence."""

    text: str
    acts: tuple[Act, ...] = ()


class UserError(RuntimeError):
    """The simulated user broke down: the episode is no sample of the agent."""


class User(Protocol):
    """A simulated user for one dialogue. It raises ``UserError`` when it cannot go on."""

    @property
    def name(self) -> str:
        """Which user this is, as the episode records it."""
        ...

    async def open(self) -> UserTurn:
        """The first thing the user says."""
        ...

    async def reply(self, agent: AgentTurn) -> UserTurn:
        """The user's answer; ``done`` when it says goodbye, after which nothing more is asked of it."""
        ...
