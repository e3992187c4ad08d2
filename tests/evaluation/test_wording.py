"""Plausible English passes, whoever wrote it; values strewn for a pattern do not."""

import json
import zipfile
from pathlib import Path

import pytest

from evaluation.wording import implausibility
from tests.simulation.test_understanding import PROSE

CORPUS = Path("../shared/data/multiwoz-val.json.zip")


@pytest.mark.parametrize(
    "text",
    [
        "acorn guest house is available .",
        "parking at acorn guest house : yes .",
        "the phone number of cotto is 01223302010 . the postcode of cotto is cb11bg .",
        "How about the Ashley Hotel?",
        "there is no such hotel . would you like something else ?",
        *(text for text, _, _ in PROSE),
    ],
)
def test_sentences_pass(text: str):
    assert implausibility(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "acorn guest house 01223353888 cb41da north moderate 4 stars",
        "phone 01223353888 . postcode cb41da . area north",
        "hotel phone 01223353888 area north price cheap parking internet stars food booked confirmed available",
        "it is booked booked booked booked booked booked booked booked at acorn guest house .",
        "it is in the north . it is in the north . it is in the north . it is in the north . it is in the north .",
        "it is the avalon . 62 gilbert road . 4 stars . north .",
    ],
)
def test_strewn_values_do_not(text: str):
    assert implausibility(text) is not None


@pytest.mark.skipif(not CORPUS.exists(), reason="needs the MultiWOZ validation corpus")
def test_human_replies_pass():
    with zipfile.ZipFile(CORPUS) as archive:
        dialogues = json.loads(archive.read("val.json")).values()
    others = ("taxi", "train", "attraction", "hospital", "police")
    texts = [
        turn["text"]
        for dialogue in dialogues
        if not any(dialogue["goal"].get(other) for other in others)
        for turn in dialogue["log"][1::2]
    ]
    assert sum(implausibility(text) is None for text in texts) / len(texts) > 0.99
