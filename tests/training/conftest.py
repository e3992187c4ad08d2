"""A tiny tokenizer and two tiny policies: one random, one that has learned a dialogue by heart."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from tests.training.dialogue import DIALOGUE, TEXTS
from training.supervised import supervised_loss, tokenise_history
from training.tokenizer import build_tokenizer


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    return build_tokenizer(TEXTS, ["acorn guest house", "hôtel félix"])


def build_model(tokenizer: PreTrainedTokenizerFast, seed: int = 0, **overrides: int | bool) -> PreTrainedModel:
    """A random Qwen2 of two layers whose norms and biases are not the trivial ones."""
    torch.manual_seed(seed)
    sizes = {
        "vocab_size": len(tokenizer),
        "hidden_size": 48,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
    }
    model = Qwen2ForCausalLM(Qwen2Config(**{**sizes, **overrides})).float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            scale = 0.1 if parameter.dim() == 1 else 3 * parameter.std()
            parameter.add_(torch.randn_like(parameter) * scale)
    return model


@pytest.fixture(scope="session")
def random_model(tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    return build_model(tokenizer)


@pytest.fixture(scope="session")
def learned_model(tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    """Knows ``DIALOGUE`` by heart, though not with certainty."""
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(build_model(tokenizer).config).float()
    rows = [tokenise_history(messages, None, tokenizer) for messages in DIALOGUE]
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    loss = torch.tensor(9.0)
    for _ in range(400):
        optimizer.zero_grad()
        loss = supervised_loss(model, rows) / sum(sum(row.trained) for row in rows)
        loss.backward()
        optimizer.step()
        if loss < 0.02:
            break
    assert loss < 0.02
    return model.eval()


@pytest.fixture(scope="session")
def learned_dir(
    learned_model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The learned policy as a Hugging Face directory."""
    path = tmp_path_factory.mktemp("learned")
    learned_model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="session")
def random_dir(
    random_model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The random policy as a Hugging Face directory."""
    path = tmp_path_factory.mktemp("random")
    random_model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path
