"""Python's cycle collector, kept from scanning a busy run again and again.

Hundreds of calls in flight look like garbage about to be, so by default everything that is loaded is walked many times a
second: a tenth of the CPU of a call. A run makes next to no cycles, so it is looked at rarely while it works.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

ALLOCATIONS = 50_000
"""Containers that may be made, beyond those that died, before the youngest are looked at; Python's own is 700."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """While inside; then as before."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
