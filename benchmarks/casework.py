"""How fast casework steps, and what its parts cost: ``uv run python -m benchmarks.casework``.

In one run, one process: a bare Gymnasium toy environment with the same spaces and no content, the vector form under
random and gold actions, the text form's chat under gold actions, and the service calls of the gold sequences alone
(databases, no reward, no observation). On a busy machine, compare the numbers per CPU second.
"""

import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import gymnasium
import numpy as np
import tyro
from gymnasium import spaces
from rich.console import Console
from rich.table import Table

from db.support_world import SupportWorlds
from environments.casework.actions import SERVICE_OF, Action
from environments.casework.casefile import Casefile
from environments.casework.cases import Case, CaseSource
from environments.casework.env import SIZE, CaseworkEnv, Vector
from environments.casework.requests import next_operation
from environments.casework.situations import read_shop
from environments.casework.text import act_on, chat, write_output
from tools.support.desk import Desk
from tools.support.results import FAULTS, Fact, Operation, Service


@dataclass(frozen=True)
class BenchmarkConfig:
    """What to measure."""

    cases: int = 2000
    """Cases played under each row."""
    repeats: int = 3
    """The best of so many is reported."""
    seed: int = 7
    """Decides the cases and the random actions."""


@dataclass(frozen=True)
class Speed:
    """What one measurement took."""

    steps: int
    wall_s: float
    cpu_s: float


class ToyEnv(gymnasium.Env[Vector, np.int64]):
    """The same spaces and lengths, and nothing behind them: what Gymnasium itself takes."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (SIZE,), np.float32)
        self.action_space = spaces.Discrete(len(Action))
        self._left = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Vector, dict[str, Any]]:
        super().reset(seed=seed)
        self._left = 3
        return np.zeros(SIZE, dtype=np.float32), {}

    def step(self, action: np.int64) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        self._left -= 1
        return np.zeros(SIZE, dtype=np.float32), 0.0, self._left == 0, False, {}


def play_toy(cases: list[Case], seed: int) -> int:
    """Three steps per case."""
    env, steps = ToyEnv(), 0
    for _ in cases:
        env.reset()
        over = False
        while not over:
            *_, over, _, _ = env.step(np.int64(0))
            steps += 1
    return steps


def play_random(cases: list[Case], seed: int, worlds: SupportWorlds) -> int:
    """Any actions."""
    env, rng, steps = CaseworkEnv(worlds, cases), random.Random(seed), 0
    for case in cases:
        env.reset(options={"case": case})
        over = False
        while not over:
            _, _, terminated, truncated, _ = env.step(np.int64(rng.randrange(len(Action))))
            over = terminated or truncated
            steps += 1
    env.close()
    return steps


def play_gold(cases: list[Case], seed: int, worlds: SupportWorlds) -> int:
    """The gold sequences, which call a service at nearly every step."""
    env, steps = CaseworkEnv(worlds, cases), 0
    for case in cases:
        env.reset(options={"case": case})
        for action in case.gold_actions():
            env.step(np.int64(action))
            steps += 1
    env.close()
    return steps


def play_text(cases: list[Case], seed: int, worlds: SupportWorlds) -> int:
    """The gold sequences written and read as text, with the chat that a model would be given."""
    steps = 0
    for case in cases:
        with worlds.open() as world:
            casefile, outputs = Casefile(case, world), list[str]()
            for action in case.gold_actions():
                chat(case.text, casefile.steps, outputs)
                outputs.append(write_output(action, "next"))
                act_on(casefile, outputs[-1])
                steps += 1
    return steps


def call_services(cases: list[Case], seed: int, worlds: SupportWorlds) -> int:
    """The operations of the gold sequences, in worlds of their own; closing a case calls none."""
    steps = 0
    for case in cases:
        with worlds.open() as world:
            steps += _call(case, Desk(world.sessions, case.faults))
    return steps


def _call(case: Case, desk: Desk) -> int:
    inquiry, settled, facts = case.inquiry(), set[Operation](), set[Fact]()
    services: list[Service] = [SERVICE_OF[action] for action in case.gold_actions()[:-1]]
    for service in services:
        operation = next_operation(case.request, service, settled, facts)
        answer = desk.call(operation, inquiry)
        if answer.outcome not in FAULTS:
            settled.add(operation)
            facts.update(answer.facts)
    return len(services)


def measure(play: Callable[[], int], repeats: int) -> Speed:
    """The fastest of ``repeats`` by processor time."""
    speeds: list[Speed] = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        steps = play()
        speeds.append(Speed(steps, time.perf_counter() - wall, time.process_time() - cpu))
    return min(speeds, key=lambda speed: speed.cpu_s / speed.steps)


def rows(config: BenchmarkConfig) -> Iterable[tuple[str, Callable[[], int]]]:
    """What is measured, by name."""
    worlds = SupportWorlds()
    with worlds.open() as world:
        source = CaseSource(read_shop(world.sessions), "train")
    cases = list(islice(source.stream(config.seed, "b"), config.cases))
    yield "toy environment (Gymnasium alone)", lambda: play_toy(cases, config.seed)
    yield "service calls alone, gold", lambda: call_services(cases, config.seed, worlds)
    yield "vector form, gold actions", lambda: play_gold(cases, config.seed, worlds)
    yield "vector form, random actions", lambda: play_random(cases, config.seed, worlds)
    yield "text form, gold actions", lambda: play_text(cases, config.seed, worlds)


def main(config: BenchmarkConfig) -> None:
    table = Table("one process", "steps/s", "steps per CPU second")
    for name, play in rows(config):
        speed = measure(play, config.repeats)
        table.add_row(name, f"{speed.steps / speed.wall_s:,.0f}", f"{speed.steps / speed.cpu_s:,.0f}")
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(BenchmarkConfig))
