"""Supervised fine-tuning: what carries loss, and that batching changes nothing."""

import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from tests.training.dialogue import DIALOGUE
from training.chat import encode_messages
from training.optimizers import OptimizerConfig, build_optimizer
from training.supervised import Row, like_lengths, supervised_loss, tokenise_history


@pytest.fixture(scope="module")
def rows(tokenizer: PreTrainedTokenizerFast) -> list[Row]:
    return [tokenise_history(messages, None, tokenizer) for messages in DIALOGUE]


def test_only_what_the_assistant_wrote_is_trained_up_to_its_end_token(rows, tokenizer):
    for row, messages in zip(rows, DIALOGUE, strict=True):
        trained = [token for token, flag in zip(row.ids, row.trained, strict=True) if flag]
        answers = [message for message in messages if message["role"] == "assistant"]
        # The first token only says whose turn it is: it is the prompt's last.
        written = [encode_messages(tokenizer, [message], None, prompt=False) for message in answers]
        assert trained == [token for each in written for token in each[1:]]
        assert trained.count(tokenizer.eos_token_id) == len(answers)


def test_a_row_begins_as_the_server_renders_each_prompt(rows, tokenizer):
    for row, messages in zip(rows, DIALOGUE, strict=True):
        for index, message in enumerate(messages):
            if message["role"] == "assistant":
                prompt = encode_messages(tokenizer, messages[:index], None, prompt=True)
                assert list(row.ids[: len(prompt)]) == prompt
                assert row.trained[len(prompt)]


def test_a_template_that_rewrites_history_is_refused(tokenizer: PreTrainedTokenizerFast):
    forgetful = type(tokenizer)(tokenizer_object=tokenizer.backend_tokenizer, eos_token="<|end|>")
    forgetful.chat_template = "{% for m in messages %}{{ loop.length }} {{ m['content'] }} {% endfor %}"
    with pytest.raises(ValueError, match="rewrites history"):
        tokenise_history(DIALOGUE[0], None, forgetful)


def test_every_row_is_in_one_group_of_like_length():
    rows = [Row((0,) * length, (True,) * length) for length in (5, 90, 6, 100, 11, 7)]
    groups = list(like_lengths(rows, tokens=250))
    assert sorted(len(row.ids) for group in groups for row in group) == [5, 6, 7, 11, 90, 100]
    assert all(len(group[-1].ids) <= 2 * len(group[0].ids) for group in groups)
    assert all(len(group) * len(group[-1].ids) <= 250 for group in groups)


def test_the_loss_does_not_depend_on_how_rows_are_batched(rows, random_model: PreTrainedModel):
    together = supervised_loss(random_model, rows)
    apart = sum(supervised_loss(random_model, [row]) for row in rows)
    assert isinstance(apart, torch.Tensor)
    assert together.item() == pytest.approx(apart.item(), rel=1e-5)


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_an_optimiser_taken_up_again_goes_on_as_if_it_had_not_stopped(kind, rows, tokenizer):
    from tests.training.conftest import build_model

    def train(model: PreTrainedModel, optimizer, steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            supervised_loss(model, rows).backward()
            optimizer.step(1e-3)

    config = OptimizerConfig(kind=kind)
    whole, parted = build_model(tokenizer), build_model(tokenizer)
    train(whole, build_optimizer(whole, config), 4)
    first = build_optimizer(parted, config)
    train(parted, first, 2)
    second = build_optimizer(parted, config)
    second.load_state_dict(first.state_dict())
    train(parted, second, 2)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), parted.parameters(), strict=True))


def test_another_kind_of_optimiser_is_not_taken_up(random_model: PreTrainedModel):
    state = build_optimizer(random_model, OptimizerConfig(kind="muon")).state_dict()
    with pytest.raises(ValueError, match="2 parts"):
        build_optimizer(random_model, OptimizerConfig(kind="adamw")).load_state_dict(state)
