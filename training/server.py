"""An OpenAI-compatible HTTP server over a policy: ``/v1/chat/completions``, ``/v1/models``.

Loopback only. Log-probabilities name their tokens ``token_id:N`` (vLLM's ``return_tokens_as_token_ids``, which ART
reads), and ``prompt_token_ids``/``token_ids`` stand beside them (vLLM's ``return_token_ids``). A stale model name is
refused with 409, an unknown one with 404; streaming and stop strings are refused, not ignored.
"""

import asyncio
import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from training.chat import wire_messages
from training.endpoint import ChatAnswer, ChatRequest, PolicyEndpoint, UnknownModelError
from training.engine import PromptTooLongError

DEFAULT_MAX_TOKENS = 256


class ChatCompletionBody(BaseModel):
    """The request body; unknown fields are let through, as OpenAI's clients send many."""

    model_config = ConfigDict(extra="allow")

    model: str
    messages: list[dict[str, object]] = Field(min_length=1)
    tools: list[dict[str, object]] | None = None
    temperature: float | None = Field(default=None, ge=0.0, le=10.0)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    n: int = Field(default=1, ge=1, le=64)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    user: str | None = None
    """Names the session whose journal the answer goes into."""
    stream: bool | None = None
    stop: str | list[str] | None = None


def build_app(endpoint: PolicyEndpoint) -> Starlette:
    """The ASGI application that serves ``endpoint``."""

    async def models(_: Request) -> JSONResponse:
        card = {"id": endpoint.model, "object": "model", "created": 0, "owned_by": "concierge"}
        return JSONResponse({"object": "list", "data": [card]})

    async def chat_completions(request: Request) -> JSONResponse:
        try:
            body = ChatCompletionBody.model_validate_json(await request.body())
        except ValidationError as error:
            return _refusal(400, "; ".join(f"{item['loc']}: {item['msg']}" for item in error.errors()))
        if body.stream or body.stop:
            return _refusal(400, "stream and stop are not supported here")
        try:
            answers = await asyncio.gather(*(endpoint.complete(_request(body, index)) for index in range(body.n)))
        except UnknownModelError as error:
            return _refusal(409 if error.stale else 404, str(error))
        except PromptTooLongError as error:
            return _refusal(400, f"{error} (context_length_exceeded)")
        return JSONResponse(_response(body, answers))

    return Starlette(
        routes=[
            Route("/v1/models", models, methods=["GET"]),
            Route("/v1/chat/completions", chat_completions, methods=["POST"]),
        ]
    )


def _request(body: ChatCompletionBody, index: int) -> ChatRequest:
    return ChatRequest(
        model=body.model,
        messages=wire_messages(body.messages),
        tools=body.tools,
        temperature=1.0 if body.temperature is None else body.temperature,
        max_tokens=body.max_completion_tokens or body.max_tokens or DEFAULT_MAX_TOKENS,
        seed=None if body.seed is None else body.seed + index,
        top_logprobs=(body.top_logprobs or 0) if body.logprobs else 0,
        session=body.user,
    )


def _response(body: ChatCompletionBody, answers: list[ChatAnswer]) -> dict[str, object]:
    first = answers[0]
    prompt_tokens = len(first.completion.prompt_ids)
    completion_tokens = sum(len(answer.completion.token_ids) for answer in answers)
    return {
        "id": first.id,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": first.model,
        "choices": [_choice(answer, index, bool(body.logprobs)) for index, answer in enumerate(answers)],
        "prompt_token_ids": first.completion.prompt_ids,
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def _choice(answer: ChatAnswer, index: int, logprobs: bool) -> dict[str, object]:
    message: dict[str, object] = {"role": "assistant", "content": answer.parsed.content or None}
    finish: str = answer.completion.finish_reason
    if answer.parsed.calls:
        finish = "tool_calls" if finish == "stop" else finish
        message["tool_calls"] = [
            {
                "id": f"{answer.id}-{index}-{number}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for number, call in enumerate(answer.parsed.calls)
        ]
    return {
        "index": index,
        "message": message,
        "finish_reason": finish,
        "logprobs": {"content": token_logprobs(answer), "refusal": None} if logprobs else None,
        "token_ids": answer.completion.token_ids,
    }


def token_logprobs(answer: ChatAnswer) -> list[dict[str, object]]:
    """OpenAI's ``logprobs.content``, each token named by its id."""
    completion = answer.completion
    tops = completion.top_logprobs or [[]] * len(completion.token_ids)
    return [
        {
            "token": f"token_id:{token}",
            "logprob": logprob,
            "bytes": [],
            "top_logprobs": [{"token": f"token_id:{other}", "logprob": value, "bytes": []} for other, value in top],
        }
        for token, logprob, top in zip(completion.token_ids, completion.logprobs, tops, strict=True)
    ]


def _refusal(status: int, message: str, extra: Mapping[str, object] | None = None) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error", **(extra or {})}}, status)


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: signals belong to the script that trains."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield


@dataclass
class RunningServer:
    """A server on the loopback, in the current event loop."""

    base_url: str
    _server: uvicorn.Server
    _task: "asyncio.Task[None]"

    async def aclose(self) -> None:
        """Stop, and wait until the port is free."""
        self._server.should_exit = True
        await self._task


async def start_server(endpoint: PolicyEndpoint, port: int = 0) -> RunningServer:
    """Serve ``endpoint`` on 127.0.0.1; port 0 takes a free one. Returns once connections are accepted."""
    # With the protocol named, asyncio turns Nagle's algorithm off; without, every answer waits 40 ms for an ACK.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    config = uvicorn.Config(build_app(endpoint), log_level="warning", lifespan="off", loop="none", access_log=False)
    server = _Server(config)
    task = asyncio.get_running_loop().create_task(server.serve([listener]))
    while not server.started:
        if task.done():
            task.result()
            raise RuntimeError("the server stopped before it started")
        await asyncio.sleep(0.002)
    return RunningServer(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", server, task)
