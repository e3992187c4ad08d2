"""Where CPU time goes: every millisecond of it is put down to whose code is innermost."""

import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType


@contextmanager
def sampled(owners: Mapping[str, str], rest: str, every_s: float = 0.001) -> Iterator[Counter[str]]:
    """Counts whose code the CPU is in while the block runs, at every ``every_s`` of CPU time.

    By signal and not by a thread: a thread only gets to look when somebody lets go of the interpreter's lock.

    Args:
        owners: Part of a file's path -> who it works for; the innermost frame that matches owns the sample.
        rest: Who owns a sample that no frame matches.
    """
    counts: Counter[str] = Counter()

    def sample(_signal: int, frame: FrameType | None) -> None:
        counts[_owner(frame, owners) or rest] += 1

    before = signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, every_s, every_s)
    try:
        yield counts
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _owner(frame: FrameType | None, owners: Mapping[str, str]) -> str | None:
    while frame is not None:
        for part, owner in owners.items():
            if part in frame.f_code.co_filename:
                return owner
        frame = frame.f_back
    return None
