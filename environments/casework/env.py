"""``CaseworkEnv``: casework as a Gymnasium environment, for learners that read vectors.

Observation: ``SIZE`` numbers between 0 and 1, in the blocks of ``BLOCKS``. The vector says what a reader of the text
would understand (the category and what is asked, as the form on a help page would), the facts revealed so far, how the
last call of each service came out, the last action, a hint if one was taken, and how much of the time is used. It does
not say which shape the case has. Action: an id of ``actions.Action``.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from db.support_world import SupportWorld, SupportWorlds
from environments.casework.actions import MAX_STEPS, Action
from environments.casework.casefile import Casefile
from environments.casework.cases import Case
from environments.casework.requests import CATEGORIES, REQUESTS
from tools.support.desk import SERVICES
from tools.support.results import FAULTS, Fact, Service

Vector = NDArray[np.float32]

_SERVICES: Final[tuple[Service, ...]] = tuple(dict.fromkeys(service for service, _ in SERVICES.values()))

BLOCKS: Final[dict[str, int]] = {
    "category": len(CATEGORIES),
    "request": len(REQUESTS),
    "order number known": 1,
    "facts": len(Fact),
    "service done": len(_SERVICES),
    "service refused": len(_SERVICES),
    "service at fault": len(_SERVICES),
    "last action": len(Action),
    "hint": len(Action),
    "time used": 1,
}
"""Name -> width, in order. All but the last are 0 or 1."""

SIZE: Final = sum(BLOCKS.values())

_START: Final[dict[str, int]] = {name: sum(list(BLOCKS.values())[:number]) for number, name in enumerate(BLOCKS)}
_CATEGORY: Final = {name: _START["category"] + number for number, name in enumerate(CATEGORIES)}
_REQUEST: Final = {name: _START["request"] + number for number, name in enumerate(REQUESTS)}
_FACT: Final = {fact: _START["facts"] + number for number, fact in enumerate(Fact)}
_OUTCOME: Final = {
    (service, outcome): _START[block] + number
    for number, service in enumerate(_SERVICES)
    for block, outcomes in (
        ("service done", ("done",)),
        ("service refused", ("refused",)),
        ("service at fault", FAULTS),
    )
    for outcome in outcomes
}


def observe(casefile: Casefile) -> Vector:
    """The observation of a case in progress."""
    vector = np.zeros(SIZE, dtype=np.float32)
    on = [_CATEGORY[casefile.case.category], _REQUEST[casefile.case.request]]
    on += [_FACT[fact] for fact in casefile.facts]
    on += [_OUTCOME[each] for each in casefile.outcomes.items()]
    if casefile.order_known:
        on.append(_START["order number known"])
    if casefile.steps and (last := casefile.steps[-1].action) is not None:
        on.append(_START["last action"] + last)
    if casefile.hint is not None:
        on.append(_START["hint"] + casefile.hint)
    vector[on] = 1.0
    vector[-1] = len(casefile.steps) / MAX_STEPS
    return vector


class CaseworkEnv(gymnasium.Env[Vector, np.int64]):
    """One case per episode, each in a private world. An episode that ran out of steps is truncated."""

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - Gymnasium reads this class attribute

    def __init__(
        self, worlds: SupportWorlds, cases: Sequence[Case] | Callable[[int], Case], render_mode: str | None = None
    ) -> None:
        """
        :param cases: played in random order, or a maker of cases from an episode's seed (31 bits).
        """
        self.observation_space = spaces.Box(0.0, 1.0, (SIZE,), np.float32)
        self.action_space = spaces.Discrete(len(Action))
        self.render_mode = render_mode
        self._worlds = worlds
        self._cases = cases
        self._world: SupportWorld | None = None
        self.casefile: Casefile | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Vector, dict[str, Any]]:
        """Begin the case in ``options["case"]``, else one that the seed decides."""
        super().reset(seed=seed)
        case = (options or {}).get("case")
        if case is None:
            drawn = int(self.np_random.integers(2**31))
            case = self._cases(drawn) if callable(self._cases) else self._cases[drawn % len(self._cases)]
        self.close()
        self._world = self._worlds.open()
        self.casefile = Casefile(case, self._world)
        return observe(self.casefile), {"case": case.id, "category": case.category}

    def step(self, action: np.int64) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Take one action; ``info`` has the signals, and at the end whether the case was resolved."""
        casefile = self.casefile
        if casefile is None or casefile.over:
            raise gymnasium.error.ResetNeeded("the case is over: call reset() before step()")
        step = casefile.act(Action(int(action)))
        info: dict[str, Any] = {"signals": step.signals}
        if casefile.over:
            info |= {"resolved": casefile.resolved, "breaches": casefile.breaches}
        return observe(casefile), step.reward, casefile.closed, casefile.out_of_steps, info

    def render(self) -> str:
        """The case so far, in words."""
        if self.casefile is None:
            return ""
        lines = [self.casefile.case.text]
        for step in self.casefile.steps:
            lines.append(f"{step.action.label if step.action is not None else '?'}: {step.text} ({step.reward:+.2f})")
        return "\n".join(lines)

    def close(self) -> None:
        """Forget the case in progress."""
        if self._world is not None:
            self._world.close()
            self._world = None
