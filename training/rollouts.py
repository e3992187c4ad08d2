"""One dialogue of the policy being trained: played, scored, and turned into an ART trajectory.

Owns what a rollout is worth to the trainer: its reward (``evaluation.rewards``), its metrics, and whether it may be
trained on at all. A rollout that infrastructure broke, or whose trace could not be proved, is no sample of the policy.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import art

from agents.config import AgentConfig
from db.world import WorldFactory
from evaluation.grounded import grounded
from evaluation.rewards import reward
from simulation.episode import play_episode
from simulation.faults import fault_of
from simulation.records import Episode, Goal
from simulation.users import User
from training.capture import CaptureTarget, RecordedChatModel, capture
from training.policy_model import ChatSettings

MakeUser = Callable[[Goal, int], User]
"""A fresh user for a goal and a seed."""


@dataclass(frozen=True)
class RolloutPlan:
    """One rollout: siblings of a group have the same goal and user, and differ in what the policy samples."""

    goal: Goal
    repeat: int
    user_seed: int
    policy_seed: int


@dataclass(frozen=True)
class Rollout:
    """A played rollout."""

    plan: RolloutPlan
    episode: Episode
    trajectory: art.Trajectory
    """With reward and metrics. The calls made so far where the episode broke off."""
    usable: bool
    """Whether it may be trained on; ``episode.fault`` says why not."""


@dataclass(frozen=True)
class RolloutSettings:
    """What rollouts of one run share."""

    agent: AgentConfig
    chat: ChatSettings
    max_exchanges: int = 20


class _CapturedPolicy:
    """The policy of one episode: the recorded chat model of its own capture."""

    def __init__(self, name: str, config: AgentConfig, chat_model: RecordedChatModel) -> None:
        self.name = name
        self.config = config
        self._chat_model = chat_model

    def chat_model(self, seed: int) -> RecordedChatModel:
        """The recorded model, seeded already."""
        return self._chat_model


async def rollout(
    target: CaptureTarget, plan: RolloutPlan, settings: RolloutSettings, make_user: MakeUser, worlds: WorldFactory
) -> Rollout:
    """Play ``plan`` once. Whatever breaks is told by the result; only cancellation raises."""

    async def play(chat_model: RecordedChatModel) -> Episode:
        policy = _CapturedPolicy(target.model.name, settings.agent, chat_model)
        user = make_user(plan.goal, plan.user_seed)
        return await play_episode(
            plan.goal, policy, user, worlds, plan.user_seed, settings.max_exchanges, repeat=plan.repeat
        )

    captured = await capture(target, replace(settings.chat, seed=plan.policy_seed), play)
    episode = captured.value
    if episode is None:
        assert captured.error is not None
        fault = fault_of(captured.error, "infrastructure")
        episode = _empty_episode(target.model.name, plan).model_copy(update={"fault": fault})
    elif captured.error is not None:
        fault = fault_of(captured.error, "infrastructure")
        episode = episode.model_copy(update={"fault": fault, "ended": "fault"})
    score = grounded(episode)
    parts = reward(episode, score)
    trajectory = captured.trajectory
    trajectory.reward = parts.total if parts is not None else 0.0
    trajectory.metrics = _metrics(episode, score.success)
    trajectory.metadata = {"scenario_id": plan.goal.id, "episode": episode.id}
    return Rollout(plan, episode, trajectory, usable=parts is not None and bool(captured.calls))


def _metrics(episode: Episode, success: bool) -> dict[str, float | int | bool]:
    turns = [exchange.turn for exchange in episode.exchanges if exchange.turn is not None]
    events = [event for turn in turns for event in turn.tool_events]
    calls = [call for turn in turns for call in turn.model_calls]
    return {
        "success": float(success),
        "exchanges": float(len(episode.exchanges)),
        "llm_calls": float(len(calls)),
        "completion_tokens": float(sum(call.completion_tokens for call in calls)),
        "tool_calls": float(len(events)),
        "tool_errors": float(sum(event.artifact is None for event in events)),
        "user_ended": float(episode.ended == "user"),
    }


def _empty_episode(policy: str, plan: RolloutPlan) -> Episode:
    return Episode(
        id=f"{plan.goal.id}#{plan.repeat}",
        goal=plan.goal,
        seed=plan.user_seed,
        policy=policy,
        user="",
        exchanges=[],
        bookings=[],
        ended="fault",
    )
