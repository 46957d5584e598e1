"""What every rule of aggregation is, and what it asks of its vectors first."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gym.embedding import Vectors
from gym.errors import AggregationError, TooFewNodes


class Aggregator(Protocol):
    """One vector that stands for many, of which up to `f` were chosen by liars."""

    def __call__(self, vectors: Vectors, *, f: int) -> Vectors:
        """(nodes, dim) -> (dim,) float32, the same in whatever order the nodes stand.

        Raises `TooFewNodes` when the rule says nothing for so many liars among so few nodes, `AggregationError` for NaN
        or infinity.
        """
        ...


def ordered(vectors: Vectors, *, least: int, rule: str) -> NDArray[np.float64]:
    """The vectors in an order that depends on their values alone: no sum or tie depends on who came first."""
    if len(vectors) < least:
        raise TooFewNodes(f"the {rule} needs at least {least} vectors here, not {len(vectors)}")
    rows = np.asarray(vectors, dtype=np.float64) + 0.0  # -0.0 becomes 0.0: equal vectors have equal bytes
    if not np.isfinite(rows).all():
        raise AggregationError("a vector holds NaN or infinity: one would spoil every coordinate")
    order: list[int] = sorted(range(len(rows)), key=lambda place: rows[place].tobytes())
    return rows[order]
