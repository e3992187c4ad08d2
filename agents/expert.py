"""One expert's turn: its own history, a bounded loop of tool calls, a reply.

An expert sees its prompt, its own past turns and one line about the other expert's work, nothing else. The loop runs
inside one graph node, since a superstep per tool call would cost more than the call.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import ValidationError

from agents.config import AgentConfig, system_prompt
from agents.placeholders import Facts, fill, fill_arguments
from agents.tool_calls import Call, Completion, read_completion, refused_by_langchain, run_call
from agents.turns import ModelCall, Node, ToolEvent
from tools.results import Domain

ChatModel = BaseChatModel | Runnable
APOLOGY = "sorry , i could not do that ."
NOTHING_TO_SAY = "sorry , i do not know that ."


class ExpertState(TypedDict):
    """What an expert carries from turn to turn."""

    history: list[BaseMessage]
    facts: Facts
    told: str
    """The last line it read about the other expert."""


class ExpertTurn(TypedDict):
    """What one turn of an expert adds to the record."""

    state: ExpertState
    reply: str
    events: list[ToolEvent]
    calls: list[ModelCall]
    notes: list[str]


def new_expert_state(domain: Domain) -> ExpertState:
    return {"history": [], "facts": Facts(domain), "told": ""}


async def ask_model(model: ChatModel, messages: list[BaseMessage], node: Node) -> tuple[AIMessage, ModelCall]:
    """One completion and its cost. Arguments that LangChain itself rejects come back as an invalid call."""
    started = time.perf_counter()
    try:
        message = await model.ainvoke(messages, config={"metadata": {"concierge_node": node}})
    except ValidationError as error:
        message = refused_by_langchain(error)
        if message is None:
            raise
    latency_s = time.perf_counter() - started
    usage = getattr(message, "usage_metadata", None) or {}
    record = ModelCall(
        node=node,
        prompt_tokens=usage.get("input_tokens", 0),
        completion_tokens=usage.get("output_tokens", 0),
        latency_s=latency_s,
    )
    return message, record


class Expert:
    """The hotel or the restaurant expert over a given model and given tools."""

    def __init__(self, domain: Domain, model: ChatModel, tools: Mapping[str, BaseTool], config: AgentConfig) -> None:
        self.domain: Domain = domain
        self.config = config
        self._tools = tools
        self._model = bind_tools(model, list(tools.values()))
        self._system = SystemMessage(system_prompt(config, domain))

    async def respond(self, user_text: str, state: ExpertState, handover: str) -> ExpertTurn:
        """Answer one user turn; ``handover`` is the line about the other expert, shown only when it is news."""
        news = handover if handover != state["told"] else ""
        history = [*state["history"], HumanMessage(self._human(user_text, news))]
        turn = ExpertTurn(
            state={"history": history, "facts": state["facts"], "told": handover},
            reply="",
            events=[],
            calls=[],
            notes=[],
        )
        while True:
            message, record = await ask_model(self._model, [self._system, *history], self.domain)
            turn["calls"].append(record)
            completion = read_completion(message, first_id=len(history))
            if not completion.calls:
                return self._close(turn, completion)
            if len(turn["events"]) + len(completion.calls) > self.config.max_tool_calls:
                turn["notes"].append("tool_limit")
                turn["reply"] = APOLOGY
                history.append(AIMessage(APOLOGY))
                return turn
            history.append(completion.message)
            for call in completion.calls:
                await self._answer(call, turn)

    def _human(self, user_text: str, news: str) -> str:
        text = user_text.lower() if self.config.style == "compact" else user_text
        return f"{text}\n{news}" if news else text

    async def _answer(self, call: Call, turn: ExpertTurn) -> None:
        state = turn["state"]
        if self.config.placeholders:
            call = replace(call, arguments=fill_arguments(call.arguments, state["facts"]))
        answer = await run_call(call, self._tools, self.config.style)
        state["history"].append(answer)
        if answer.artifact is not None:
            state["facts"] = state["facts"].after(call.arguments, answer.artifact)
        turn["events"].append(
            ToolEvent(
                node=self.domain,
                call_id=call.id,
                name=call.name,
                arguments=call.arguments,
                content=answer.text,
                artifact=answer.artifact,
            )
        )

    def _close(self, turn: ExpertTurn, completion: Completion) -> ExpertTurn:
        if not completion.text:
            turn["notes"].append("empty_reply")
            turn["reply"] = NOTHING_TO_SAY
            turn["state"]["history"].append(AIMessage(NOTHING_TO_SAY))
            return turn
        turn["state"]["history"].append(completion.message)
        turn["reply"] = completion.text
        if self.config.placeholders:
            text, unfilled = fill(completion.text, turn["state"]["facts"])
            turn["notes"] += [f"unfilled:{slot}" for slot in unfilled]
            turn["reply"] = text or NOTHING_TO_SAY
        return turn


def bind_tools(model: ChatModel, tools: list[BaseTool]) -> ChatModel:
    """The model with its tools; a model that has no notion of tools is used as it is."""
    bind = getattr(model, "bind_tools", None)
    if bind is None:
        return model
    try:
        return bind(tools)
    except NotImplementedError:
        return model
