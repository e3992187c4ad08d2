"""Whether a reply is English that a person could read, and not values strewn for a pattern to find.

A heuristic, calibrated on human replies (a test holds how few of MultiWOZ's it rejects). Database phrases are masked
first, so that only the words around them count. A reply that states values must have at least one sentence with a
verb; enough of its words must hold the others together; no word or pair of words comes back again and again. A
language model's list of labelled lines ("- Phone: 01223 ...") passes as long as real sentences stand around it.
"""

from collections import Counter
from itertools import pairwise

from simulation.lexicon import VALUE_WORDS, load_catalogue, word_set
from simulation.reading import Clause, read

MAX_WORD_REPEATS = 6
"""How often one word that is no function word may come in one reply."""
MAX_PAIR_REPEATS = 4
MIN_FUNCTION_SHARE = 0.2
"""The least share of function words and verbs among all words of a reply that states values."""
MAX_BARE_PIECES = 1
"""How many pieces may state values and have no function word, no label and no venue."""
MAX_BARE_NAMES = 5
"""How many may be a venue with its values and no more: the lines of a list."""

_FUNCTION_WORDS = word_set(
    "a an the it its it's 's i you your we they their them he she this that these those there here is are was "
    "were be been am 'm 're 've 'll 'd has have had do does did will would can could may might shall should must "
    "of in on at by for with to from as and or but if so not no any some all both each which who what when where "
    "how than about please yes also just only one okay ok sorry thank thanks dont doesnt cant couldnt isnt arent"
)
_VERBS = word_set(
    "is are was were be been am 's 're 'm 've has have had do does did offers offer includes include provides "
    "provide serves serve located booked found reserved recommend suggest matches match meets fits fit looks "
    "sounds would can could will shall may might seem seems enjoy choose try costs features isnt arent doesnt "
    "dont cant got gets made need needs want"
)
_EVERYDAY = word_set(
    "restaurant restaurants hotel hotels guesthouse guesthouses table room day time people night nights"
)


def implausibility(text: str) -> str | None:
    """What is wrong with the wording, ``None`` when nothing is."""
    clauses = read(text, load_catalogue()).clauses
    words = [word for clause in clauses for word in clause.words if word not in ",:"]
    return _repetition(words) or (_strewn(clauses, words) if any(map(_states, clauses)) else None)


def _repetition(words: list[str]) -> str | None:
    content = Counter(word for word in words if _is_plain(word) and word not in _FUNCTION_WORDS | _EVERYDAY)
    if content and content.most_common(1)[0][1] > MAX_WORD_REPEATS:
        return f"the word {content.most_common(1)[0][0]!r} again and again"
    pairs = Counter(pair for pair in pairwise(words) if any(_is_plain(word) for word in pair))
    if pairs and pairs.most_common(1)[0][1] > MAX_PAIR_REPEATS:
        return f"the words {' '.join(pairs.most_common(1)[0][0])!r} again and again"
    return None


def _strewn(clauses: list[Clause], words: list[str]) -> str | None:
    if not any(_holds_together(clause) for clause in clauses):
        return "values without a sentence"
    if sum(map(_function_words, clauses)) < MIN_FUNCTION_SHARE * len(words):
        return "a list of words"
    bare = [clause for clause in clauses if _states(clause) and not _function_words(clause) and ":" not in clause.words]
    named = sum(1 for clause in bare if clause.names)
    return "bare values" if named > MAX_BARE_NAMES or len(bare) - named > MAX_BARE_PIECES else None


def _holds_together(clause: Clause) -> bool:
    """Whether it has a verb, or is one of the usual ways to do without: "how about ...", "parking at ... : yes"."""
    words = set(clause.words)
    return bool(words & _VERBS or {"how", "about"} <= words or (":" in words and words & _FUNCTION_WORDS))


def _states(clause: Clause) -> bool:
    return bool(clause.entities) or bool(clause.values)


def _is_plain(word: str) -> bool:
    return word[0].isalpha() and word not in VALUE_WORDS


def _function_words(clause: Clause) -> int:
    return sum(1 for word in clause.words if word in _FUNCTION_WORDS or word in _VERBS)
