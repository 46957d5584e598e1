"""BLAS on one thread: two that wait for each other actively stall where cores are shared with a model server.

On a busy machine of 2 cores one thread embedded thirty times as many sentences a second as two.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Matrix products inside use one thread, where threadpoolctl is installed; elsewhere nothing changes."""
    controller = _controller()
    return nullcontext() if controller is None else controller.limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    """Of the BLAS that numpy has loaded."""
    import numpy  # noqa: F401 - a library that is not loaded yet cannot be found

    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
