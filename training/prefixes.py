"""What the sampler has computed before: cached positions found again by the tokens they stand for.

A dialogue's next prompt is its last prompt, the completion and a few new messages; siblings of a group share their
first turns. Both find the longest stored prefix here. The store holds opaque states and knows nothing of tensors.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

BLOCK = 16
"""Every so many tokens a stored sequence can also be found by a prefix of itself."""

_MODULUS = (1 << 61) - 1
_BASE = 1_000_003


@dataclass(eq=False)
class Saved:
    """One stored sequence: its tokens and the decoder's state for them."""

    ids: list[int]
    state: object
    keys: list[int] = field(default_factory=list)


class PrefixStore:
    """Keeps at most ``budget`` positions, dropping what was used longest ago."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._held = 0
        self._index: dict[int, tuple[Saved, int]] = {}
        self._recent: OrderedDict[int, Saved] = OrderedDict()

    def __len__(self) -> int:
        return len(self._recent)

    def longest(self, prompt: Sequence[int]) -> tuple[Saved | None, int]:
        """The stored sequence sharing the longest known prefix with ``prompt``, and that prefix's length.

        The length leaves at least one token of ``prompt`` to compute, since logits come from computing.
        """
        hashes = _hashes(prompt[:-1])
        for length in range(len(hashes), 0, -1):
            found = self._index.get(hashes[length - 1])
            if found is not None and found[1] == length and found[0].ids[:length] == list(prompt[:length]):
                self._recent.move_to_end(id(found[0]))
                return found
        return None, 0

    def add(self, ids: list[int], state: object, parent: Saved | None = None, reused: int = 0) -> None:
        """Store ``state`` for ``ids``; ``parent`` is dropped if all of it (``reused`` tokens) begins ``ids``."""
        if state is None or not ids:
            return
        if parent is not None and reused == len(parent.ids):
            self._drop(parent)
        saved = Saved(ids, state)
        hashes = _hashes(ids)
        for length in {*range(BLOCK, len(ids), BLOCK), len(ids)}:
            key = hashes[length - 1]
            self._index[key] = (saved, length)
            saved.keys.append(key)
        self._recent[id(saved)] = saved
        self._held += len(ids)
        while self._held > self._budget and len(self._recent) > 1:
            self._drop(next(iter(self._recent.values())))

    def _drop(self, saved: Saved) -> None:
        if self._recent.pop(id(saved), None) is None:
            return
        self._held -= len(saved.ids)
        for key in saved.keys:
            found = self._index.get(key)
            if found is not None and found[0] is saved:
                del self._index[key]


def _hashes(ids: Sequence[int]) -> list[int]:
    """A rolling hash of every prefix of ``ids``, shortest first."""
    value, values = 0, []
    for token in ids:
        value = (value * _BASE + token + 1) % _MODULUS
        values.append(value)
    return values
