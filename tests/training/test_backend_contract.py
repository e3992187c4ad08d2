"""What ``TorchBackend`` takes for granted of ART 0.5.18's private parts, and that its import changes nothing else."""

import asyncio
import inspect
from importlib.metadata import version

import art
from art.langgraph.llm_wrapper import CURRENT_CONFIG, LoggingLLM, add_thread, wrap_rollout
from art.local.backend import LocalBackend
from art.local.service import ModelService
from art.preprocessing.tokenize import tokenize_trajectory, tokenize_trajectory_groups

from training.backend import TorchBackend
from training.service import TorchService


def _parameters(function: object) -> list[str]:
    return list(inspect.signature(function).parameters)  # pyright: ignore[reportArgumentType]


def test_art_is_the_version_this_was_written_against():
    assert version("openpipe-art") == "0.5.18"


def test_every_overridden_method_exists_with_the_same_parameters():
    for name in ("_get_service", "_get_packed_tensors", "_train_model", "_train_sft"):
        assert _parameters(getattr(TorchBackend, name)) == _parameters(getattr(LocalBackend, name)), name
    for name in ("start_openai_server", "train", "train_sft", "vllm_engine_is_sleeping"):
        assert _parameters(getattr(TorchService, name)) == _parameters(getattr(ModelService, name)), name


def test_the_private_switches_are_still_read(tmp_path):
    backend = LocalBackend(path=str(tmp_path))
    assert backend._packed_sequence_length_requires_chunk_alignment is True
    assert backend._default_chat_template_tool_schema_format == "default"
    assert backend._services == {}
    source = inspect.getsource(LocalBackend)
    assert "register_lora_for_step" in source
    assert "self._train_model(" in source
    assert "self._get_packed_tensors(" in source


def test_the_public_step_calls_what_is_overridden():
    assert "_train_model" in inspect.getsource(LocalBackend.train)
    assert "_train_sft" in inspect.getsource(art.TrainableModel.train_sft)
    assert "_prepare_backend_for_training" in inspect.getsource(art.TrainableModel.register)


def test_the_langgraph_integration_works_as_the_capture_layer_assumes():
    assert "CURRENT_CONFIG.set" in inspect.getsource(add_thread)
    assert CURRENT_CONFIG.name == "CURRENT_CONFIG"
    assert "inference_model_name" in inspect.getsource(wrap_rollout)
    assert _parameters(LoggingLLM.__init__) == ["self", "llm", "logger", "structured_output", "tools"]
    assert "self.logger.log(" in inspect.getsource(LoggingLLM._log)
    for name in ("chat_template_tool_schema_format",):
        assert name in _parameters(tokenize_trajectory)
        assert name in _parameters(tokenize_trajectory_groups)
    assert "token.split(" in inspect.getsource(tokenize_trajectory)


def test_importing_the_backend_leaves_asyncio_as_it_was():
    assert not hasattr(asyncio, "_nest_patched")
    assert asyncio.Task.__module__ == "_asyncio"
