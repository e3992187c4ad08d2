"""What all scripts do alike when they end badly: one line on stderr and an exit code."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from db.errors import InputError

BAD_INPUT, INTERRUPTED = 2, 130


@contextmanager
def exit_codes() -> Iterator[None]:
    """Bad input ends in one line and exit code 2, Ctrl-C in one line and 130; a bug keeps its traceback."""
    try:
        yield
    except InputError as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        raise SystemExit(BAD_INPUT) from None
    except KeyboardInterrupt as stop:
        sys.stderr.write(f"\nstopped: {stop or 'what was finished is kept, the same command goes on'}\n")
        raise SystemExit(INTERRUPTED) from None
