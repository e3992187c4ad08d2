"""Users for training tests, whose dialogues end sooner or later depending on what the policy says."""

from simulation.records import Goal
from simulation.users import AgentTurn, UserTurn
from training.grpo import GrpoConfig

CONFIG = GrpoConfig(steps=2, goals_per_step=2, group_size=4, max_tokens=8, max_exchanges=4, temperature=1.5, seed=3)


class ImpatientUser:
    """Says goodbye once the agent has said something of an even number of words."""

    name = "impatient"

    def __init__(self, goal: Goal, seed: int) -> None:
        self._goal = goal

    async def open(self) -> UserTurn:
        return UserTurn("i want a cheap hotel in the north .", (), False)

    async def reply(self, agent: AgentTurn) -> UserTurn:
        return UserTurn("the south then .", (), len(agent.text.split()) % 2 == 0)


class BrokenUser(ImpatientUser):
    """Cannot reach its language model."""

    async def open(self) -> UserTurn:
        raise ConnectionError("no route to the user")
