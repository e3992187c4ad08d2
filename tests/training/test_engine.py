"""Sampling: exactness, reproducibility, batching, prefixes, steps."""

import asyncio
import random

import pytest
import torch

from tests.training.conftest import build_model
from training.engine import EngineConfig, PolicyEngine, PromptTooLongError, SamplingParams, StaleStepError
from training.prefixes import PrefixStore

GREEDY = SamplingParams(temperature=0.0, max_tokens=12)


def _prompts(count: int, seed: int = 0) -> list[list[int]]:
    drawing = random.Random(seed)
    return [[drawing.randrange(80) for _ in range(drawing.randrange(3, 30))] for _ in range(count)]


async def test_greedy_output_is_the_models_own(random_model):
    engine = PolicyEngine(random_model)
    prompts = _prompts(9)
    completions = await asyncio.gather(*(engine.generate(prompt, GREEDY) for prompt in prompts))
    for prompt, completion in zip(prompts, completions, strict=True):
        expected = random_model.generate(
            torch.tensor([prompt]),
            max_new_tokens=12,
            do_sample=False,
            eos_token_id=None,
            attention_mask=torch.ones(1, len(prompt)),
        )
        assert completion.token_ids == expected[0, len(prompt) :].tolist()
        assert completion.finish_reason == "length"


async def test_logprobs_are_the_raw_models_at_any_temperature(random_model):
    engine = PolicyEngine(random_model)
    for temperature in (0.0, 0.7, 1.0, 2.0):
        params = SamplingParams(temperature=temperature, max_tokens=10, seed=1, top_logprobs=3)
        completion = await engine.generate(_prompts(1)[0], params)
        ids = torch.tensor([completion.prompt_ids + completion.token_ids])
        with torch.no_grad():
            raw = torch.log_softmax(random_model(ids).logits[0], -1)[len(completion.prompt_ids) - 1 : -1]
        expected = raw.gather(1, torch.tensor(completion.token_ids)[:, None])[:, 0]
        torch.testing.assert_close(torch.tensor(completion.logprobs), expected, atol=1e-5, rtol=0)
        assert [token for token, _ in completion.top_logprobs[0]] == raw[0].topk(3).indices.tolist()


async def test_a_seed_fixes_a_completion_whatever_else_is_sampled(random_model):
    params = SamplingParams(max_tokens=15, seed=7)
    prompt = _prompts(1, seed=5)[0]
    alone = await PolicyEngine(random_model).generate(prompt, params)
    engine = PolicyEngine(random_model)
    others = [
        engine.generate(other, SamplingParams(max_tokens=9, seed=index)) for index, other in enumerate(_prompts(20))
    ]
    crowded = (await asyncio.gather(*others[:10], engine.generate(prompt, params), *others[10:]))[10]
    assert crowded.token_ids == alone.token_ids
    assert (await engine.generate(prompt, SamplingParams(max_tokens=15, seed=8))).token_ids != alone.token_ids


async def test_samples_follow_the_distribution(random_model):
    engine = PolicyEngine(random_model)
    prompt = _prompts(1)[0]
    with torch.no_grad():
        expected = torch.softmax(random_model(torch.tensor([prompt])).logits[0, -1], -1)
    count = 600
    drawn = await asyncio.gather(
        *(engine.generate(prompt, SamplingParams(max_tokens=1, seed=seed)) for seed in range(count))
    )
    frequency = torch.bincount(torch.tensor([each.token_ids[0] for each in drawn]), minlength=len(expected)) / count
    assert (frequency - expected).abs().max() < 0.08


async def test_more_requests_than_rows_wait_in_line(random_model):
    engine = PolicyEngine(random_model, EngineConfig(max_rows=4))
    completions = await asyncio.gather(*(engine.generate(prompt, GREEDY) for prompt in _prompts(11)))
    assert len(completions) == 11
    assert engine.stats.row_steps / engine.stats.steps > 2


async def test_a_dialogue_computes_only_what_is_new(random_model):
    engine = PolicyEngine(random_model)
    plain = PolicyEngine(random_model, EngineConfig(prefix_tokens=0))
    ids = _prompts(1, seed=9)[0]
    for turn in range(5):
        params = SamplingParams(max_tokens=6, seed=turn)
        completion = await engine.generate(ids, params)
        assert completion.token_ids == (await plain.generate(ids, params)).token_ids
        if turn:
            assert completion.cached_tokens >= len(completion.prompt_ids) - 4
        ids = ids + completion.token_ids + [5, 6, 7]


async def test_siblings_share_the_prompt_they_have_in_common(random_model):
    engine = PolicyEngine(random_model)
    prompt = list(range(40))
    await engine.generate([*prompt, 50, 51], GREEDY)
    sibling = await engine.generate([*prompt, 60, 61], GREEDY)
    assert sibling.cached_tokens == 32


async def test_new_weights_answer_under_their_own_step(random_model, tokenizer):
    engine = PolicyEngine(random_model)
    other = build_model(tokenizer, seed=2)
    prompt = _prompts(1)[0]
    before = await engine.generate(prompt, GREEDY, step=0)
    engine.update(other, 1)
    after = await engine.generate(prompt, GREEDY, step=1)
    assert after.token_ids == (await PolicyEngine(other).generate(prompt, GREEDY)).token_ids != before.token_ids
    assert after.cached_tokens == 0
    with pytest.raises(StaleStepError, match="step 0 was asked for, but step 1"):
        await engine.generate(prompt, GREEDY, step=0)


async def test_weights_do_not_change_under_a_running_request(random_model):
    engine = PolicyEngine(random_model)
    running = asyncio.ensure_future(engine.generate(_prompts(1)[0], GREEDY))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="still running"):
        engine.update(random_model, 1)
    await running


async def test_a_later_change_of_the_model_does_not_reach_the_engine(tokenizer):
    model = build_model(tokenizer, seed=4)
    engine = PolicyEngine(model)
    prompt = _prompts(1)[0]
    before = await engine.generate(prompt, GREEDY)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    assert (await engine.generate([*prompt], GREEDY)).token_ids == before.token_ids


async def test_the_cache_bounds_a_request_and_refuses_a_prompt_that_fills_it(random_model):
    engine = PolicyEngine(random_model, EngineConfig(max_positions=32))
    completion = await engine.generate(list(range(20)), SamplingParams(max_tokens=100))
    assert completion.finish_reason == "length"
    assert len(completion.token_ids) == 13
    with pytest.raises(PromptTooLongError, match="40 tokens; the limit is 31"):
        await engine.generate(list(range(40)), GREEDY)
    rows = await asyncio.gather(*(engine.generate(list(range(length)), GREEDY) for length in (5, 31)))
    assert [len(row.token_ids) for row in rows] == [12, 2]


async def test_a_cancelled_request_leaves_the_others_alone(random_model):
    engine = PolicyEngine(random_model)
    prompts = _prompts(6)
    tasks = [
        asyncio.ensure_future(engine.generate(prompt, SamplingParams(temperature=0.0, max_tokens=60)))
        for prompt in prompts
    ]
    for _ in range(5):
        await asyncio.sleep(0)
    tasks[1].cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(done[1], asyncio.CancelledError)
    alone = await PolicyEngine(random_model).generate(prompts[5], SamplingParams(temperature=0.0, max_tokens=60))
    assert not isinstance(done[5], BaseException)
    assert done[5].token_ids == alone.token_ids


def test_the_prefix_store_forgets_the_oldest_first():
    store = PrefixStore(budget=50)
    for start in (0, 100, 200):
        store.add(list(range(start, start + 20)), f"from {start}")
    assert len(store) == 2
    assert store.longest([*range(20), 1]) == (None, 0)
    found, length = store.longest([*range(200, 220), 1])
    assert found is not None
    assert (found.state, length) == ("from 200", 20)
