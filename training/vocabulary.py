"""Which words the small policy knows: the database's, the simulated user's, the tools', the teacher's.

Closed on purpose: a million parameters cannot learn to spell. Words of held-out user sentences are in it too (they
were never trained, but they are no riddle of letters either); what a person types besides is spelled.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from transformers import PreTrainedTokenizerFast

from db.seed import load_venues
from simulation.wordings import templates
from tools.results import Domain
from tools.schemas import SCHEMAS
from training.chat import Message
from training.tokenizer import build_tokenizer, words_of

DOMAINS: tuple[Domain, ...] = ("hotel", "restaurant")
SPOKEN_SLOTS = ("area", "pricerange", "type", "stars", "internet", "parking", "food")


def build_vocabulary(sft_file: Path) -> PreTrainedTokenizerFast:
    """The tokenizer for a policy that learns from the dialogues of ``sft_file``."""
    venues = [venue for domain in DOMAINS for venue in load_venues(domain)]
    names = [str(venue["name"]) for venue in venues]
    values = {str(venue[slot]) for venue in venues for slot in SPOKEN_SLOTS if venue.get(slot)}
    counts = [str(number) for number in range(len(venues) + 1)]
    hours = [f"{hour:02d}" for hour in range(24)]
    one_word = [name for name in names if len(words_of([name])) == 1]
    texts = [*_sentences(), *values, *one_word, *counts, *hours, *_tool_words(), *_dialogue_texts(sft_file, names)]
    return build_tokenizer(texts, [*names, *(value for value in values if " " in value)])


def _sentences() -> Iterator[str]:
    for slots in templates("all").values():
        for sentences in slots.values():
            yield from sentences


def _tool_words() -> Iterator[str]:
    for name, schema in SCHEMAS.items():
        yield name
        yield from schema.model_fields


def _dialogue_texts(sft_file: Path, names: list[str]) -> Iterator[str]:
    """Every text of the dialogues, venue names left out: those are tokens of their own."""
    longest_first = sorted(names, key=len, reverse=True)
    seen: set[str] = set()
    with sft_file.open(encoding="utf-8") as lines:
        for line in lines:
            for message in json.loads(line)["messages"]:
                for text in _message_texts(message):
                    if text not in seen:
                        seen.add(text)
                        yield _without(text, longest_first)


def _message_texts(message: Message) -> Iterator[str]:
    yield str(message.get("content") or "")
    for call in message.get("tool_calls") or []:  # pyright: ignore[reportGeneralTypeIssues]
        yield from (str(value) for value in call["function"]["arguments"].values())


def _without(text: str, names: list[str]) -> str:
    lowered = text.lower()
    for name in names:
        if name in lowered:
            lowered = lowered.replace(name, " ")
    return lowered
