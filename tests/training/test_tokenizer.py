"""The closed vocabulary: what the policy writes survives decoding and encoding, prompts only ever grow."""

import json

import pytest
from transformers import PreTrainedTokenizerFast

from tests.training.dialogue import call, say
from training.chat import encode_messages, parse_completion
from training.tokenizer import END, UNK, build_tokenizer, load_tokenizer, words_of

TEXTS = ["i need a place to eat in the north , please .", "find_restaurants area name food centre", "the phone is"]
NAMES = ["pizza hut city centre", "rosa's bed and breakfast", "café élysée", "modern european"]
USER = {"role": "user", "content": "I need Pizza Hut City Centre, at 18:45, please!"}
CALL = call("find_restaurants", area="centre", name="pizza hut city centre")
ANSWERED = [{"role": "system", "content": "hotel"}, USER, CALL, {"role": "tool", "content": "1 found : café élysée"}]


@pytest.fixture(scope="module")
def closed() -> PreTrainedTokenizerFast:
    return build_tokenizer(TEXTS, NAMES)


def ids_of(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    return tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_one_token_whatever_its_case(closed: PreTrainedTokenizerFast, name: str):
    assert len(ids_of(closed, name)) == len(ids_of(closed, name.upper())) == 1


def test_a_name_inside_a_word_is_no_name(closed: PreTrainedTokenizerFast):
    assert len(ids_of(closed, "xmodern europeanx")) > 1


def test_a_time_is_an_hour_and_a_quarter():
    tokens = build_tokenizer(["at 18:45 or 09:15"], []).tokenize("18:45")
    assert tokens == ["18", "##:45"]


def test_a_call_is_written_as_hermes_and_read_back(closed: PreTrainedTokenizerFast):
    ids = encode_messages(closed, [CALL], None, prompt=False)
    text = closed.decode(ids, skip_special_tokens=True)
    assert isinstance(text, str)
    [read] = parse_completion(text).calls
    assert (read.name, read.arguments) == ("find_restaurants", {"area": "centre", "name": "pizza hut city centre"})
    assert json.loads(text.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>"))["name"] == "find_restaurants"


def test_a_call_without_arguments_is_read_back(closed: PreTrainedTokenizerFast):
    text = closed.decode(encode_messages(closed, [call("find_restaurants")], None, prompt=False))
    assert isinstance(text, str)
    [read] = parse_completion(text).calls
    assert read.arguments == {}


def test_decoding_and_encoding_again_changes_nothing(closed: PreTrainedTokenizerFast):
    ids = encode_messages(closed, [*ANSWERED, say("the phone is {restaurant.phone} .")], None, prompt=False)
    text = closed.decode(ids)
    assert isinstance(text, str)
    assert ids_of(closed, text) == ids


def test_a_later_prompt_extends_an_earlier_one(closed: PreTrainedTokenizerFast):
    first = encode_messages(closed, ANSWERED[:2], None, prompt=True)
    answered = encode_messages(closed, ANSWERED[:3], None, prompt=False)
    later = encode_messages(closed, ANSWERED, None, prompt=True)
    assert answered[: len(first)] == first
    assert later[: len(answered)] == answered
    assert closed.convert_ids_to_tokens(answered)[-1] == END


def test_what_is_outside_the_vocabulary_is_spelled_without_accents(closed: PreTrainedTokenizerFast):
    assert closed.tokenize("Zoë") == ["z", "##o", "##e"]
    assert closed.tokenize("宿") == [UNK]


def test_a_saved_tokenizer_is_the_same(closed: PreTrainedTokenizerFast, tmp_path):
    closed.save_pretrained(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert encode_messages(loaded, ANSWERED, None, prompt=True) == encode_messages(closed, ANSWERED, None, prompt=True)


def test_words_are_cut_as_the_tokenizer_cuts():
    assert words_of(["It 's {hotel.phone} , 10:30 ."]) == ["'", ",", ".", "10", "it", "s", "{hotel.phone}"]
