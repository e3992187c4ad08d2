"""Updates: weights, steps, checkpoints, and what is refused."""

import asyncio
import math

import art
import pytest
import torch

from tests.training.policies import play_dialogue, registered, target_of
from training.backend import MissingLogprobsError
from training.capture import capture
from training.manifest import checkpoint_dir, is_whole, latest_checkpoint
from training.policy_model import ChatSettings
from training.service import TorchConfig


async def _groups(
    model, service, *, groups: int = 2, size: int = 4, tied: bool = False, temperature: float = 1.0
) -> list[art.TrajectoryGroup]:
    made = []
    for group in range(groups):
        captured = await asyncio.gather(
            *(
                capture(
                    target_of(model, service),
                    ChatSettings(temperature=temperature, max_tokens=24, seed=10 * group + member),
                    play_dialogue,
                )
                for member in range(size)
            )
        )
        assert not any(each.error for each in captured)
        for member, each in enumerate(captured):
            each.trajectory.reward = 0.0 if tied else float(member)
        made.append(art.TrajectoryGroup([each.trajectory for each in captured]))
    return made


def _weights(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()]).clone()


async def test_a_step_moves_the_weights_and_serves_them_under_the_next_name(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (backend, model, service):
        before = _weights(service.model)
        result = await backend.train(model, await _groups(model, service), learning_rate=1e-3)
        assert result.step == service.step == await model.get_step() == 1
        assert service.endpoint.model == model.get_inference_name() == "policy@1"
        assert (_weights(service.model) - before).abs().max() > 1e-4
        assert result.metrics["loss/probs_corr"] > 0.999999
        assert result.metrics["loss/kl_div"] == pytest.approx(0, abs=1e-6)
        assert result.metrics["loss/clip_fraction"] == 0
        assert result.metrics["loss/learning_rate"] == 1e-3
        assert result.metrics["loss/entropy"] > 0
        assert result.metrics["data/step_num_groups_trainable"] == 2
        second = await backend.train(model, await _groups(model, service), learning_rate=1e-3)
        assert second.metrics["loss/probs_corr"] > 0.999999, "the engine samples from the new weights"


async def test_a_policy_learns_what_is_rewarded(learned_dir, tmp_path):
    """The probability of the rewarded rollout's tokens rises, that of the punished one's falls."""
    async with registered(learned_dir, tmp_path) as (backend, model, service):
        (group,) = await _groups(model, service, groups=1, size=6, temperature=1.6)

        def likelihoods() -> list[float]:
            from art.preprocessing.tokenize import tokenize_trajectory
            from art.trajectories import History

            sums = []
            for trajectory in (group.trajectories[0], group.trajectories[-1]):
                total = 0.0
                first = History(messages_and_choices=trajectory.messages_and_choices, tools=trajectory.tools)
                for history in [first, *trajectory.additional_histories]:
                    row = tokenize_trajectory(service.tokenizer, None, history, 0.0, False, trajectory)
                    assert row is not None
                    ids = torch.tensor([row.token_ids])
                    with torch.no_grad():
                        logprobs = torch.log_softmax(service.model(ids).logits[0, :-1], -1)
                    picked = logprobs.gather(1, ids[0, 1:, None])[:, 0]
                    total += picked[torch.tensor(row.assistant_mask[1:], dtype=torch.bool)].sum().item()
                sums.append(total)
            return sums

        worst, best = likelihoods()
        await backend.train(model, [group], learning_rate=3e-4)
        worst_after, best_after = likelihoods()
        assert best_after - best > worst_after - worst


async def test_a_restarted_run_goes_on_with_the_same_weights_and_optimiser(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (backend, model, service):
        await backend.train(model, await _groups(model, service), learning_rate=1e-3)
        groups = await _groups(model, service)
        await backend.train(model, groups, learning_rate=1e-3)
        straight = _weights(service.model)
    async with registered(learned_dir, tmp_path) as (_, _, service):
        assert service.step == 2
        assert torch.equal(_weights(service.model), straight)
    (checkpoint_dir(service.output_dir, 2) / "model.safetensors").write_bytes(b"torn")
    async with registered(learned_dir, tmp_path) as (backend, model, service):
        assert service.step == 1, "a checkpoint cut short by a kill does not count"
        assert not checkpoint_dir(service.output_dir, 2).exists()
        (adamw,) = service.optimizer.state_dict().values()
        states = adamw["state"]
        assert isinstance(states, dict)
        assert {state["step"].item() for state in states.values()} == {1}
        again = await _groups(model, service)
        assert [trajectory.reward for trajectory in again[0]] == [trajectory.reward for trajectory in groups[0]]
        await backend.train(model, again, learning_rate=1e-3)
        assert torch.equal(_weights(service.model), straight), "the repeated step is the same step"


async def test_a_step_without_signal_is_skipped_and_still_counts(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (backend, model, service):
        before = _weights(service.model)
        result = await backend.train(model, await _groups(model, service, tied=True), learning_rate=1e-3)
        assert result.step == service.step == 1
        assert result.metrics["data/step_num_gradient_steps"] == 0
        assert torch.equal(_weights(service.model), before)
        assert is_whole(checkpoint_dir(service.output_dir, 1))
        assert service.endpoint.model == "policy@1"
        assert latest_checkpoint(service.output_dir) == (1, checkpoint_dir(service.output_dir, 1))


async def test_answers_without_logprobs_are_an_error_that_names_the_cause(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (backend, model, service):
        (group,) = await _groups(model, service, groups=1)
        group.trajectories[1].messages_and_choices[-1].logprobs = None  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(MissingLogprobsError, match=r"1 of 9 answers .* logprobs=true"):
            await backend.train(model, [group], learning_rate=1e-3)
        for choice in (group.trajectories[1].messages_and_choices[-1],):
            choice.logprobs = group.trajectories[0].messages_and_choices[-1].logprobs.model_copy(deep=True)  # pyright: ignore
            choice.logprobs.content[0].logprob = math.nan  # pyright: ignore
        with pytest.raises(MissingLogprobsError, match="are not numbers"):
            await backend.train(model, [group], learning_rate=1e-3)
        assert service.step == 0


async def test_overlong_histories_are_dropped_and_counted(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (backend, model, service):
        groups = await _groups(model, service)
        await backend.train(model, groups, learning_rate=1e-4, packed_sequence_length=60)
        assert backend.packing is not None
        assert backend.packing.overlong > 0
        result = await backend.train(model, groups, learning_rate=1e-4, packed_sequence_length=4)
        assert result.metrics["data/step_num_gradient_steps"] == 0


async def test_a_kl_penalty_holds_on_to_the_first_checkpoint(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (backend, model, service):
        metrics = {}
        for _ in range(2):
            result = await backend.train(
                model,
                await _groups(model, service),
                learning_rate=1e-3,
                kl_penalty_coef=0.5,
                kl_penalty_reference_step=0,
            )
            metrics = result.metrics
        assert service._references.keys() == {str(checkpoint_dir(service.output_dir, 0))}
        assert math.isfinite(metrics["loss/train"])


async def test_arts_own_logs_are_written(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path, TorchConfig(serve=False)) as (_, model, service):
        await model.log(await _groups(model, service), split="train", step=0)
        assert (service.output_dir / "trajectories/train/0000.parquet").is_file()
        assert "train/reward" in (service.output_dir / "history.jsonl").read_text()
