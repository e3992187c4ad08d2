"""Importing ART's local backend without its side effect on the whole process.

``art.local.backend`` imports ``mp_actors``, which calls ``nest_asyncio.apply()`` as it is imported: from then on every
task and future is a pure Python one, ``asyncio.run`` leaves its loop open and Ctrl-C takes another way. That serves
ART's child processes, which ``TorchBackend`` has none of.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import nest_asyncio


@contextmanager
def asyncio_left_alone() -> Iterator[None]:
    """Modules imported inside find a ``nest_asyncio.apply`` that does nothing."""
    apply = nest_asyncio.apply
    nest_asyncio.apply = lambda loop=None: None
    try:
        yield
    finally:
        nest_asyncio.apply = apply
