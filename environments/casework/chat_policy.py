"""A language model as a casework policy: the text form, zero-shot or trained, whatever serves it."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from environments.casework.casefile import Casefile
from environments.casework.policies import Move, Player, View

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable


class ChatPolicy:
    """Asks a chat model for every step; what it writes is read by ``text``."""

    def __init__(self, name: str, chat_model: "Callable[[int], BaseChatModel | Runnable]") -> None:
        """
        :param chat_model: the model for an episode's seed.
        """
        self.name = name
        self._chat_model = chat_model

    def player(self, casefile: Casefile, seed: int) -> Player:
        return _ChatPlayer(self._chat_model(seed))


class _ChatPlayer:
    def __init__(self, model: "BaseChatModel | Runnable") -> None:
        self._model = model

    async def decide(self, view: View) -> Move:
        started = time.perf_counter()
        message = await self._model.ainvoke([dict(message) for message in view.messages()])
        usage = getattr(message, "usage_metadata", None) or {}
        return Move(
            choice=message.text,
            prompt_tokens=usage.get("input_tokens", 0),
            completion_tokens=usage.get("output_tokens", 0),
            latency_s=time.perf_counter() - started,
        )
