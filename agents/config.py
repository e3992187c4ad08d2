"""How experts are prompted and how far they may go. Owns no behaviour."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from agents.turns import Node

Style = Literal["full", "compact"]
PROMPTS = Path(__file__).parent / "prompts"


@dataclass(frozen=True)
class AgentConfig:
    """One way of talking to the model; the same for the router and both experts."""

    style: Style
    """``full``: prompts and tool answers in English, for large models. ``compact``: as few tokens as will do."""
    placeholders: bool
    """The model writes ``{hotel.phone}`` and the expert node fills it in from the last tool result."""
    max_tool_calls: int = 4
    """Per expert and user turn; one more and the user gets an apology instead."""


COMPACT = AgentConfig(style="compact", placeholders=True)
FULL = AgentConfig(style="full", placeholders=False)


@lru_cache
def load_prompt(style: Style, name: str) -> str:
    """The text of one prompt file, without the newline at its end."""
    return (PROMPTS / style / f"{name}.md").read_text(encoding="utf-8").strip()


def system_prompt(config: AgentConfig, node: Node) -> str:
    """What the node's model reads first; large models are told about placeholders, small ones have learned them."""
    prompt = load_prompt(config.style, node)
    if config.placeholders and config.style == "full" and node != "router":
        prompt += "\n\n" + load_prompt("full", "placeholders").replace("DOMAIN", node)
    return prompt
