"""Merged rows train what unmerged ones do, token for token."""

from typing import cast

import art
import pytest
import torch
from art import dev
from art.preprocessing.pack import PackedTensors, packed_tensors_from_tokenized_results
from art.preprocessing.tokenize import TokenizedResult, tokenize_trajectory_groups

from tests.training.policies import play_dialogue, registered, target_of
from training.capture import capture
from training.learner import LearnerConfig, learn
from training.optimizers import OptimizerConfig, build_optimizer
from training.packing import merge_prefixes
from training.policy_model import ChatSettings


@pytest.fixture
async def results(learned_dir, tmp_path) -> list[TokenizedResult]:
    """Every call of four rollouts, tokenised by ART, with advantages of both signs."""
    async with registered(learned_dir, tmp_path) as (_, model, service):
        trajectories = []
        for seed in range(4):
            captured = await capture(
                target_of(model, service),
                ChatSettings(seed=seed, max_tokens=24, temperature=1.6 if seed == 3 else 1.0),
                play_dialogue,
            )
            assert captured.error is None
            captured.trajectory.reward = float(seed**2)
            trajectories.append(captured.trajectory)
        groups = [art.TrajectoryGroup(trajectories)]
        return list(
            tokenize_trajectory_groups(
                service.tokenizer, groups, False, True, False, chat_template_tool_schema_format="vllm_openai"
            )
        )


def _pack(results: list[TokenizedResult]) -> PackedTensors:
    width = max(len(result.token_ids) for result in results)
    return packed_tensors_from_tokenized_results(
        results, width, pad_token_id=0, truncate_long_results=False, pack_results=False
    )


def _gradient(model, packed: PackedTensors, **config: object) -> tuple[dict[str, float], list[torch.Tensor]]:
    """The metrics of one step and its clipped gradient."""
    optimizer = build_optimizer(model, OptimizerConfig())
    (metrics,) = learn(
        model,
        optimizer,
        packed,
        learning_rate=0.0,
        dev_config=cast(dev.TrainConfig, {}),
        config=LearnerConfig(**config),  # pyright: ignore[reportArgumentType]
    )
    return metrics, [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


async def test_merging_keeps_every_sampled_token_with_its_logprob_advantage_and_weight(results):
    rows, report = merge_prefixes(results)
    assert report.rows < report.calls == len(results)
    assert report.tokens_after < 0.6 * report.tokens_before

    def trained(items: list[TokenizedResult]) -> list[tuple[int, int, float, float, float]]:
        return sorted(
            (id(item.trajectory), token, logprob, item.advantage, item.weight)
            for item in items
            for token, logprob, mask in zip(item.token_ids, item.logprobs, item.assistant_mask, strict=True)
            if mask
        )

    assert trained(rows) == trained(results)


async def test_merged_and_unmerged_rows_give_the_same_loss_and_gradient(results, learned_model):
    rows, _ = merge_prefixes(results)
    before, gradient_before = _gradient(learned_model, _pack(results))
    after, gradient_after = _gradient(learned_model, _pack(rows))
    for name in ("loss/train", "loss/entropy", "loss/kl_div", "loss/probs_corr", "loss/grad_norm"):
        assert after[name] == pytest.approx(before[name], rel=1e-4, abs=1e-6), name
    for one, other in zip(gradient_before, gradient_after, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


async def test_how_rows_are_batched_does_not_change_the_gradient(results, learned_model):
    rows, _ = merge_prefixes(results)
    together, gradient_together = _gradient(learned_model, _pack(rows))
    apart, gradient_apart = _gradient(learned_model, _pack(rows), batch_tokens=1)
    assert apart["loss/train"] == pytest.approx(together["loss/train"], rel=1e-4)
    assert apart["data/padding_waste"] == 0
    for one, other in zip(gradient_together, gradient_apart, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


async def test_the_loss_is_arts_own_on_the_whole_logits(results, learned_model):
    """Against a plain computation: full logits, one row at a time, `art.loss` with ART's own shifting."""
    from art.loss import loss_fn

    packed = _pack(merge_prefixes(results)[0])
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


async def test_only_exact_extensions_of_the_same_trajectory_merge(results):
    by_trajectory = {id(result.trajectory): result for result in results}
    assert len(by_trajectory) == 4
    shortest = min(results, key=lambda result: len(result.token_ids))
    twin = max(results, key=lambda result: len(result.token_ids))
    rows, _ = merge_prefixes([shortest, twin])
    assert len(rows) == 2
    rows, report = merge_prefixes([twin, twin])
    assert len(rows) == 2, "a completion sampled twice is trained twice, not merged into itself"
    assert report.trained_tokens == 2 * sum(twin.assistant_mask)
