"""Kinds of values: which tokens they are, and that the small model starts with what each kind shares."""

from itertools import combinations
from statistics import fmean

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from db.seed import load_venues
from training.kinds import value_kinds
from training.small_model import SmallModelConfig, build_small_model
from training.tokenizer import build_tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    areas = " ".join(str(venue["area"]) for venue in load_venues("restaurant"))
    return build_tokenizer([areas, "monday tuesday a word at"], [str(venue["name"]) for venue in load_venues("hotel")])


def test_a_token_is_of_one_kind_and_a_kind_of_one_slot(tokenizer: PreTrainedTokenizerFast):
    kinds = value_kinds(tokenizer)
    tokens = [token for kind in kinds for token in kind]
    assert len(tokens) == len(set(tokens))
    spelled = [{str(tokenizer.decode([token])) for token in kind} for kind in kinds]
    assert {"monday", "tuesday"} in spelled
    assert {"north", "south", "east", "west", "centre"} in spelled
    hotels = {str(venue["name"]) for venue in load_venues("hotel")}
    assert next(kind for kind in spelled if "acorn guest house" in kind) <= hotels, "those of one word may be missing"


def test_first_embeddings_of_one_kind_are_alike_and_others_are_not(tokenizer: PreTrainedTokenizerFast):
    def likeness(config: SmallModelConfig) -> float:
        weight = build_small_model(tokenizer, config, seed=0).model.embed_tokens.weight.detach()
        hotels = value_kinds(tokenizer)[0][:12]
        return fmean(
            torch.cosine_similarity(weight[one], weight[other], dim=0).item() for one, other in combinations(hotels, 2)
        )

    assert likeness(SmallModelConfig()) == pytest.approx(0.5, abs=0.1)
    assert likeness(SmallModelConfig(kind_std=0.0)) == pytest.approx(0.0, abs=0.1)
