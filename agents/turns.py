"""The record of one user turn as the graph played it: who was asked, what was called, what was said."""

from typing import Literal

from pydantic import BaseModel

from tools.results import ToolArtifact

Node = Literal["router", "hotel", "restaurant"]


class ToolEvent(BaseModel):
    """One tool call the model made, well formed or not, and its answer."""

    node: Node
    call_id: str
    name: str
    """The tool's name as the model wrote it; empty when it wrote none."""
    arguments: dict[str, object]
    content: str
    """What the model was told."""
    artifact: ToolArtifact | None = None
    """``None`` when the call was malformed or named no tool, so nothing ran."""


class ModelCall(BaseModel):
    """One completion: tokens as the server counted them (0 where it does not say) and wall time."""

    node: Node
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_s: float = 0.0


class Turn(BaseModel):
    """One user turn. ``text`` is what the user sees."""

    text: str
    route: list[Node]
    """The experts that answered, in order."""
    tool_events: list[ToolEvent]
    model_calls: list[ModelCall]
    notes: list[str] = []
    """Agent-side irregularities: ``unrouted``, ``tool_limit``, ``empty_reply``, ``unfilled:{slot}``."""
