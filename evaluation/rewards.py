"""The reward of an episode, one definition for the SFT filter, GRPO and evaluation.

Pure: the same episode has the same reward, in any process, for ever. Promises that no short failure beats a long
success: the worst success is worth 60, the best failure -41.
"""

from pydantic import BaseModel, ConfigDict

from evaluation.grounded import GroundedScore, grounded
from simulation.records import Episode

EXCHANGE = -1.0
SUCCESS = 80.0
FAILURE = -40.0
"""ConvLab 3.0.1, ``evaluator/multiwoz_eval.py``, ``MultiWozEvaluator.get_reward``: -1 for every turn of the system
before the end, +80 for a successful dialogue, -40 for a failed one, at most 40 turns (20 exchanges)."""


class RewardParts(BaseModel):
    """The parts of a reward, by name."""

    model_config = ConfigDict(frozen=True)

    exchanges: float
    success: float
    failure: float

    @property
    def total(self) -> float:
        """Their sum."""
        return self.exchanges + self.success + self.failure


def reward(episode: Episode, score: GroundedScore | None = None) -> RewardParts | None:
    """The reward; ``None`` for an episode that infrastructure or the user simulator broke, which is no fair sample.

    :param score: the episode's grounded score where it is known already.
    """
    if episode.fault is not None and episode.fault.who != "agent":
        return None
    success = (score or grounded(episode)).success
    return RewardParts(
        exchanges=EXCHANGE * len(episode.exchanges),
        success=SUCCESS if success else 0.0,
        failure=0.0 if success else FAILURE,
    )
