"""The hand-written forward pass against Hugging Face's."""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedModel

from tests.training.conftest import build_model
from training.decoder import FusedDecoder, HuggingFaceDecoder, build_decoder

VOCABULARY = 90


def _llama() -> PreTrainedModel:
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=1,
        max_position_embeddings=256,
    )
    return LlamaForCausalLM(config).eval()


def _gpt2() -> PreTrainedModel:
    torch.manual_seed(1)
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=2, n_positions=128)).eval()


@pytest.fixture(params=["qwen2", "qwen2-untied", "llama", "gpt2"])
def model(request: pytest.FixtureRequest, tokenizer) -> PreTrainedModel:
    match request.param:
        case "qwen2":
            return build_model(tokenizer)
        case "qwen2-untied":
            return build_model(tokenizer, tie_word_embeddings=False, num_key_value_heads=4)
        case "llama":
            return _llama()
    return _gpt2()


def test_the_architectures_it_knows_take_the_fast_path(tokenizer):
    assert isinstance(build_decoder(build_model(tokenizer), 2, 64), FusedDecoder)
    assert isinstance(build_decoder(_llama(), 2, 64), FusedDecoder)
    assert isinstance(build_decoder(_gpt2(), 2, 64), HuggingFaceDecoder)


def test_ragged_prefill_and_steps_give_the_models_own_logprobs(model):
    decoder = build_decoder(model, rows=6, max_positions=64)
    torch.manual_seed(0)
    ids = torch.randint(0, VOCABULARY, (3, 40))
    with torch.no_grad():
        expected = torch.log_softmax(model(ids).logits, -1)
    lengths = [20, 13, 7]
    rows = range(2, 5)
    logits = decoder.extend(rows, ids[:, :20], torch.zeros(3, dtype=torch.long), torch.tensor(lengths) - 1)
    for step in range(10):
        for row, length in enumerate(lengths):
            torch.testing.assert_close(
                torch.log_softmax(logits[row], -1), expected[row, length + step - 1], atol=1e-5, rtol=0
            )
        now = torch.tensor(lengths) + step
        logits = decoder.extend(rows, ids[torch.arange(3), now][:, None], now, torch.zeros(3, dtype=torch.long))


def test_half_precision_follows_the_model_closely(tokenizer):
    model = build_model(tokenizer).bfloat16()
    decoder = build_decoder(model, rows=2, max_positions=64)
    ids = torch.randint(0, VOCABULARY, (2, 12), generator=torch.Generator().manual_seed(3))
    zero = torch.zeros(2, dtype=torch.long)
    decoder.extend(range(2), ids[:, :11], zero, zero + 10)
    logits = decoder.extend(range(2), ids[:, 11:], zero + 11, zero)
    with torch.no_grad():
        torch.testing.assert_close(logits, model(ids).logits[:, -1], atol=0.15, rtol=0.05)


def test_a_moved_row_goes_on_where_it_was(model):
    decoder = build_decoder(model, rows=3, max_positions=64)
    ids = torch.randint(0, VOCABULARY, (1, 12), generator=torch.Generator().manual_seed(3))
    zero = torch.zeros(1, dtype=torch.long)
    decoder.extend(range(2, 3), ids[:, :11], zero, zero + 10)
    decoder.move(2, 0, 11)
    logits = decoder.extend(range(1), ids[:, 11:], zero + 11, zero)
    with torch.no_grad():
        torch.testing.assert_close(logits, model(ids).logits[:, -1], atol=1e-4, rtol=1e-4)


def test_a_restored_prefix_is_as_good_as_a_computed_one(random_model):
    decoder = build_decoder(random_model, rows=3, max_positions=64)
    ids = torch.randint(0, VOCABULARY, (1, 12), generator=torch.Generator().manual_seed(3))
    zero = torch.zeros(1, dtype=torch.long)
    decoder.extend(range(1), ids[:, :10], zero, zero + 9)
    saved = decoder.save(0, 10)
    decoder.restore(2, saved, 8)
    logits = decoder.extend(range(2, 3), ids[:, 8:], zero + 8, zero + 3)
    with torch.no_grad():
        torch.testing.assert_close(logits, random_model(ids).logits[:, -1], atol=1e-4, rtol=1e-4)
