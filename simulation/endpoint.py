"""The policy ``endpoint:MODEL``: the same agents, with a model behind any OpenAI-compatible server.

Owns the connection: one HTTP client for all dialogues, a time limit and a number of retries per call. It reads no
environment; the script hands it the key. A call that still fails raises OpenAI's error, which `play_episode` books as
an infrastructure fault, so a dead server never lowers a score.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
from pydantic import SecretStr

from agents.config import COMPACT, FULL, AgentConfig, Style
from db.errors import InputError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

PREFIX = "endpoint:"


@dataclass(frozen=True)
class EndpointConfig:
    """Which model to ask, where, and how patiently."""

    model: str
    """The model's name as the server knows it."""
    base_url: str
    """The server's API root, ending in ``/v1`` as a rule."""
    temperature: float | None = 0.0
    """``None`` leaves it out, for models that refuse it."""
    max_tokens: int = 512
    """Limit of one completion."""
    timeout_s: float = 60.0
    """Limit of one request."""
    max_retries: int = 3
    """How often a failed request is repeated, with growing pauses."""
    send_seed: bool = True
    """Send the episode's seed; some servers refuse the field."""
    connections: int = 64
    """Requests in flight at once."""
    style: Style = "full"
    """How the model is prompted: ``compact`` for a small model trained here and served by somebody."""


class EndpointPolicy:
    """A `simulation.episode.Policy`; `open_endpoint` makes one."""

    def __init__(self, endpoint: EndpointConfig, api_key: str | None, client: httpx.AsyncClient) -> None:
        from langchain_openai import ChatOpenAI  # takes seconds to import, which a script's --help need not

        self.name = PREFIX + endpoint.model
        self.config: AgentConfig = COMPACT if endpoint.style == "compact" else FULL
        self._send_seed = endpoint.send_seed
        self._model = ChatOpenAI(
            model=endpoint.model,
            base_url=endpoint.base_url,
            api_key=SecretStr(api_key or "none"),
            temperature=endpoint.temperature,
            max_completion_tokens=endpoint.max_tokens,
            timeout=httpx.Timeout(endpoint.timeout_s, pool=None),
            max_retries=endpoint.max_retries,
            http_async_client=client,
            use_responses_api=False,
        )

    def chat_model(self, seed: int) -> "BaseChatModel":
        """The model for one episode; all of them share the connections."""
        return self._model.model_copy(update={"seed": seed}) if self._send_seed else self._model


@asynccontextmanager
async def open_endpoint(endpoint: EndpointConfig, api_key: str | None) -> AsyncIterator[EndpointPolicy]:
    """The policy, its connections closed at the end.

    :param api_key: ``None`` for a server that asks for none.
    :raises InputError: the address is no HTTP address.
    """
    try:
        address = httpx.URL(endpoint.base_url)
    except httpx.InvalidURL:
        address = httpx.URL("")
    if address.scheme not in {"http", "https"} or not address.host:
        raise InputError(f"{endpoint.base_url!r} is no address of a server: give one such as http://127.0.0.1:8000/v1")
    limits = httpx.Limits(max_connections=endpoint.connections, max_keepalive_connections=endpoint.connections)
    async with httpx.AsyncClient(limits=limits) as client:
        yield EndpointPolicy(endpoint, api_key, client)
