"""The CPU policy: a Qwen2-architecture language model small enough to learn from scratch in minutes."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import nn
from transformers import PreTrainedTokenizerBase, Qwen2Config, Qwen2ForCausalLM

from training.kinds import value_kinds


@dataclass(frozen=True)
class SmallModelConfig:
    """Sizes of the small model; the defaults were measured to learn fastest per CPU second (docs/log.md)."""

    width: int = 144
    """Hidden size."""
    layers: int = 3
    heads: int = 3
    """Query heads; key/value heads are as many."""
    feedforward: int = 384
    """SwiGLU inner size."""
    max_positions: int = 2048
    embedding_std: float = 0.3
    """Of the initial token embeddings, which are also the output layer: fifteen times the usual value, so that what
    a token is outweighs what the untrained layers add; copying then appears in a third of the dialogues."""
    kind_std: float = 0.3
    """Of what the initial embeddings of values of one kind share (``training.kinds``), so that it need not be learnt
    hour by hour that all of them are hours; 0 leaves it out."""


def build_small_model(tokenizer: PreTrainedTokenizerBase, config: SmallModelConfig, seed: int) -> Qwen2ForCausalLM:
    """A randomly initialised model in float32, its vocabulary that of ``tokenizer``, reproducible from ``seed``."""
    pad, end = tokenizer.pad_token_id, tokenizer.eos_token_id
    assert isinstance(pad, int)
    assert isinstance(end, int)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen2ForCausalLM(
            Qwen2Config(
                vocab_size=len(tokenizer),
                hidden_size=config.width,
                intermediate_size=config.feedforward,
                num_hidden_layers=config.layers,
                num_attention_heads=config.heads,
                num_key_value_heads=config.heads,
                max_position_embeddings=config.max_positions,
                tie_word_embeddings=True,
                pad_token_id=pad,
                bos_token_id=None,
                eos_token_id=end,
            )
        )
        with torch.no_grad():
            weight = cast("nn.Embedding", model.get_input_embeddings()).weight
            weight.normal_(0.0, config.embedding_std)
            for kind in value_kinds(tokenizer):
                weight[kind] += config.kind_std * torch.randn(weight.shape[1])
    return model.float()
