"""The same dialogue in other values and other words, so that copying and listening are learnt and not the corpus.

A model of a million parameters that sees "alexander bed and breakfast" twice in its life learns to write the names it
saw often. Swapping each value for another of its kind, consistently within a history, shows every value equally often
(lexical value substitution; cf. Kale & Rastogi 2020 for the opposite, delexicalised, direction). Works on tokens, since
in the small policy's vocabulary a value is one token. A kind is left alone in a history whose answers hold a value of
it that was not read there, because then the answer was not a copy.

Word noise replaces and drops words of the user as long as the rule-based reading of the sentence stays the same, so
that what matters in a sentence is told from what stands beside it (cf. Xie et al. 2017, "unigram noising"; the check is
ours).
"""

import random
from collections.abc import Sequence
from typing import cast

from transformers import PreTrainedTokenizerBase

from agents.reading import named_domains, read
from training.chat import Message, ToolSchema
from training.kinds import value_kinds
from training.supervised import Row, tokenise_history

UNBOOKED = tuple(f"{hour:02d}" for hour in (*range(10), 22, 23))
"""Hours when no table is booked: they would be learnt for nothing."""
SWAPPED = 0.5
"""Share of the histories whose values are swapped: what is frequent in the corpus stays frequent."""

NOISE_LEVELS = (0.0, 0.1, 0.2, 0.3)
"""Share of a history's words that are touched: one level per history, so that clean sentences stay frequent."""
DROPPED = 0.3
"""Share of the touched words that are left out; the others are replaced."""
TRIES = 2


class Augmentation:
    """Renders a history as a row, varied as configured; without either, exactly ``tokenise_history``."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, values: bool, words: bool) -> None:
        self._tokenizer = tokenizer
        self._values = ValueSwap(tokenizer) if values else None
        self._words = WordNoise(tokenizer) if words else None

    def __call__(self, messages: Sequence[Message], tools: Sequence[ToolSchema] | None, rng: random.Random) -> Row:
        """One row; ``rng`` decides every variation.

        :raises ValueError: the chat template rewrites history.
        """
        said = self._words(messages, rng) if self._words else messages
        row = tokenise_history(said, tools, self._tokenizer)
        return self._values(row, rng) if self._values and rng.random() < SWAPPED else row


class ValueSwap:
    """Swaps values of one kind among each other; kinds are sets of token ids."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        vocabulary = tokenizer.get_vocab()
        never = {vocabulary.get(hour) for hour in UNBOOKED}
        self._kinds = [[token for token in kind if token not in never] for kind in value_kinds(tokenizer)]
        self._kind_of = {token: number for number, kind in enumerate(self._kinds) for token in kind}

    def __call__(self, row: Row, rng: random.Random) -> Row:
        """``row`` with the values of each kind that its answers only copy renamed by one random permutation."""
        read: set[int] = set()
        kinds: set[int] = set()
        invented: set[int] = set()
        for token, trained in zip(row.ids, row.trained, strict=True):
            kind = self._kind_of.get(token)
            if kind is None:
                continue
            kinds.add(kind)
            if trained and token not in read:
                invented.add(kind)
            read.add(token)
        swaps: dict[int, int] = {}
        for kind in sorted(kinds - invented):
            values = self._kinds[kind]
            swaps |= dict(zip(values, rng.sample(values, len(values)), strict=True))
        return Row(tuple(swaps.get(token, token) for token in row.ids), row.trained)


class WordNoise:
    """Touches words of the user that the reading of its sentence does not depend on."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._words = sorted(word for word in tokenizer.get_vocab() if word.isalpha() and len(word) > 1)

    def __call__(self, messages: Sequence[Message], rng: random.Random) -> list[Message]:
        """``messages`` with noise in what the user said; every other message is left as it is."""
        level = rng.choice(NOISE_LEVELS)
        if not level:
            return list(messages)
        return [
            cast("Message", {**message, "content": self._noisy(str(message["content"]), level, rng)})
            if message["role"] == "user"
            else message
            for message in messages
        ]

    def _noisy(self, content: str, level: float, rng: random.Random) -> str:
        """The compact style puts ``active | `` before what the user said, or ``[shared slots]`` on a line after it."""
        active, bar, rest = content.partition(" | ")
        if not bar:
            active, rest = "", content
        said, line, shared = rest.partition("\n")
        meant = _meaning(said)
        for _ in range(TRIES):
            words = [self._touched(word, rng) if rng.random() < level else word for word in said.split()]
            noisy = " ".join(word for word in words if word)
            if noisy and _meaning(noisy) == meant:
                return f"{active}{bar}{noisy}{line}{shared}"
        return content

    def _touched(self, word: str, rng: random.Random) -> str:
        if not word.isalpha():
            return word
        return "" if rng.random() < DROPPED else rng.choice(self._words)


def _meaning(said: str) -> object:
    return read(said, "hotel"), read(said, "restaurant"), named_domains(said)
