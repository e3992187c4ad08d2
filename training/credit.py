"""Who gets how much of a reward: advantages relative to the group, spread over the calls of each trajectory.

Group-relative advantages are ART's (``art.preprocessing.tokenize.tokenize_trajectory_groups``: reward minus the group's
mean, divided by its standard deviation; each trajectory weighs the same however long it is). What is added is the
choice of how a trajectory's advantage is spread over its calls, and that a call which the capture layer has tokenised
and proved already is not tokenised again.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import art
from art.preprocessing.tokenize import TokenizedResult, tokenize_trajectory
from art.trajectories import History
from pydantic import PrivateAttr
from transformers import PreTrainedTokenizerBase

from training.stages import Credit

TOOL_SCHEMA_FORMAT = "vllm_openai"
"""Defect 3 (``capture``): the order of a tool schema's fields in which servers render it."""

SMOOTHING = 1e-6
"""ART's, in both divisions."""


class ProvedTrajectory(art.Trajectory):
    """A trajectory whose histories the capture layer has tokenised and proved, one per call."""

    _results: list[TokenizedResult] = PrivateAttr(default_factory=list)
    _nodes: list[str] = PrivateAttr(default_factory=list)

    def prove(self, results: Sequence[TokenizedResult], nodes: Sequence[str]) -> None:
        """Keep what was proved: the tokens of each call, and the node that made it."""
        self._results, self._nodes = list(results), list(nodes)

    @property
    def results(self) -> list[TokenizedResult]:
        """The tokens of each call, in order; empty until proved."""
        return self._results

    @property
    def nodes(self) -> list[str]:
        """The node that made each call."""
        return self._nodes


@dataclass(frozen=True)
class CreditedCall:
    """One call as it is trained on."""

    result: TokenizedResult
    advantage: float
    weight: float
    """Of each sampled token."""


def credit_groups(
    groups: Iterable[art.TrajectoryGroup],
    tokenizer: PreTrainedTokenizerBase,
    *,
    credit: Credit = "outcome",
    scale_rewards: bool = True,
    spread_floor: float = SMOOTHING,
    allow_training_without_logprobs: bool = False,
) -> list[CreditedCall]:
    """The calls with something to learn from, trajectory by trajectory; a trajectory of advantage 0 has nothing.

    ``spread_floor``, in units of reward, is added to the standard deviation that ``scale_rewards`` divides by. ART's
    negligible one makes a group that differs by an exchange weigh as much as one that differs by success; a large one
    comes near to no division at all (Liu et al. 2025, "Dr. GRPO").
    """
    calls: list[CreditedCall] = []
    for group in groups:
        members = list(group)
        rewards = [member.reward for member in members]
        mean = statistics.fmean(rewards) if rewards else 0.0
        spread = math.sqrt(sum((reward - mean) ** 2 for reward in rewards) / len(rewards)) if rewards else 0.0
        scale = 1 / (spread + spread_floor) if scale_rewards else 1.0
        returns = _returns_by_turn(members) if credit == "turn" else []
        for number, member in enumerate(members):
            advantage = (member.reward - mean) * scale
            if not any(abs(reward - mean) > 0 for reward in rewards):
                continue
            if credit != "turn" and advantage == 0:
                continue
            results = _tokenise(member, tokenizer, allow_training_without_logprobs)
            nodes = member.nodes if isinstance(member, ProvedTrajectory) else [""] * len(results)
            shares = _shares(results, nodes, credit)
            if credit == "turn":
                advantages = [value * scale for value in _turn_advantages(returns, number, _turns(nodes))]
            else:
                advantages = [advantage] * len(results)
            calls += [
                CreditedCall(result, value, share)
                for result, value, share in zip(results, advantages, shares, strict=True)
                if value != 0
            ]
    return calls


def _tokenise(
    trajectory: art.Trajectory, tokenizer: PreTrainedTokenizerBase, without_logprobs: bool
) -> list[TokenizedResult]:
    if isinstance(trajectory, ProvedTrajectory) and trajectory.results:
        return trajectory.results
    first = History.model_construct(messages_and_choices=trajectory.messages_and_choices, tools=trajectory.tools)
    results = []
    for history in [first, *trajectory.additional_histories]:
        result = tokenise_call(history, trajectory, tokenizer, without_logprobs)
        if result is not None:
            results.append(result)
    return results


def tokenise_call(
    history: History, trajectory: art.Trajectory, tokenizer: PreTrainedTokenizerBase, without_logprobs: bool = False
) -> TokenizedResult | None:
    """ART's tokenisation of one history."""
    return tokenize_trajectory(
        tokenizer,
        None,
        history,
        0.0,
        without_logprobs,
        trajectory,
        chat_template_tool_schema_format=TOOL_SCHEMA_FORMAT,
    )


def _shares(results: Sequence[TokenizedResult], nodes: Sequence[str], credit: Credit) -> list[float]:
    """The weight of each call's sampled tokens: those of a trajectory add up to 1."""
    counts = [sum(result.assistant_mask) for result in results]
    router = sum(count for count, node in zip(counts, nodes, strict=True) if node == "router")
    experts = sum(counts) - router
    if credit != "node" or not router or not experts:
        return [1 / (sum(counts) + SMOOTHING)] * len(counts)
    return [0.5 / router if node == "router" else 0.5 / experts for node in nodes]


def _turns(nodes: Sequence[str]) -> list[int]:
    """The exchange of each call: the router opens one."""
    turn, turns = -1, []
    for node in nodes:
        turn += node == "router" or turn < 0
        turns.append(turn)
    return turns


def _returns_by_turn(members: Sequence[art.Trajectory]) -> list[list[float]]:
    """For each member, the return from each of its exchanges on: what came before it could not help."""
    returns = []
    for member in members:
        nodes = member.nodes if isinstance(member, ProvedTrajectory) else []
        count = max(_turns(nodes), default=-1) + 1
        # An exchange costs 1 (evaluation.rewards.EXCHANGE): the return from exchange t on has those before t back.
        returns.append([member.reward + turn for turn in range(count)])
    return returns


def _turn_advantages(returns: Sequence[Sequence[float]], number: int, turns: Sequence[int]) -> list[float]:
    """Return from a call's exchange on, minus the mean of the siblings that came so far; 0 where nobody else did."""
    advantages = []
    for turn in turns:
        alive = [each[turn] for each in returns if turn < len(each)]
        own = returns[number][turn]
        advantages.append(own - statistics.fmean(alive) if len(alive) > 1 else 0.0)
    return advantages
