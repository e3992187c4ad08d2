"""The reward of casework: fourteen named signals, a pure function of what was needed and what happened.

What earns can be had once: each needed call carries an equal share of three signals, the rest is paid when the case is
closed rightly. What costs has no limit. So no sequence of actions earns more than the shortest one that resolves the
case, which is worth ``BEST`` whatever its length. ``docs/casework.md`` has the table; one definition serves the
teacher, the filter of SFT data, GRPO and evaluation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from environments.casework.actions import Action
from environments.casework.shapes import Need
from tools.support.results import FAULTS, Answer, Operation

Signal = Literal[
    "right_tool",
    "information_found",
    "correct_order",
    "policy_respected",
    "right_terminal",
    "resolution",
    "efficiency",
    "valid_format",
    "repeated_call",
    "irrelevant_tool",
    "premature_resolution",
    "wrong_routing",
    "needless_escalation",
    "policy_breach",
]
SIGNALS: Final[tuple[Signal, ...]] = get_args(Signal)

Signals = Mapping[Signal, float]
"""What one step earned and cost; a signal that did not occur is absent."""

EARNED: Final[Mapping[Signal, float]] = {
    "right_tool": 3.0,
    "information_found": 3.0,
    "correct_order": 2.0,
    "policy_respected": 2.0,
    "right_terminal": 2.0,
    "resolution": 6.0,
    "efficiency": 1.5,
    "valid_format": 0.5,
}
"""The most that a case pays of each; the first three are shared equally by the needed calls."""

COSTS: Final[Mapping[Signal, float]] = {
    "repeated_call": -1.0,
    "irrelevant_tool": -1.0,
    "premature_resolution": -4.0,
    "wrong_routing": -4.0,
    "needless_escalation": -4.0,
    "policy_breach": -3.0,
}
"""What each occurrence costs."""

WASTED_STEP: Final = -0.5
"""Of ``efficiency``: a step that the shortest sequence does not have."""
HINT: Final = -1.5
"""Of ``efficiency``: what a hint costs beside the step."""
FORMAT_FAULT: Final = -1.0
"""Of ``valid_format``: an output that names no action."""

BEST: Final = sum(EARNED.values())
"""What the shortest resolving sequence earns."""
SFT_MINIMUM: Final = 5.0
"""Only trajectories worth at least this are learned from; no case that ended unresolved reaches it."""


@dataclass(frozen=True, slots=True)
class Event:
    """What one step came to."""

    action: Action | None
    """``None``: the output could not be read."""
    answer: Answer | None = None
    """The service's, when one was invoked."""
    operation: Operation | None = None
    """What the service was asked."""
    consistent: bool = False
    """For a terminal action: whether the database is in the state that the case calls for."""


_TOO_EARLY: Final[Mapping[Action, Signal]] = {
    Action.RESOLVE_QUERY: "premature_resolution",
    Action.ESCALATE_TO_HUMAN_AGENT: "needless_escalation",
}


class Ledger:
    """Scores one case, step by step; what it returns depends on the events alone."""

    def __init__(self, needs: Sequence[Need], terminal: Action) -> None:
        self._share = 1 / len(needs)
        self._terminal = terminal
        self._open = {need.operation: need for need in needs}
        self._needed = frozenset(self._open)
        self._chosen: set[Operation] = set()
        self._tried_early: set[Operation] = set()
        self.breaches = 0
        self.format_faults = 0
        self.resolved = False

    @property
    def complete(self) -> bool:
        """Whether every needed call has brought what it had to."""
        return not self._open

    def score(self, event: Event) -> dict[Signal, float]:
        """The signals of the next step."""
        if event.action is None:
            self.format_faults += 1
            return {"valid_format": FORMAT_FAULT, "efficiency": WASTED_STEP}
        if event.action is Action.CONSULT_LLM:
            return {"efficiency": WASTED_STEP + HINT}
        if event.answer is None or event.operation is None:
            return self._close(event.action, event.consistent)
        return self._call(event.operation, event.answer)

    def _call(self, operation: Operation, answer: Answer) -> dict[Signal, float]:
        signals: dict[Signal, float] = {}
        need = self._open.get(operation)
        if need is not None and operation not in self._chosen:
            self._chosen.add(operation)
            signals["right_tool"] = EARNED["right_tool"] * self._share
        if answer.outcome in FAULTS:
            if need is None:
                signals |= {"irrelevant_tool": COSTS["irrelevant_tool"], "efficiency": WASTED_STEP}
            return signals
        if need is not None and need.fact in answer.facts:
            del self._open[operation]
            signals["information_found"] = EARNED["information_found"] * self._share
            if operation not in self._tried_early:
                signals["correct_order"] = EARNED["correct_order"] * self._share
            return signals
        signals["efficiency"] = WASTED_STEP
        if answer.breach:
            self.breaches += 1
            signals["policy_breach"] = COSTS["policy_breach"]
        elif need is None:
            again = operation in self._needed or operation in self._chosen
            cost: Signal = "repeated_call" if again else "irrelevant_tool"
            signals[cost] = COSTS[cost]
        if need is not None:
            self._tried_early.add(operation)
        self._chosen.add(operation)
        return signals

    def _close(self, action: Action, consistent: bool) -> dict[Signal, float]:
        if action is not self._terminal or not self.complete:
            cost = _TOO_EARLY.get(action, "wrong_routing")
            return {cost: COSTS[cost]}
        signals: dict[Signal, float] = {"right_terminal": EARNED["right_terminal"]}
        if not consistent:
            return signals
        self.resolved = True
        signals["resolution"] = EARNED["resolution"]
        signals["efficiency"] = EARNED["efficiency"]
        if not self.breaches:
            signals["policy_respected"] = EARNED["policy_respected"]
        if not self.format_faults:
            signals["valid_format"] = EARNED["valid_format"]
        return signals


def score_events(needs: Sequence[Need], terminal: Action, events: Sequence[Event]) -> list[dict[Signal, float]]:
    """The signals of each step of a case that needs ``needs`` and is closed by ``terminal``."""
    ledger = Ledger(needs, terminal)
    return [ledger.score(event) for event in events]
