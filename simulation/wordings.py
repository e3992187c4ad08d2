"""The user's sentences: ConvLab's manual templates, whole or split into training and held-out wordings.

Owns the split: a fixed hash of the sentence, so that it never moves; within each act and slot with two or more
sentences both sides keep at least one. Sentences come from ConvLab's ``TemplateNLG`` in mode ``manual``; where it
chooses among sentences written in its code (``dontcare``, "pick one for me"), they are split by position.
"""

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Final, Literal, cast

from simulation.act_names import to_unified
from simulation.convlab_adapter import TemplateNLG, drawing_from
from simulation.records import Act

_Templates = Mapping[str, Mapping[str, Sequence[str]]]
Wordings = Literal["all", "train", "heldout"]

_HELD_OUT_SHARE: Final = 0.3
_SALT: Final = "concierge-wordings-1"


def render(acts: Sequence[Act], rng: random.Random, wordings: Wordings = "all") -> str:
    """The acts in English, one sentence per act, drawn with ``rng``."""
    with drawing_from(rng, partial(_narrow, wordings=wordings)):
        return " ".join(_templates(wordings).generate(to_unified(acts)).split())


def templates(wordings: Wordings) -> _Templates:
    """``{"hotel-inform": {"price": (sentence, ...)}}``: what ``render`` draws from, for tests and vocabularies."""
    return cast("_Templates", _templates(wordings).manual_user_template)


def _narrow(options: Sequence[object], wordings: Wordings) -> Sequence[object]:
    """Templates are tuples and already split; lists are sentences in ConvLab's code: the last one is held out."""
    if wordings == "all" or isinstance(options, tuple) or len(options) < 2:
        return options
    return options[-1:] if wordings == "heldout" else options[:-1]


@cache
def _templates(wordings: Wordings) -> TemplateNLG:
    nlg = TemplateNLG(is_user=True, mode="manual")
    whole = cast("_Templates", nlg.manual_user_template)
    nlg.manual_user_template = {
        act: {slot: split_sentences(sentences, wordings) for slot, sentences in slots.items()}
        for act, slots in whole.items()
    }
    return nlg


def split_sentences(sentences: Sequence[str], wordings: Wordings) -> tuple[str, ...]:
    """The sentences of one act and slot that belong to ``wordings``, in their order."""
    distinct = {_essence(sentence): None for sentence in sentences}
    if wordings == "all" or len(distinct) < 2:
        return tuple(sentences)
    ranked = sorted(distinct, key=_position)
    held_out = {essence for essence in ranked if _position(essence) < _HELD_OUT_SHARE}
    held_out = held_out or {ranked[0]}
    if len(held_out) == len(ranked):
        held_out.remove(ranked[-1])
    return tuple(sentence for sentence in sentences if (_essence(sentence) in held_out) == (wordings == "heldout"))


def _essence(sentence: str) -> str:
    """The sentence without case, spacing and punctuation: copies that differ in those belong together."""
    return re.sub(r"[^a-z0-9#]+", "", sentence.lower())


def _position(essence: str) -> float:
    return int(hashlib.sha256(f"{_SALT}:{essence}".encode()).hexdigest()[:8], 16) / 16**8
