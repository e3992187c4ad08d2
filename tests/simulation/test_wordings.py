"""The user's sentences, and their split into training and held-out wordings."""

import random
import re

import pytest

from simulation.records import Act
from simulation.wordings import Wordings, render, split_sentences, templates

ACTS = ("hotel-inform", "hotel-request", "restaurant-inform", "restaurant-request", "general-bye")


def essence(sentence: str) -> str:
    return re.sub(r"[^a-z0-9#]+", "", sentence.lower())


def test_every_act_and_slot_is_split_without_loss_and_without_overlap():
    for act in ACTS:
        for slot, sentences in templates("all")[act].items():
            train, held_out = templates("train")[act][slot], templates("heldout")[act][slot]
            assert sorted((*train, *held_out)) == sorted(sentences)
            assert {essence(each) for each in train}.isdisjoint(essence(each) for each in held_out)
            assert train
            assert held_out


def test_about_a_third_is_held_out():
    held_out = sum(len(templates("heldout")[act][slot]) for act in ACTS for slot in templates("all")[act])
    everything = sum(len(sentences) for act in ACTS for sentences in templates("all")[act].values())
    assert 0.2 < held_out / everything < 0.4


def test_the_split_never_moves():
    """Scores on held-out wordings are comparable only while this holds."""
    assert templates("heldout")["hotel-inform"]["internet"] == ("I need one with wifi .",)


def test_copies_that_differ_in_case_and_punctuation_stay_together():
    sentences = ["How about #A# ?", "how about #A#", "Try #A# ."]
    sides = {wordings: split_sentences(sentences, wordings) for wordings in ("train", "heldout")}
    assert sorted(map(len, sides.values())) == [1, 2]


def test_a_single_sentence_is_on_both_sides():
    assert split_sentences(["Hello !"], "train") == split_sentences(["Hello !"], "heldout") == ("Hello !",)


EVERY_ACT: list[Act] = [
    ("inform", "hotel", "area", "north"),
    ("inform", "hotel", "pricerange", "cheap"),
    ("inform", "restaurant", "pricerange", "in the same price range as the hotel"),
    ("inform", "hotel", "stars", "dontcare"),
    ("inform", "hotel", "parking", "no"),
    ("inform", "hotel", "choice", "any"),
    ("inform", "hotel", "notbook", ""),
    ("inform", "restaurant", "time", "12:15"),
    ("request", "hotel", "postcode", ""),
    ("request", "restaurant", "food", ""),
    ("inform", "hotel", "", ""),
    ("bye", "general", "", ""),
]


@pytest.mark.parametrize("act", EVERY_ACT, ids=str)
def test_training_and_held_out_texts_never_meet(act: Act):
    said: dict[Wordings, set[str]] = {
        wordings: {render([act], random.Random(seed), wordings) for seed in range(150)}
        for wordings in ("all", "train", "heldout")
    }
    assert said["train"] | said["heldout"] == said["all"]
    if len(said["all"]) > 1:
        assert said["train"].isdisjoint(said["heldout"])


def test_values_stand_in_the_text():
    assert "12:15" in render([("inform", "restaurant", "time", "12:15")], random.Random(1))
    assert "cb21ab" in render([("inform", "hotel", "name", "cb21ab")], random.Random(1))


def test_the_same_generator_gives_the_same_text():
    first, second = (render(EVERY_ACT, random.Random(4)) for _ in range(2))
    assert first == second
