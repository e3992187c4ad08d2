"""The agent: a router and two experts in one LangGraph state graph.

START -> router -> hotel and/or restaurant, in the order the router named them -> END. Each expert runs at most once
per user turn, so nothing can ping-pong. The graph is compiled for one dialogue (about 0.5 ms) around the model and
the tools it is given; it creates neither.
"""

import operator
import re
from dataclasses import dataclass
from typing import Annotated, Protocol, TypedDict

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from agents.config import AgentConfig, system_prompt
from agents.expert import ChatModel, Expert, ExpertState, ask_model, new_expert_state
from agents.tool_calls import visible_text
from agents.turns import ModelCall, Node, ToolEvent, Turn
from tools.results import Domain

DOMAINS: tuple[Domain, ...] = ("hotel", "restaurant")
_DOMAIN_WORD = re.compile(r"hotel|restaurant")


class Tools(Protocol):
    """What the graph needs of ``tools.toolbox.Toolbox``."""

    def for_domain(self, domain: Domain) -> list[BaseTool]: ...


class DialogueState(TypedDict):
    """The graph's state. The first four outlive a turn, the rest is the record of one."""

    active: Domain | None
    hotel: ExpertState
    restaurant: ExpertState
    user_text: str
    pending: list[Domain]
    route: Annotated[list[Node], operator.add]
    replies: Annotated[list[str], operator.add]
    events: Annotated[list[ToolEvent], operator.add]
    calls: Annotated[list[ModelCall], operator.add]
    notes: Annotated[list[str], operator.add]


@dataclass
class Agent:
    """One dialogue with the assistant."""

    graph: CompiledStateGraph
    active: Domain | None
    experts: dict[Domain, ExpertState]

    async def respond(self, user_text: str) -> Turn:
        """Answer one user turn. A dead endpoint or a bug raises, and leaves the dialogue as it was."""
        start: DialogueState = {
            "active": self.active,
            "hotel": self.experts["hotel"],
            "restaurant": self.experts["restaurant"],
            "user_text": user_text,
            "pending": [],
            "route": [],
            "replies": [],
            "events": [],
            "calls": [],
            "notes": [],
        }
        end = await self.graph.ainvoke(start)
        self.active = end["active"]
        self.experts = {domain: end[domain] for domain in DOMAINS}
        return Turn(
            text=" ".join(end["replies"]),
            route=end["route"],
            tool_events=end["events"],
            model_calls=end["calls"],
            notes=end["notes"],
        )


def build_graph(model: ChatModel, toolbox: Tools, config: AgentConfig) -> Agent:
    """An agent for one dialogue. The model may be any chat model; without ``bind_tools`` it is used as it is."""
    graph = StateGraph(DialogueState)
    graph.add_node("router", _router_node(model, config), destinations=DOMAINS)
    for domain in DOMAINS:
        tools = {tool.name: tool for tool in toolbox.for_domain(domain)}
        expert = Expert(domain, model, tools, config)
        graph.add_node(domain, _expert_node(expert), destinations=(*DOMAINS, END))
    graph.add_edge(START, "router")
    return Agent(graph.compile(), active=None, experts={domain: new_expert_state(domain) for domain in DOMAINS})


def _router_node(model: ChatModel, config: AgentConfig):
    system = SystemMessage(system_prompt(config, "router"))

    async def route(state: DialogueState) -> Command:
        human = HumanMessage(router_text(config, state["active"], state["user_text"]))
        message, call = await ask_model(model, [system, human], "router")
        named = read_route(visible_text(message))
        fallback: list[Domain] = [state["active"] or "hotel"]
        first, *later = named or fallback
        return Command(goto=first, update={"pending": later, "calls": [call], "notes": [] if named else ["unrouted"]})

    return route


def _expert_node(expert: Expert):
    domain = expert.domain
    other: Domain = "restaurant" if domain == "hotel" else "hotel"

    async def respond(state: DialogueState) -> Command:
        turn = await expert.respond(state["user_text"], state[domain], state[other]["facts"].shared())
        update = {
            domain: turn["state"],
            "active": domain,
            "pending": state["pending"][1:],
            "route": [domain],
            "replies": [turn["reply"]],
            "events": turn["events"],
            "calls": turn["calls"],
            "notes": turn["notes"],
        }
        return Command(goto=next(iter(state["pending"]), END), update=update)

    return respond


def router_text(config: AgentConfig, active: Domain | None, user_text: str) -> str:
    """What the router reads: who is being talked to, and what the user said."""
    if config.style == "compact":
        return f"{active or 'none'} | {user_text.lower()}"
    return f"Active expert: {active or 'none'}\nUser: {user_text}"


def read_route(answer: str) -> list[Domain]:
    """The experts an answer names, each once, in its order; empty when the answer is no route."""
    words = re.findall(r"[a-z]+", answer.lower())
    if not words or len(words) > 4:
        return []
    named = [word for word in words if _DOMAIN_WORD.fullmatch(word)]
    return list(dict.fromkeys(domain for word in named for domain in DOMAINS if domain == word))
