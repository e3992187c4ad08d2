"""The closed vocabulary of the small CPU policy, as an ordinary Hugging Face fast tokenizer.

One word, one venue, one slot value, one piece of Hermes syntax is one token, so that a model of a million
parameters can copy a venue's name in one step. The text it writes is plain Hermes all the same:
``<tool_call>\\n{"name": "find_hotels", "arguments": {"area": "north"}}\\n</tool_call>``.

Promises: ``encode(decode(ids)) == ids`` for everything the trained policy is taught to write, and a chat template in
which a later prompt extends an earlier one token for token. Words outside the vocabulary are spelled letter by
letter, accents are stripped, anything else is ``<unk>``.
"""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

PAD, UNK, END = "<|pad|>", "<unk>", "<|end|>"
ROLES = ("<|system|>", "<|user|>", "<|assistant|>", "<|tool|>")

CALL_OPEN = '<tool_call>\n{"name": "'
CALL_ARGUMENTS = '", "arguments": {"'
CALL_VALUE = '": "'
CALL_NEXT = '", "'
CALL_CLOSE = '"}}\n</tool_call>'
CALL_EMPTY = '", "arguments": {}}\n</tool_call>'
SYNTAX = (CALL_OPEN, CALL_ARGUMENTS, CALL_VALUE, CALL_NEXT, CALL_CLOSE, CALL_EMPTY)

WORD = r"\{[a-z_]+\.[a-z_]+\}|\d+:\d+|[a-z0-9_]+|[^\sa-z0-9_]"
"""A placeholder, a time of day, a word, or one sign."""

CLOCK = tuple(f"##:{minute:02d}" for minute in range(0, 60, 15))
"""Times are an hour and a quarter ("13", "##:45"): 28 tokens to copy where 96 would each be rare."""

SENTINEL = "zzreserved"
"""The last word of the vocabulary, never said: ART puts the highest unused token in an answer's place while it
tokenises (``art.preprocessing.tokenize``), so that token must be there and survive the template."""

CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,:;!?'\"-()&/[]{}|_<>#+*=%@$£"

CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{%- if message['role'] == 'assistant' -%}"
    "<|assistant|> {{ message['content'] or '' }}"
    "{%- for call in message['tool_calls'] or [] -%}"
    "{%- set function = call['function'] if call['function'] is defined else call -%}"
    '<tool_call>\n{"name": "{{ function[\'name\'] }}", "arguments": '
    "{%- if function['arguments'] is string %} {{ function['arguments'] }}"
    "{%- else %} {{ function['arguments'] | tojson }}{%- endif -%}"
    "}\n</tool_call>"
    "{%- endfor -%}<|end|>"
    "{%- else -%}<|{{ message['role'] }}|> {{ message['content'] }} {% endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)


def words_of(texts: Iterable[str]) -> list[str]:
    """The distinct words of ``texts``, sorted, cut as the tokenizer cuts."""
    pattern = re.compile(WORD)
    plain = ("".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)) for text in texts)
    found = {word for text in plain for word in pattern.findall(text.lower())}
    return sorted({word.split(":")[0] if word[0].isdigit() else word for word in found})


def build_tokenizer(texts: Iterable[str], phrases: Iterable[str]) -> PreTrainedTokenizerFast:
    """A tokenizer whose vocabulary is the words of ``texts`` plus ``phrases``, each of which is one token.

    Args:
        texts: Sentences, tool results, tool names: whatever the policy reads or writes, values filled or not.
        phrases: Values of several words, such as a venue's name or ``modern european``.
    """
    special = [PAD, UNK, END, *ROLES]
    letters = [*CHARACTERS, *(f"##{character}" for character in CHARACTERS), *CLOCK]
    words = [*(word for word in words_of(texts) if word not in letters), SENTINEL]
    vocabulary = {token: index for index, token in enumerate([*special, *letters, *words])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=UNK, max_input_chars_per_word=64))  # pyright: ignore[reportCallIssue]
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(WORD), "isolated"), pre_tokenizers.WhitespaceSplit()]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.WordPiece(prefix="##", cleanup=False),
            decoders.Fuse(),
            # Syntax and values are joined by spaces up to here; Hermes wants none inside its quotes.
            *(decoders.Replace(f" {piece}", piece) for piece in SYNTAX),
            *(decoders.Replace(f"{piece} ", piece) for piece in SYNTAX),
        ]
    )
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in SYNTAX])
    several = sorted({phrase.lower() for phrase in phrases if len(re.findall(WORD, phrase.lower())) > 1})
    tokenizer.add_tokens([AddedToken(phrase, single_word=True, normalized=True) for phrase in several])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNK,
        eos_token=END,
        clean_up_tokenization_spaces=False,
        model_max_length=2048,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def load_tokenizer(path: Path) -> PreTrainedTokenizerFast:
    """The tokenizer saved beside a policy's weights."""
    return PreTrainedTokenizerFast.from_pretrained(str(path))
