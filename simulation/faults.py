"""Whose doing it was that an episode broke off.

Infrastructure: an endpoint, the network, the disk, the database, a capture that disagrees with the server's count.
User: the simulator of the user, or our understanding for it. Agent: anything else that was raised while it answered.
"""

from typing import Literal

import httpx
import openai
from sqlalchemy.exc import SQLAlchemyError

from simulation.records import Fault

Speaker = Literal["agent", "user", "infrastructure"]


class InfrastructureError(RuntimeError):
    """Raise this for a breakdown that says nothing about the policy: the episode is dropped and counted."""


_INFRASTRUCTURE = (InfrastructureError, openai.OpenAIError, httpx.HTTPError, OSError, SQLAlchemyError, MemoryError)
_LONGEST_MESSAGE = 2000


def fault_of(error: Exception, speaker: Speaker) -> Fault:
    """The fault that ``error`` is, raised while it was ``speaker``'s turn.

    A prompt that outgrew the model's context is the agent's: playing the episode again would end the same way.
    """
    if isinstance(error, openai.BadRequestError) and "context" in str(error).lower():
        who: Speaker = speaker
    elif isinstance(error, _INFRASTRUCTURE):
        who = "infrastructure"
    else:
        who = speaker
    return Fault(who=who, kind=type(error).__name__, message=str(error)[:_LONGEST_MESSAGE])
