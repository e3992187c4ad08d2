"""The HTTP server, through OpenAI's own client on the loopback."""

import asyncio
from collections.abc import AsyncIterator

import openai
import pytest
from openai import AsyncOpenAI

from tests.training.dialogue import EXPERT, ROUTER
from training.chat import ParsedCall, parse_completion
from training.endpoint import PolicyEndpoint
from training.engine import EngineConfig, PolicyEngine
from training.server import start_server

EXPERT_PROMPT = [{"role": "system", "content": "hotel"}, EXPERT[1]]


@pytest.fixture
async def endpoint(learned_model, tokenizer) -> PolicyEndpoint:
    return PolicyEndpoint(PolicyEngine(learned_model, EngineConfig(max_positions=256)), tokenizer, "policy")


@pytest.fixture
async def client(endpoint) -> AsyncIterator[AsyncOpenAI]:
    server = await start_server(endpoint)
    async with AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client
    await server.aclose()


async def test_a_completion_has_text_usage_and_token_ids(client):
    answer = await client.chat.completions.create(
        model="policy@0", messages=ROUTER[0][:-1], temperature=0, logprobs=True, top_logprobs=2
    )
    choice = answer.choices[0]
    assert choice.message.content == "hotel"
    assert choice.finish_reason == "stop"
    assert answer.usage.completion_tokens == 2
    assert [item.token for item in choice.logprobs.content] == [f"token_id:{token}" for token in choice.token_ids]
    assert len(answer.prompt_token_ids) == answer.usage.prompt_tokens
    assert [len(item.top_logprobs) for item in choice.logprobs.content] == [2, 2]


async def test_tool_calls_come_parsed_and_go_back_in(client):
    answer = await client.chat.completions.create(model="policy@0", messages=EXPERT_PROMPT, temperature=0)
    message = answer.choices[0].message
    assert answer.choices[0].finish_reason == "tool_calls"
    assert message.content is None
    assert [(call.function.name, call.function.arguments) for call in message.tool_calls] == [
        ("find_hotels", '{"area": "north"}')
    ]
    result = {"role": "tool", "content": "none found", "tool_call_id": message.tool_calls[0].id}
    answer = await client.chat.completions.create(
        model="policy@0", messages=[*EXPERT_PROMPT, message.model_dump(exclude_none=True), result], temperature=0
    )
    assert answer.choices[0].message.content == "there is no such hotel ."


async def test_limits_seeds_and_several_choices(client):
    ask = {"model": "policy@0", "messages": EXPERT_PROMPT, "temperature": 2.5, "max_tokens": 6}
    one = await client.chat.completions.create(**ask, seed=3, n=3)
    again = await client.chat.completions.create(**ask, seed=3, n=3)
    assert [choice.token_ids for choice in one.choices] == [choice.token_ids for choice in again.choices]
    assert len({tuple(choice.token_ids) for choice in one.choices}) == 3
    assert all(choice.finish_reason == "length" or len(choice.token_ids) <= 6 for choice in one.choices)


async def test_the_current_model_is_listed_and_another_one_refused(client, endpoint, learned_model):
    endpoint.engine.update(learned_model, 4)
    assert [model.id for model in (await client.models.list()).data] == ["policy@4"]
    ask = {"messages": ROUTER[0][:-1], "max_tokens": 1}
    assert (await client.chat.completions.create(model="policy", **ask)).model == "policy@4"
    with pytest.raises(openai.ConflictError, match="step 3 is not loaded; ask for 'policy@4'"):
        await client.chat.completions.create(model="policy@3", **ask)
    with pytest.raises(openai.NotFoundError, match="there is no model 'gpt' here; ask for 'policy@4'"):
        await client.chat.completions.create(model="gpt", **ask)


async def test_what_is_not_supported_is_refused_not_ignored(client):
    ask = {"model": "policy@0", "messages": ROUTER[0][:-1]}
    for wrong in ({"stream": True}, {"stop": ["."]}, {"temperature": -1}, {"max_tokens": 0}):
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(**ask, **wrong)
    long = [{"role": "user", "content": "hotel " * 300}]
    with pytest.raises(openai.BadRequestError, match="context_length_exceeded"):
        await client.chat.completions.create(model="policy@0", messages=long)


async def test_concurrent_requests_share_a_batch(client, endpoint):
    await asyncio.gather(
        *(
            client.chat.completions.create(model="policy@0", messages=EXPERT_PROMPT, temperature=0, max_tokens=8)
            for _ in range(16)
        )
    )
    assert endpoint.engine.stats.row_steps / endpoint.engine.stats.steps > 4


def test_hermes_calls_are_read_and_malformed_ones_stay_text():
    good = '<tool_call>\n{"name": "find_hotels", "arguments": {"area": "north"}}\n</tool_call>'
    call = ParsedCall("find_hotels", {"area": "north"})
    assert parse_completion(f"one moment {good}{good}").calls == (call, call)
    assert parse_completion(f"one moment {good}").content == "one moment"
    for bad in (
        '<tool_call>\n{"name": "find_hotels", "arguments": {"area"}\n</tool_call>',
        '<tool_call>\n{"name": "find_hotels", "arguments": ["north"]}\n</tool_call>',
        '<tool_call>\n{"name": 3, "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"arguments": {}} {"name": "x"}\n</tool_call>',
        "<tool_call>\n\n</tool_call>",
        '<tool_call>\n{"name": "find_hotels", "arguments": {}}',
    ):
        assert parse_completion(bad).calls == ()
        assert parse_completion(bad).content == bad
        mixed = parse_completion(f"{good}{bad}")
        assert (mixed.calls, mixed.content) == ((call,), bad)
    assert parse_completion('{"name": "find_hotels"}').content == '{"name": "find_hotels"}'
