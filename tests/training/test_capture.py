"""Each defect of ART's LangGraph integration that the capture layer guards against (docs/log.md), by name."""

import asyncio
import json
from dataclasses import replace

import art
import pytest
from art.preprocessing.tokenize import tokenize_trajectory
from art.trajectories import History
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from openai.types.chat.chat_completion import Choice

from simulation.faults import InfrastructureError, fault_of
from tests.training.dialogue import EXPERT, ROUTER, TOOLS, USER_TURNS
from tests.training.policies import play_dialogue, registered, target_of
from training.capture import CaptureError, Recorder, build_history, capture, verify
from training.chat import render_prompt
from training.credit import ProvedTrajectory
from training.policy_model import ChatSettings
from training.service import TorchConfig
from training.supervised import tokenise_history

GREEDY = ChatSettings(temperature=0.0, max_tokens=24)


def _histories(trajectory: art.Trajectory) -> list[History]:
    first = History(messages_and_choices=trajectory.messages_and_choices, tools=trajectory.tools)
    return [first, *trajectory.additional_histories]


def _tokenised(history: History, trajectory: art.Trajectory, tokenizer):
    result = tokenize_trajectory(
        tokenizer, None, history, 1.0, False, trajectory, chat_template_tool_schema_format="vllm_openai"
    )
    assert result is not None
    return result


@pytest.fixture(params=["in_process", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    return request.param


async def test_a_dialogue_of_three_tool_turns_is_trained_on_byte_for_byte(learned_dir, tmp_path, transport):
    async with registered(learned_dir, tmp_path, TorchConfig(serve=transport == "http")) as (_, model, service):
        target = target_of(model, service, transport)
        answers = []
        open_session = service.endpoint.open_session

        def remember(session: str) -> None:
            open_session(session)
            answers.append(service.endpoint._journal[session])

        service.endpoint.open_session = remember
        captured = await capture(target, GREEDY, play_dialogue)
        assert captured.error is None
        assert [message.content for message in captured.value or [] if isinstance(message, AIMessage)][
            -1
        ] == "it is booked ."
        assert "hôtel félix" in str(captured.value)
        assert [call.node for call in captured.calls] == [
            node for _ in USER_TURNS for node in ("router", "hotel", "hotel")
        ]
        for answer, history in zip(answers[0], _histories(captured.trajectory), strict=True):
            result = _tokenised(history, captured.trajectory, service.tokenizer)
            completion = answer.completion
            assert result.token_ids == completion.prompt_ids + completion.token_ids
            assert result.logprobs[len(completion.prompt_ids) :] == completion.logprobs
            assert result.assistant_mask == [0] * len(completion.prompt_ids) + [1] * len(completion.token_ids)


async def test_supervised_rows_render_as_the_server_renders_prompts(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (_, model, service):
        captured = await capture(target_of(model, service), GREEDY, play_dialogue)
        last = _tokenised(_histories(captured.trajectory)[-1], captured.trajectory, service.tokenizer)
        assert render_prompt(service.tokenizer, EXPERT[:-1], None) == last.token_ids[: -sum(last.assistant_mask)]


async def test_defect_1_a_tool_calling_answer_is_its_sampled_tokens_and_nothing_else(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (_, model, service):
        captured = await capture(target_of(model, service), GREEDY, play_dialogue)
        calling = captured.calls[1]
        result = _tokenised(_histories(captured.trajectory)[1], captured.trajectory, service.tokenizer)
        assert service.tokenizer.decode(calling.token_ids).count("<tool_call>") == 1
        assert service.tokenizer.decode(result.token_ids).count("<tool_call>") == 1


async def test_defect_2_arguments_of_earlier_calls_are_objects_not_quoted_strings(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (_, model, service):
        captured = await capture(target_of(model, service), GREEDY, play_dialogue)
        earlier = [message.get("tool_calls") for message in captured.calls[-1].messages]
        calls = [call for made in earlier if isinstance(made, list) for call in made]
        arguments = [call["function"]["arguments"] for call in calls]
        assert arguments == [{"area": "north"}, {"area": "south"}, {"name": "hôtel félix", "people": "2"}]


async def test_defect_3_tool_schemas_are_rendered_in_one_order(learned_dir, tmp_path):
    """With a template that shows tools, server and trainer must agree on the order of a schema's fields."""
    async with registered(learned_dir, tmp_path, TorchConfig(serve=True)) as (backend, model, service):
        assert backend._default_chat_template_tool_schema_format == "vllm_openai"
        shown = "{%- for tool in tools or [] -%}{{ tool | tojson }} {% endfor -%}"
        service.tokenizer.chat_template = f"{shown}{service.tokenizer.chat_template}"
        for transport in ("in_process", "http"):
            captured = await capture(target_of(model, service, transport), GREEDY, play_dialogue)
            assert captured.error is None
            assert captured.calls[1].prompt_tokens > 100


async def test_defect_4_every_call_is_in_exactly_one_history_with_its_own_prompt_and_tools(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (_, model, service):
        captured = await capture(target_of(model, service), GREEDY, play_dialogue)
        histories = _histories(captured.trajectory)
        assert len(histories) == len(captured.calls) == 9
        for call, history in zip(captured.calls, histories, strict=True):
            choices = [message for message in history.messages_and_choices if isinstance(message, Choice)]
            assert len(choices) == 1
            assert history.messages_and_choices[-1] is choices[0]
            assert history.messages()[0].get("content") == ("router" if call.node == "router" else "hotel")
            names = [tool["function"]["name"] for tool in history.tools or []]
            assert names == ([] if call.node == "router" else ["find_hotels", "book_hotel"])


async def test_defect_5_the_current_step_is_asked_and_a_stale_one_refused(learned_dir, tmp_path, transport):
    async with registered(learned_dir, tmp_path, TorchConfig(serve=transport == "http")) as (_, model, service):
        await service.skip()
        assert model.inference_model_name == "policy@0"  # what ART leaves there
        captured = await capture(target_of(model, service, transport), GREEDY, play_dialogue)
        assert captured.error is None
        assert model.inference_model_name == "policy@1"
        assert captured.trajectory.initial_policy_version == 1
        service.endpoint.engine.step = 2  # a server that has moved on
        captured = await capture(target_of(model, service, transport), GREEDY, play_dialogue)
        assert captured.error is not None
        assert "step 1 is not loaded; ask for 'policy@2'" in str(captured.error)
        assert fault_of(captured.error, "agent").who == "infrastructure"


async def test_defect_6_temperature_limit_and_seed_reach_the_sampler(learned_dir, tmp_path, transport):
    async with registered(learned_dir, tmp_path, TorchConfig(serve=transport == "http")) as (_, model, service):
        target = target_of(model, service, transport)

        async def once(settings: ChatSettings) -> list[list[int]]:
            captured = await capture(target, settings, lambda chat: play_dialogue(chat, USER_TURNS[:1]))
            assert captured.error is None
            return [call.token_ids for call in captured.calls]

        hot = ChatSettings(temperature=3.0, max_tokens=5, seed=3)
        first, again, other = await once(hot), await once(hot), await once(replace(hot, seed=4))
        assert first == again != other
        assert all(len(ids) <= 5 for ids in first)
        assert await once(GREEDY) == await once(replace(GREEDY, seed=9))


async def test_defect_7_answers_without_logprobs_are_an_error_that_says_so(learned_dir, tmp_path):
    recorder = Recorder()
    recorder.log("call", {"input": [HumanMessage("hi")], "output": AIMessage("hello"), "tools": None})
    async with registered(learned_dir, tmp_path) as (_, _, service):
        with pytest.raises(CaptureError, match=r"call 1: the server sent no log-probabilities.*logprobs=true"):
            verify(ProvedTrajectory(), recorder, None, service.tokenizer)


async def test_defect_8_the_calls_made_before_a_failure_are_kept(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (_, model, service):

        async def break_off(chat):
            await play_dialogue(chat, USER_TURNS[:1])
            raise ConnectionError("the database is gone")

        captured = await capture(target_of(model, service), GREEDY, break_off)
        assert isinstance(captured.error, ConnectionError)
        assert len(_histories(captured.trajectory)) == 3
        assert captured.value is None


async def test_defect_8_messages_given_as_dicts_are_recorded_like_any_other(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (_, model, service):

        async def in_dicts(chat):
            return await chat.ainvoke([{"role": "system", "content": "router"}, ("user", f"none | {USER_TURNS[0]}")])

        captured = await capture(target_of(model, service), GREEDY, in_dicts)
        assert captured.error is None
        assert captured.value is not None
        assert captured.value.content == "hotel"
        assert captured.calls[0].messages == ROUTER[0][:-1]


async def test_defect_9_malformed_calls_in_the_history_do_not_stop_tokenisation(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (_, model, service):

        async def malformed(chat):
            broken = AIMessage("", invalid_tool_calls=[{"name": "find_hotels", "args": "{", "id": "1", "error": ""}])
            await chat.bind_tools(TOOLS).ainvoke(
                [SystemMessage("hotel"), HumanMessage("hotel"), broken, HumanMessage("no")]
            )

        captured = await capture(target_of(model, service), GREEDY, malformed)
        assert captured.error is None
        assert len(captured.calls) == 1


async def test_defect_10_every_history_is_learned_from_in_supervised_training(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (_, model, service):
        first, *more = [History.model_validate({"messages_and_choices": messages}) for messages in (EXPERT, *ROUTER)]
        trajectory = art.Trajectory(messages_and_choices=first.messages_and_choices, additional_histories=more)
        await model.train_sft([trajectory], art.TrainSFTConfig(learning_rate=1e-3, batch_size=1))
        assert service.step == 1
        logged = [json.loads(line) for line in (service.output_dir / "history.jsonl").read_text().splitlines()]
        rows = [tokenise_history(messages, None, service.tokenizer) for messages in (EXPERT, *ROUTER)]
        assert logged[-1]["data/step_trainer_tokens"] == sum(sum(row.trained) for row in rows)
        assert sum(sum(row.trained) for row in rows[1:]) == 2 * len(ROUTER)


async def test_defect_11_nothing_is_left_in_the_working_directory(learned_dir, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    async with registered(learned_dir, tmp_path / "art") as (_, model, service):
        await asyncio.gather(*(capture(target_of(model, service), GREEDY, play_dialogue) for _ in range(5)))
    assert list(here.iterdir()) == []


async def test_a_completion_nobody_recorded_is_a_capture_error(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (_, model, service):

        async def behind_its_back(chat):
            await play_dialogue(chat, USER_TURNS[:1])
            await chat._logging.llm.ainvoke([SystemMessage("router"), HumanMessage("none | hotel")])

        captured = await capture(target_of(model, service), GREEDY, behind_its_back)
        assert isinstance(captured.error, CaptureError)
        assert isinstance(captured.error, InfrastructureError)
        assert "3 completions were recorded, but the server answered 4" in str(captured.error)


async def test_a_history_that_tokenises_otherwise_is_a_capture_error(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (_, model, service):
        captured = await capture(target_of(model, service), GREEDY, play_dialogue)
        recorder = Recorder(calls=list(captured.calls))
        messages = [*recorder.calls[0].messages[:-1], {"role": "user", "content": "none | the south then ."}]
        recorder.calls[0] = replace(recorder.calls[0], messages=messages)
        first, *more = [build_history(call) for call in recorder.calls]
        tampered = ProvedTrajectory(
            messages_and_choices=first.messages_and_choices, tools=first.tools, additional_histories=more
        )
        with pytest.raises(CaptureError, match=r"call 1 \(router\) tokenises to"):
            verify(tampered, recorder, None, service.tokenizer)


async def test_concurrent_rollouts_do_not_see_each_others_calls(learned_dir, tmp_path):
    async with registered(learned_dir, tmp_path) as (_, model, service):
        many = await asyncio.gather(
            *(
                capture(target_of(model, service), ChatSettings(seed=seed, max_tokens=24), play_dialogue)
                for seed in range(12)
            )
        )
        assert [captured.error for captured in many] == [None] * 12
        alone = await capture(target_of(model, service), ChatSettings(seed=5, max_tokens=24), play_dialogue)
        assert [call.token_ids for call in alone.calls] == [call.token_ids for call in many[5].calls]
