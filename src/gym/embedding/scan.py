"""Cosines of a query that comes alone: of bytes first, then exact ones of those rows that can be meant.

One query against 100,000 rows of 384 float32 waits for 154 MB of memory. As bytes they are a quarter of it, and
the product of bytes (numkong, in SIMD) is off by no more than rounding can do, which Cauchy and Schwarz bound: only rows that
the bound cannot tell from a hit are computed again. So the hits, their order and their cosines are those of `search.cosines`.
"""

from typing import Any

from gym.embedding import Vectors
from gym.embedding.search import cosines

LEAST = 4096
"""Rows from which it is worth the making."""
_TOP = 127
_CHUNK = 1024
"""Rows turned into bytes at a time: as many as a core's cache holds."""


class Scan:
    """Unit rows, held a second time as bytes. Made in about the time of ten queries without it."""

    def __init__(self, rows: Vectors) -> None:
        import numkong
        import numpy as np

        self._rows, self._dots = rows, numkong.dots_packed
        coded = np.empty(rows.shape, dtype=np.int8)
        self._steps = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), _CHUNK):
            part = slice(start, start + _CHUNK)
            coded[part], self._steps[part] = _bytes(rows[part])
        self._packed: Any = numkong.dots_pack(coded)

    def cosines(self, query: Vectors, *, k: int, relevance: float | None = None) -> Vectors:
        """Of `query`, (dim,), to each row, (rows,) float32: exact for the `k` highest, their ties, and from `relevance` on.

        The others are near their value and below those.
        """
        import numpy as np

        coded, step = _bytes(query[None])
        near: Vectors = np.asarray(self._dots(coded, self._packed), dtype=np.float32)[0] * self._steps * step
        off = self._off(float(step[0]), query.size)
        low = np.inf if relevance is None else relevance - off
        if k:
            low = min(low, _kth(near, k) - 2 * off)
        doubtful = np.flatnonzero(near >= low)
        near[doubtful] = cosines(self._rows[doubtful], query[None])[0]
        return near

    def _off(self, step: float, dim: int) -> float:
        """How far a product of bytes can be from the cosine: each coordinate is rounded by half a step at most."""
        halves: float = dim**0.5 / 2
        row, asked = float(self._steps.max()) * halves, step * halves
        return row + asked * (1 + row) + 1e-5  # and what float32 loses


def scan(rows: Vectors) -> Scan | None:
    """For many rows, where numkong is installed (`[embeddings]`)."""
    if len(rows) < LEAST:
        return None
    try:
        return Scan(rows)
    except ImportError:
        return None


def _bytes(rows: Vectors) -> tuple[Any, Vectors]:
    """Whole numbers up to 127, and the step between two, a row."""
    import numpy as np

    steps = np.abs(rows).max(axis=1) / np.float32(_TOP)
    steps[steps == 0] = 1.0
    return np.rint(rows / steps[:, None]).astype(np.int8), steps


def _kth(scores: Vectors, k: int) -> float:
    """The k-th highest; of fewer, the lowest."""
    import numpy as np

    place = max(len(scores) - k, 0)
    return float(np.partition(scores, place)[place])
