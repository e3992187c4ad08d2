"""The endpoint policy against a real HTTP server on the loopback that answers with the scripted model."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from agents.scripted import ScriptedModel
from db.errors import InputError
from evaluation.metrics import Prices
from evaluation.players import OpenPolicy, UserConfig, open_player, pick_goals
from evaluation.report import build_report, score_episodes
from evaluation.runner import plan_episodes, play_many
from simulation.endpoint import EndpointConfig, EndpointPolicy, open_endpoint
from simulation.policies import Policy, ScriptedPolicy
from simulation.records import Episode
from tests.evaluation.openai_server import OpenAIServer, serve


def scripted_server(**options: object) -> OpenAIServer:
    return OpenAIServer(ScriptedModel(placeholders=False), **options)  # pyright: ignore[reportArgumentType]


async def play(open_policy: OpenPolicy, count: int = 8) -> list[Episode]:
    async with open_player(open_policy, UserConfig()) as player:
        plans = plan_episodes(pick_goals("test", count, seed=7), seed=7)
        return await play_many(plans, player, concurrency=8, progress=False)


def endpoint_at(
    base_url: str, api_key: str | None = None, **options: object
) -> Callable[[], AbstractAsyncContextManager[EndpointPolicy]]:
    config = EndpointConfig("scripted-model", base_url, **options)  # pyright: ignore[reportArgumentType]
    return lambda: open_endpoint(config, api_key)


@asynccontextmanager
async def open_scripted_full() -> AsyncIterator[Policy]:
    endpoint = EndpointConfig("unused", "http://127.0.0.1:1/v1")
    async with open_endpoint(endpoint, None) as policy:
        yield ScriptedPolicy(policy.config)


def said(episodes: list[Episode]) -> list[list[str]]:
    return [[each.turn.text for each in episode.exchanges if each.turn] for episode in episodes]


async def test_a_model_behind_http_plays_as_it_plays_at_home():
    with serve(scripted_server(api_key="secret")) as server:
        remote = await play(endpoint_at(server.base_url, "secret"))
    assert not any(episode.fault for episode in remote)
    assert said(remote) == said(await play(open_scripted_full))
    assert {episode.policy for episode in remote} == {"endpoint:scripted-model"}
    assert {request["model"] for request in server.requests} == {"scripted-model"}
    assert all("tools" in request or "router" in str(request["messages"][0]).lower() for request in server.requests)


async def test_a_small_model_behind_http_is_prompted_in_its_compact_style():
    with serve(OpenAIServer(ScriptedModel(placeholders=True))) as server:
        remote = await play(endpoint_at(server.base_url, style="compact"), count=4)
    assert {request["messages"][0]["content"] for request in server.requests} <= {"router", "hotel", "restaurant"}
    assert all(score.outcome == "succeeded" for score in score_episodes(remote))


async def test_tokens_and_cost_are_the_servers_count():
    with serve(scripted_server()) as server:
        episodes = await play(endpoint_at(server.base_url))
    report = build_report(
        score_episodes(episodes), policy="endpoint", goals="test", seed=7, prices=Prices(prompt=2.0, completion=8.0)
    )
    metrics = report.metrics
    assert metrics.llm_calls is not None
    assert metrics.prompt_tokens is not None
    assert metrics.completion_tokens is not None
    assert metrics.cost_usd is not None
    assert metrics.latency_s is not None
    assert metrics.llm_calls.mean * len(episodes) == pytest.approx(len(server.requests))
    assert metrics.prompt_tokens.mean > 100
    assert metrics.cost_usd.mean == pytest.approx(
        (metrics.prompt_tokens.mean * 2.0 + metrics.completion_tokens.mean * 8.0) / 1e6
    )
    assert metrics.latency_s.p50 > 0


async def test_a_request_that_fails_is_repeated():
    with serve(scripted_server(fail_first=2)) as server:
        episodes = await play(endpoint_at(server.base_url), count=1)
    assert episodes[0].fault is None


@pytest.mark.parametrize("trouble", ["nobody listens", "wrong key", "too slow", "always busy"])
async def test_a_server_in_trouble_is_an_infrastructure_fault_and_never_a_score(trouble: str):
    options: dict[str, dict[str, object]] = {
        "wrong key": {"api_key": "secret"},
        "too slow": {"delay_s": 1.0},
        "always busy": {"fail_first": 1000},
    }
    if trouble == "nobody listens":
        with socket.create_server(("127.0.0.1", 0)) as listener:
            base_url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        episodes = await play(endpoint_at(base_url, max_retries=0), count=2)
    else:
        with serve(scripted_server(**options[trouble])) as server:
            episodes = await play(endpoint_at(server.base_url, "guess", max_retries=0, timeout_s=0.3), count=2)
    assert {episode.fault.who for episode in episodes if episode.fault} == {"infrastructure"}
    report = build_report(score_episodes(episodes), policy="endpoint", goals="test", seed=7)
    assert report.faults == {"agent": 0, "user": 0, "infrastructure": 2}
    assert report.metrics.reward is None
    assert report.metrics.success is None


async def test_the_seed_is_sent_unless_the_server_refuses_it():
    with serve(scripted_server()) as server:
        (episode,) = await play(endpoint_at(server.base_url), count=1)
        assert {request["seed"] for request in server.requests} == {episode.seed}
        server.requests.clear()
        await play(endpoint_at(server.base_url, send_seed=False, temperature=None), count=1)
        assert not any("seed" in request or "temperature" in request for request in server.requests)


@pytest.mark.parametrize("base_url", ["localhost:8000/v1", "", "ftp://host/v1", "http://"])
async def test_an_address_that_is_none_is_said_in_one_line(base_url: str):
    with pytest.raises(InputError, match="is no address of a server"):
        async with open_endpoint(EndpointConfig("model", base_url), None):
            pass
