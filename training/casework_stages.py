"""Casework's stages: what the teacher is told, and where it puts what it makes.

``runs/RUN/sac`` holds the teacher, beside the stages that both tasks share. Light on purpose: ``--help`` and bad input
must not wait for torch.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import JsonValue

from db.errors import InputError
from training.locations import stage_folder


def sac_folder(run: str) -> Path:
    """``runs/RUN/sac``.

    :raises InputError: ``run`` is no plain folder name.
    """
    return stage_folder(run, "collect").with_name("sac")


@dataclass(frozen=True)
class SacConfig:
    """How the teacher is trained."""

    run: str
    """Name of the run."""
    seed: int = 0
    """Decides the cases, the initial weights and what is explored."""
    episodes: int = 3000
    """Cases to learn from."""
    random_steps: int = 640
    """At the start, in which any action is taken."""
    hidden: tuple[int, ...] = (256, 256)
    """Widths of the actor's and the critics' layers."""
    batch: int = 256
    """Steps in one update."""
    updates_per_step: float = 1.0
    """Updates for each step taken."""
    learning_rate: float = 5e-4
    gamma: float = 0.95
    """Discount: cases are short, and a step too many should matter."""
    target_share: float = 0.01
    """Of the critics in their slow copies, per update."""
    first_entropy: float = 0.4
    """The entropy that is aimed at in the beginning, as a share of the largest possible: ends of cases that nobody has
    tried stay unknown otherwise."""
    last_entropy: float = 0.02
    """The same from ``settled_after`` on: a clerk is sure of nearly every step."""
    settled_after: float = 0.8
    """The share of the episodes in which the aim falls."""
    reward_scale: float = 0.2
    """Rewards are multiplied by it, so that values are about 1."""
    check_every: int = 250
    """Episodes between two points of the learning curve."""
    check_cases: int = 200
    """Training cases that are played greedily for one point."""

    def check(self) -> None:
        """:raises InputError: what can be known before anything is loaded is wrong."""
        if self.episodes < 1 or self.check_every < 1 or self.check_cases < 1:
            raise InputError(f"--sac-episodes {self.episodes} trains nothing: give 1 or more")

    @property
    def folder(self) -> Path:
        return sac_folder(self.run)

    def identity(self) -> dict[str, JsonValue]:
        """What has to agree for two starts to be the same training, beside the seed."""
        same: dict[str, JsonValue] = dict(asdict(self))
        del same["run"], same["seed"]
        same["hidden"] = list(self.hidden)
        return same

    def entropy_aim(self, episodes: int) -> float:
        """The share of the largest entropy that is aimed at after ``episodes``."""
        left = max(1 - episodes / (self.settled_after * self.episodes), 0.0)
        return self.last_entropy + (self.first_entropy - self.last_entropy) * left
