"""A real OpenAI-compatible HTTP server on the loopback, in a thread, answering with a chat model of ours."""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from simulation.lexicon import load_catalogue
from tools.results import BookingResult, Domain, Refusal, RefusalReason, SearchResult, ToolArtifact


@dataclass
class OpenAIServer:
    """What the server answers, and what it was asked."""

    model: BaseChatModel
    api_key: str | None = None
    fail_first: int = 0
    """How many requests are answered 503 before the first good answer."""
    delay_s: float = 0.0
    base_url: str = ""
    requests: list[dict] = field(default_factory=list)

    async def complete(self, request: Request) -> Response:
        payload = await request.json()
        self.requests.append(payload)
        if self.api_key and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return JSONResponse({"error": {"message": "wrong key"}}, status_code=401)
        if len(self.requests) <= self.fail_first:
            return JSONResponse({"error": {"message": "busy"}}, status_code=503, headers={"retry-after-ms": "1"})
        await asyncio.sleep(self.delay_s)
        answer = await self.model.ainvoke(with_artifacts(convert_to_messages(payload["messages"])))
        assert isinstance(answer, AIMessage)
        prompt_tokens = sum(len(str(message.get("content") or "").split()) for message in payload["messages"])
        completion_tokens = len(answer.text.split()) + 5 * len(answer.tool_calls)
        return JSONResponse(
            {
                "id": f"chatcmpl-{len(self.requests)}",
                "object": "chat.completion",
                "created": 0,
                "model": payload["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": as_openai(answer)}],
                "usage": {
                    "prompt_tokens": prompt_tokens,
                    "completion_tokens": completion_tokens,
                    "total_tokens": prompt_tokens + completion_tokens,
                },
            }
        )


COMPACT = re.compile(r"\d+ found : |none found|booked |refused : ")


def with_artifacts(messages: list[BaseMessage]) -> list[BaseMessage]:
    """The tools' answers in ``full`` style with the artifacts that HTTP left behind, which the scripted model reads."""
    names = {
        call["id"]: call["name"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }
    for message in messages:
        if isinstance(message, ToolMessage) and not COMPACT.match(message.text):
            message.artifact = artifact_of(names[message.tool_call_id], message.text)
    return messages


def artifact_of(tool: str, text: str) -> ToolArtifact:
    domain: Domain = "hotel" if "hotel" in tool else "restaurant"
    venues = {venue.name: venue for venue in load_catalogue().venues[domain].values()}
    if tool.startswith("find"):
        named = [venues[name] for name in re.findall(r"^- (.*?): ", text, re.MULTILINE)]
        count = re.match(r"(\d+) ", text)
        return SearchResult(domain=domain, constraints={}, count=int(count[1]) if count else 0, venues=named)
    if booked := re.fullmatch(r"Booked (.*): (.*)\. Reference: (\w+)", text):
        return BookingResult(domain=domain, venue=venues[booked[1]], reference=booked[3], details={})
    reasons = {"is already booked": RefusalReason.ALREADY_BOOKED, "is not available": RefusalReason.UNAVAILABLE}
    reason = next((reason for words, reason in reasons.items() if words in text), RefusalReason.INVALID_ARGUMENT)
    return Refusal(domain=domain, reason=reason, message=text)


def as_openai(answer: AIMessage) -> dict:
    calls = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
        }
        for call in answer.tool_calls
    ]
    return {"role": "assistant", "content": answer.text} | ({"tool_calls": calls} if calls else {})


@contextmanager
def serve(server: OpenAIServer) -> Iterator[OpenAIServer]:
    """``server`` listening on a free port, until the block ends."""
    app = Starlette(routes=[Route("/v1/chat/completions", server.complete, methods=["POST"])])
    listener = socket.create_server(("127.0.0.1", 0))
    server.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    runner = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]})
    thread.start()
    while not runner.started:
        time.sleep(0.005)
    try:
        yield server
    finally:
        runner.should_exit = True
        thread.join()
        listener.close()
