"""How fast dialogues are simulated, and where the time goes: ``uv run python -m benchmarks.simulation``.

Plays the scripted policy through the whole graph (agent, tools, database, simulated user, understanding) next to
ConvLab's own loop on dialogue acts, in the same run; then in two processes at once; then says which share of the time
each layer takes (a signal asks every millisecond of CPU time whose code is innermost). On a busy machine, compare the
numbers per CPU second.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

from benchmarks.shares import sampled
from evaluation.players import UserConfig, open_player
from evaluation.runner import plan_episodes, play_many
from simulation.act_level import HonestSystem, RuleBot, play_acts
from simulation.goals import sample_goals
from simulation.policies import ScriptedPolicy

ROOT = str(Path(__file__).parent.parent)
OWNERS = {
    "/site-packages/sqlalchemy/": "tools and database",
    f"{ROOT}/tools/": "tools and database",
    f"{ROOT}/db/": "tools and database",
    "/site-packages/rapidfuzz/": "tools and database",
    "/convlab/": "ConvLab",
    f"{ROOT}/simulation/": "user and understanding",
    f"{ROOT}/agents/scripted": "scripted model",
    f"{ROOT}/agents/reading": "scripted model",
    f"{ROOT}/agents/lexicon": "scripted model",
    f"{ROOT}/agents/": "agents",
    "/site-packages/langgraph/": "LangGraph",
    "/site-packages/langchain_core/": "LangChain",
    "/site-packages/langsmith/": "LangChain",
}
"""Part of a file's path -> layer; the innermost frame that matches owns the sample."""


@dataclass(frozen=True)
class BenchmarkConfig:
    """What to measure."""

    dialogues: int = 300
    """Dialogues a process plays."""
    concurrency: int = 32
    """Dialogues in progress at once."""
    seed: int = 7
    """Decides the goals."""
    processes: int = 2
    """How many processes the last measurement uses."""


@dataclass(frozen=True)
class Speed:
    """What one measurement took."""

    dialogues: int
    wall_s: float
    cpu_s: float

    @property
    def per_second(self) -> float:
        return self.dialogues / self.wall_s

    @property
    def per_cpu_second(self) -> float:
        return self.dialogues / self.cpu_s


@contextmanager
def timed(dialogues: int) -> Iterator[list[Speed]]:
    """Appends the block's `Speed` to the list it yields."""
    result: list[Speed] = []
    wall, cpu = time.perf_counter(), time.process_time()
    yield result
    result.append(Speed(dialogues, time.perf_counter() - wall, time.process_time() - cpu))


async def play_graph(config: BenchmarkConfig, meet: Callable[[], object] = lambda: None) -> Speed:
    """The scripted policy through the whole graph, warm; ``meet`` is called just before the clock starts."""
    goals = sample_goals("test", config.dialogues, config.seed)
    async with open_player(lambda: nullcontext(ScriptedPolicy()), UserConfig()) as play:
        await play_many(plan_episodes(goals[:20], config.seed + 1), play, progress=False)
        meet()
        with timed(len(goals)) as result:
            await play_many(plan_episodes(goals, config.seed), play, concurrency=config.concurrency, progress=False)
    return result[0]


def play_act_level(config: BenchmarkConfig, rule_bot: bool) -> Speed:
    """ConvLab's agenda user against a system of rules, on dialogue acts alone."""
    goals = sample_goals("test", config.dialogues, config.seed)
    play_acts(goals[0], RuleBot(0), 0)
    with timed(len(goals)) as result:
        for number, goal in enumerate(goals):
            play_acts(goal, RuleBot(number) if rule_bot else HonestSystem(), number)
    return result[0]


def _in_process(config: BenchmarkConfig, barrier: Barrier, speeds: "list[Speed]") -> None:
    speeds.append(asyncio.run(play_graph(config, barrier.wait)))


def play_in_parallel(config: BenchmarkConfig) -> list[Speed]:
    """The same in several processes that start their clocks together."""
    context = get_context("spawn")
    barrier = context.Barrier(config.processes)
    with context.Manager() as manager:
        speeds = manager.list()
        children = [
            context.Process(target=_in_process, args=(config, barrier, speeds)) for _ in range(config.processes)
        ]
        for child in children:
            child.start()
        for child in children:
            child.join()
        return list(speeds)


def main(config: BenchmarkConfig) -> None:
    console = Console()
    table = Table("what", "dialogues/s", "dialogues per CPU second")
    for name, rule_bot in (("ConvLab, act level, honest system", False), ("ConvLab, act level, its RuleBot", True)):
        speed = play_act_level(config, rule_bot)
        table.add_row(name, f"{speed.per_second:.1f}", f"{speed.per_cpu_second:.1f}")
    one = asyncio.run(play_graph(config))
    table.add_row("scripted policy, whole graph", f"{one.per_second:.1f}", f"{one.per_cpu_second:.1f}")
    many = play_in_parallel(config)
    together = sum(speed.per_second for speed in many)
    cpu = sum(speed.per_cpu_second for speed in many)
    table.add_row(f"the same in {len(many)} processes", f"{together:.1f}", f"{cpu:.1f}")
    console.print(table)
    clock, work = together / one.per_second, cpu / one.per_cpu_second
    console.print(f"{len(many)} processes: {clock:.2f} times one by the clock, {work:.2f} by CPU time")
    with sampled(OWNERS, "other") as counts:
        asyncio.run(play_graph(config))
    total = counts.total()
    shares = Table("layer", "share of the time")
    for layer, count in counts.most_common():
        shares.add_row(layer, f"{count / total:.0%}")
    console.print(shares)


if __name__ == "__main__":
    main(tyro.cli(BenchmarkConfig))
