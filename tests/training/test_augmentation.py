"""Augmentation: a varied history is still a dialogue whose answers follow from what was read."""

import random

import pytest
from transformers import PreTrainedTokenizerFast

from agents.reading import named_domains, read
from db.seed import load_venues
from tests.training.dialogue import call, say
from training.augmentation import Augmentation, ValueSwap, WordNoise
from training.supervised import Row, tokenise_history
from training.tokenizer import build_tokenizer

SAID = "i would really love to find a cheap hotel in the north please ."
HISTORY = [
    {"role": "system", "content": "hotel"},
    {"role": "user", "content": SAID},
    call("find_hotels", area="north", pricerange="cheap"),
    {"role": "tool", "content": "1 found : city centre north b and b area north"},
    say("city centre north b and b is in the north ."),
]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    values = " ".join(
        str(venue[slot]) for venue in load_venues("restaurant") for slot in ("area", "pricerange", "food")
    )
    texts = [SAID, values, "find_hotels area pricerange 1 found : is in the , system hotel | router moderate"]
    names = [str(venue["name"]) for domain in ("hotel", "restaurant") for venue in load_venues(domain)]
    return build_tokenizer(texts, names)


@pytest.fixture(scope="module")
def row(tokenizer: PreTrainedTokenizerFast) -> Row:
    return tokenise_history(HISTORY, None, tokenizer)


def words(tokenizer: PreTrainedTokenizerFast, row: Row) -> list[str]:
    return [str(tokenizer.decode([token])) for token in row.ids]


def test_a_swap_renames_a_value_everywhere_it_stands(tokenizer, row):
    swap = ValueSwap(tokenizer)
    before = words(tokenizer, row)
    seen = set()
    for seed in range(20):
        swapped = swap(row, random.Random(seed))
        after = words(tokenizer, swapped)
        renamed = dict(zip(before, after, strict=True))
        assert [renamed[word] for word in before] == after, "one value became two"
        assert swapped.trained == row.trained
        seen.add((renamed["north"], renamed["city centre north b and b"]))
        assert renamed["hotel"] == "hotel"
        assert renamed["love"] == "love"
    assert len({area for area, _ in seen}) > 3
    assert len({name for _, name in seen}) > 10


def test_a_value_stays_where_the_answer_did_not_copy_it(tokenizer: PreTrainedTokenizerFast):
    history = [{"role": "user", "content": "a place in the town middle , cheap ."}, say("the centre is cheap .")]
    row = tokenise_history(history, None, tokenizer)
    swap = ValueSwap(tokenizer)
    prices = set()
    for seed in range(20):
        after = words(tokenizer, swap(row, random.Random(seed)))
        assert "centre" in after
        prices |= {"cheap", "moderate", "expensive"}.intersection(after)
    assert prices == {"cheap", "moderate", "expensive"}


def test_noise_leaves_the_meaning_and_everyone_else_alone(tokenizer: PreTrainedTokenizerFast):
    noise = WordNoise(tokenizer)
    sentences = set()
    for seed in range(60):
        noisy = noise(HISTORY, random.Random(seed))
        assert [noisy[at] for at in (0, 2, 3, 4)] == [HISTORY[at] for at in (0, 2, 3, 4)]
        said = str(noisy[1]["content"])
        assert read(said, "hotel") == read(SAID, "hotel")
        assert named_domains(said) == named_domains(SAID)
        sentences.add(said)
    assert SAID in sentences
    assert len(sentences) > 8


@pytest.mark.parametrize("content", [f"restaurant | {SAID}", f"{SAID}\n[area north]"])
def test_noise_leaves_the_marks_around_the_sentence(content: str, tokenizer: PreTrainedTokenizerFast):
    noise = WordNoise(tokenizer)
    before, after = content.split(SAID)
    contents = {str(noise([{"role": "user", "content": content}], random.Random(n))[0]["content"]) for n in range(30)}
    assert len(contents) > 5
    assert all(each.startswith(before) and each.endswith(after) for each in contents)


def test_without_either_a_row_is_rendered_as_the_server_does(tokenizer, row):
    plain = Augmentation(tokenizer, values=False, words=False)
    assert plain(HISTORY, None, random.Random(0)) == row


def test_the_generator_decides_every_variation(tokenizer: PreTrainedTokenizerFast):
    augmentation = Augmentation(tokenizer, values=True, words=True)
    first, again, other = (augmentation(HISTORY, None, random.Random(seed)) for seed in (7, 7, 8))
    assert first == again
    assert first != other
