"""Governance: an experience lives by vote, and everyone can rebuild and check the library from the chain's events (SPEC 7).

`artifacts` are the compiled contracts (their sources: `contracts/` in a checkout), `contracts` deploys and finds them,
`history` replays their events, `content` holds what the digests stand for. Needs the extra [dao].
"""

import importlib
import sys
from contextlib import suppress


def _keep_recursion_limit() -> None:
    """`py_ecc`, which eth-account brings, raises Python's recursion limit a hundredfold on its first import.

    Deeply nested JSON from elsewhere would then end the process instead of being an error.
    """
    limit = sys.getrecursionlimit()
    with suppress(ImportError):
        importlib.import_module("py_ecc")
    sys.setrecursionlimit(limit)


_keep_recursion_limit()
