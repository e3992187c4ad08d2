"""Credit and packing: what is trained is what ART would train, with shared prefixes computed once."""

from typing import cast

import art
import pytest
import torch
from art import dev
from art.loss import loss_fn
from art.preprocessing.pack import PackedTensors, packed_tensors_from_tokenized_results
from art.preprocessing.tokenize import tokenize_trajectory_groups
from transformers import PreTrainedTokenizerBase

from tests.training.policies import play_dialogue, registered, target_of
from training.capture import capture
from training.credit import CreditedCall, ProvedTrajectory, credit_groups
from training.learner import LearnerConfig, learn
from training.optimizers import OptimizerConfig, build_optimizer
from training.packing import Row, merge_prefixes, pack
from training.policy_model import ChatSettings

Sampled = tuple[list[art.TrajectoryGroup], PreTrainedTokenizerBase]


@pytest.fixture
async def sampled(learned_dir, tmp_path) -> Sampled:
    """A group of four rollouts, one of them odd, with rewards of their own."""
    async with registered(learned_dir, tmp_path) as (_, model, service):
        trajectories = []
        for seed in range(4):
            settings = ChatSettings(seed=seed, max_tokens=24, temperature=1.6 if seed == 3 else 1.0)
            captured = await capture(target_of(model, service), settings, play_dialogue)
            assert captured.error is None
            captured.trajectory.reward = float(seed**2)
            trajectories.append(captured.trajectory)
        return [art.TrajectoryGroup(trajectories)], service.tokenizer


@pytest.fixture
def calls(sampled) -> list[CreditedCall]:
    return credit_groups(*sampled)


def _gradient(model, packed: PackedTensors, **config: object) -> tuple[dict[str, float], list[torch.Tensor]]:
    """The metrics of one step and its clipped gradient."""
    (metrics,) = learn(
        model,
        build_optimizer(model, OptimizerConfig()),
        packed,
        learning_rate=0.0,
        dev_config=cast(dev.TrainConfig, {}),
        config=LearnerConfig(**config),  # pyright: ignore[reportArgumentType]
    )
    return metrics, [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


def _unmerged(calls: list[CreditedCall]) -> list[Row]:
    return [row for call in calls for row in merge_prefixes([call])[0]]


def _packed(rows: list[Row]) -> PackedTensors:
    return pack(rows, 0, "seed")


async def test_advantages_and_weights_are_arts(sampled, calls):
    groups, tokenizer = sampled
    expected = list(
        tokenize_trajectory_groups(
            tokenizer, groups, False, True, False, chat_template_tool_schema_format="vllm_openai"
        )
    )
    assert len(calls) == len(expected)
    for call, result in zip(calls, expected, strict=True):
        assert call.result.token_ids == result.token_ids
        assert call.result.assistant_mask == result.assistant_mask
        assert call.advantage == pytest.approx(result.advantage)
        assert call.weight == pytest.approx(result.weight)


async def test_unproved_trajectories_are_tokenised_by_art(sampled, calls):
    groups, tokenizer = sampled
    plain = [art.TrajectoryGroup([art.Trajectory(**dict(member)) for member in group]) for group in groups]
    again = credit_groups(plain, tokenizer)
    assert [(call.result.token_ids, call.advantage, call.weight) for call in again] == [
        (call.result.token_ids, call.advantage, call.weight) for call in calls
    ]


async def test_tensors_are_arts_up_to_the_order_of_rows(sampled, calls):
    groups, tokenizer = sampled
    results = list(
        tokenize_trajectory_groups(
            tokenizer, groups, False, True, False, chat_template_tool_schema_format="vllm_openai"
        )
    )
    width = max(len(result.token_ids) for result in results)
    theirs = packed_tensors_from_tokenized_results(results, width, 0, truncate_long_results=False, pack_results=False)
    ours = _packed(_unmerged(calls))

    def rows(packed: PackedTensors) -> list[tuple[float, ...]]:
        columns = [
            torch.nan_to_num(packed[name].double(), nan=-99)  # pyright: ignore[reportArgumentType]
            for name in ("tokens", "input_pos", "assistant_mask", "logprobs", "advantages", "weights")
        ]
        return sorted(tuple(round(value, 4) for value in row) for row in torch.cat(columns, 1).tolist())

    assert ours.keys() == theirs.keys()
    assert rows(ours) == rows(theirs)


async def test_merging_keeps_every_sampled_token_with_its_logprob_advantage_and_weight(calls):
    rows, report = merge_prefixes(calls)
    assert report.rows < report.calls == len(calls)
    assert report.tokens_after < 0.6 * report.tokens_before

    def trained(items: list[Row]) -> list[tuple[float, ...]]:
        columns = [(item.ids, item.logprobs, item.advantages, item.weights, item.trained) for item in items]
        return sorted(token[:-1] for each in columns for token in zip(*each, strict=True) if token[-1])

    assert trained(rows) == trained(_unmerged(calls))


async def test_merged_and_unmerged_rows_give_the_same_loss_and_gradient(calls, learned_model):
    before, gradient_before = _gradient(learned_model, _packed(_unmerged(calls)))
    after, gradient_after = _gradient(learned_model, _packed(merge_prefixes(calls)[0]))
    for name in ("loss/train", "loss/entropy", "loss/kl_div", "loss/probs_corr", "loss/grad_norm"):
        assert after[name] == pytest.approx(before[name], rel=1e-4, abs=1e-6), name
    for one, other in zip(gradient_before, gradient_after, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


async def test_how_rows_are_batched_does_not_change_the_gradient(calls, learned_model):
    packed = _packed(merge_prefixes(calls)[0])
    together, gradient_together = _gradient(learned_model, packed)
    apart, gradient_apart = _gradient(learned_model, packed, batch_tokens=1)
    assert apart["loss/train"] == pytest.approx(together["loss/train"], rel=1e-4)
    assert apart["data/padding_waste"] == 0
    assert together["data/padding_waste"] < 0.2
    for one, other in zip(gradient_together, gradient_apart, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


async def test_the_loss_is_arts_own_on_the_whole_logits(calls, learned_model):
    """Against a plain computation: full logits, one row at a time, `art.loss` with ART's own shifting."""
    packed = _packed(merge_prefixes(calls)[0])
    metrics, _ = _gradient(learned_model, packed)
    total, tokens = 0.0, 0
    for row in range(packed["tokens"].shape[0]):
        inputs = {name: value[row : row + 1] for name, value in packed.items() if isinstance(value, torch.Tensor)}
        with torch.no_grad():
            logits = learned_model(input_ids=inputs["tokens"]).logits
        logprobs = torch.log_softmax(logits[:, :-1], -1).gather(2, inputs["tokens"][:, 1:, None])[..., 0]
        new = torch.nn.functional.pad(logprobs, (0, 1))
        loss = loss_fn(inputs, new, None, None, cast(dev.TrainConfig, {}), reduction="sum")  # pyright: ignore[reportArgumentType]
        total += loss.policy_loss.item()
        tokens += int(inputs["assistant_mask"].sum())
    assert metrics["loss/train"] == pytest.approx(total / tokens, rel=1e-4)
    assert metrics["data/trained_tokens"] == tokens


async def test_only_exact_extensions_merge_and_nothing_is_trained_once_that_was_sampled_twice(calls):
    shortest = min(calls, key=lambda call: len(call.result.token_ids))
    longest = max(calls, key=lambda call: len(call.result.token_ids))
    assert len(merge_prefixes([shortest, longest])[0]) == 2
    rows, report = merge_prefixes([longest, longest])
    assert len(rows) == 2
    assert report.trained_tokens == 2 * sum(longest.result.assistant_mask)


async def test_rows_longer_than_allowed_are_counted(calls):
    rows, report = merge_prefixes(calls, limit=40)
    assert report.overlong == sum(len(call.result.token_ids) > 40 for call in calls) > 0
    assert max(len(row.ids) for row in rows) <= 40


async def test_credit_by_node_gives_router_and_experts_half_each(sampled):
    groups, tokenizer = sampled
    member = groups[0].trajectories[0]
    assert isinstance(member, ProvedTrajectory)
    calls = credit_groups(groups, tokenizer, credit="node")
    mine = [call for call in calls if call.result.trajectory is member]
    halves = {"router": 0.0, "hotel": 0.0}
    for call, node in zip(mine, member.nodes, strict=True):
        halves[node] += call.weight * sum(call.result.assistant_mask)
    assert halves == pytest.approx({"router": 0.5, "hotel": 0.5})


async def test_a_spread_floor_lets_an_exchange_weigh_less_than_success(sampled):
    groups, tokenizer = sampled
    members = groups[0].trajectories

    def largest(rewards: tuple[float, ...], floor: float) -> float:
        for member, reward in zip(members, rewards, strict=True):
            member.reward = reward
        calls = credit_groups([art.TrajectoryGroup(members)], tokenizer, spread_floor=floor)
        return max(call.advantage for call in calls)

    exchange, success = (75.0, 74.0, 75.0, 74.0), (75.0, -45.0, 75.0, -45.0)
    assert largest(exchange, 0.0) == pytest.approx(largest(success, 0.0)) == pytest.approx(1.0)
    assert largest(exchange, 5.0) == pytest.approx(0.5 / 5.5)
    assert largest(success, 5.0) == pytest.approx(60 / 65)


async def test_credit_by_turn_compares_what_came_after(sampled):
    groups, tokenizer = sampled
    members = groups[0].trajectories
    for member, reward in zip(members, (70.0, 75.0, -43.0, 75.0), strict=True):
        member.reward = reward
    assert isinstance(members[0], ProvedTrajectory)
    assert members[0].nodes == ["router", "hotel", "hotel"] * 3
    calls = credit_groups(groups, tokenizer, credit="turn", scale_rewards=False)
    mine = [call.advantage for call in calls if call.result.trajectory is members[0]]
    assert mine == pytest.approx([70 - 44.25] * len(mine)), "equally long siblings: as outcome"
    rows, report = merge_prefixes(calls)
    assert report.rows < report.calls
    assert all(len(row.advantages) == len(row.ids) for row in rows)
