"""A registered tiny policy and an agent loop that talks to it as ``agents`` does: router, then expert with tools."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import art
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable

from tests.training.dialogue import ANSWERS, TOOLS, USER_TURNS
from training.backend import TorchBackend
from training.capture import CaptureTarget, Transport
from training.service import TorchConfig, TorchService


@asynccontextmanager
async def registered(
    base: Path, root: Path, config: TorchConfig | None = None
) -> AsyncIterator[tuple[TorchBackend, art.TrainableModel, TorchService]]:
    """A backend with one registered model, closed at the end."""
    backend = TorchBackend(root, config or TorchConfig(serve=False))
    model = art.TrainableModel(name="policy", project="tests", base_model=str(base))
    await model.register(backend)
    try:
        yield backend, model, backend.service(model)
    finally:
        await backend.close()


def target_of(model: art.TrainableModel, service: TorchService, transport: Transport = "in_process") -> CaptureTarget:
    return CaptureTarget(model, service.tokenizer, service.endpoint, transport)


async def play_dialogue(model: Runnable, turns: tuple[str, ...] = USER_TURNS, max_calls: int = 3) -> list[BaseMessage]:
    """The expert's history after ``turns``, each of which the router reads first."""
    history: list[BaseMessage] = [SystemMessage("hotel")]
    expert = model.bind_tools(TOOLS)  # pyright: ignore[reportAttributeAccessIssue]
    for number, text in enumerate(turns):
        routed = [SystemMessage("router"), HumanMessage(f"{'hotel' if number else 'none'} | {text}")]
        await model.ainvoke(routed, config={"metadata": {"concierge_node": "router"}})
        history.append(HumanMessage(text))
        for _ in range(max_calls):
            answer: AIMessage = await expert.ainvoke(history, config={"metadata": {"concierge_node": "hotel"}})
            history.append(answer)
            if not answer.tool_calls:
                break
            for made in answer.tool_calls:
                key = " ".join(f"{name} {value}" for name, value in made["args"].items())
                content = ANSWERS.get(key.replace("hotel felix", "hôtel félix"), "error : no such tool")
                history.append(ToolMessage(content, tool_call_id=made["id"] or ""))
    return history
