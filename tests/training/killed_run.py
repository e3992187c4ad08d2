"""A GRPO run that kills itself in a given phase: ``python -m tests.training.killed_run PHASE BASE ROOT``."""

import asyncio
import os
import signal
import sys
import threading
import time
from pathlib import Path

import torch

from db.world import WorldFactory
from simulation.goals import sample_goals
from tests.training.policies import registered
from tests.training.users import CONFIG, ImpatientUser
from training.grpo import GrpoTask, train_grpo
from training.manifest import checkpoint_dir

PHASES = ("sampling", "training", "checkpointing", "logging")


def die() -> None:
    """As a power cut would have it."""
    os.kill(os.getpid(), signal.SIGKILL)


async def main(phase: str, base: Path, root: Path) -> None:
    """Run until the second step's ``phase``, then die."""
    torch.set_num_threads(1)  # as the run it is compared with: the last bits depend on how many threads add up
    sampled = threading.Event()

    async with registered(base, root) as (backend, model, service):
        draft = checkpoint_dir(service.output_dir, 2).with_name(".0002.draft")

        def on_episode(step: int, _: object) -> None:
            if step == 1:
                sampled.set()
                if phase == "sampling":
                    die()

        def on_step(step: int, _: object) -> None:
            if step == 2 and phase == "logging":
                die()

        def watch() -> None:
            sampled.wait()
            if phase == "checkpointing":
                while not draft.exists():
                    time.sleep(0.0001)
                die()

        update = service.optimizer.step

        def update_and_die(learning_rate: float) -> None:
            update(learning_rate)
            if sampled.is_set():
                die()

        if phase == "training":
            service.optimizer.step = update_and_die
        threading.Thread(target=watch, daemon=True).start()
        goals = sample_goals("train", 6, seed=0)
        task = GrpoTask(goals, ImpatientUser, WorldFactory())
        await train_grpo(CONFIG, backend, model, task, on_step=on_step, on_episode=on_episode, progress=False)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
