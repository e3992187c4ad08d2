"""Play one case with one policy in a private world: the only place where an error becomes part of the record."""

import time

from db.support_world import SupportWorlds
from environments.casework.casefile import Casefile, Step
from environments.casework.cases import Case
from environments.casework.policies import Move, Player, Policy, View
from environments.casework.records import CaseEpisode, StepRecord
from environments.casework.text import act_on
from simulation.faults import fault_of
from simulation.records import Fault


async def play_case(case: Case, policy: Policy, worlds: SupportWorlds, seed: int, repeat: int = 0) -> CaseEpisode:
    """The case as ``policy`` plays it. Raises nothing: what broke is on the episode, with whose doing it was."""
    started = time.perf_counter()
    fault: Fault | None = None
    moves: list[Move] = []
    with worlds.open() as world:
        casefile = Casefile(case, world)
        try:
            await _play(casefile, policy.player(casefile, seed), moves)
        except Exception as error:
            fault = fault_of(error, "agent")
        return CaseEpisode(
            id=f"{case.id}#{repeat}",
            case=case,
            seed=seed,
            policy=policy.name,
            steps=[_record(step, move) for step, move in zip(casefile.steps, moves, strict=False)],
            reward=casefile.reward,
            resolved=casefile.resolved,
            ended="fault" if fault else "closed" if casefile.closed else "limit",
            fault=fault,
            wall_s=time.perf_counter() - started,
        )


async def _play(casefile: Casefile, player: Player, moves: list[Move]) -> None:
    view = View(casefile)
    while not casefile.over:
        move = await player.decide(view)
        moves.append(move)
        if isinstance(move.choice, str):
            act_on(casefile, move.choice)
            view.outputs.append(move.choice)
        else:
            casefile.act(move.choice)


def _record(step: Step, move: Move) -> StepRecord:
    return StepRecord(
        action=step.action,
        output=move.choice if isinstance(move.choice, str) else None,
        operation=step.operation,
        outcome=step.outcome,
        text=step.text,
        signals=step.signals,
        breach=step.breach,
        prompt_tokens=move.prompt_tokens,
        completion_tokens=move.completion_tokens,
        latency_s=move.latency_s,
    )
