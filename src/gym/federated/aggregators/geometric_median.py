"""Geometric median by smoothed Weiszfeld steps (Pillutla et al. 2019, arXiv:1912.13445; Weiszfeld 1937).

The point whose distances to all vectors sum up least. Robust for f < n/2 (breakdown point 1/2): it stays within a
multiple of the honest spread, which grows as f nears n/2.
"""

import numpy as np

from gym.embedding import Vectors
from gym.federated.aggregators.base import ordered

_STEPS = 1000
_NEAR = 1e-6
"""Relative to the honest spread: distances below are not divided by, and a step as short ends the search."""


def geometric_median(vectors: Vectors, *, f: int = 0) -> Vectors:
    """The point nearest to all in sum, (nodes, dim) -> (dim,); where it is not unique, one of them."""
    rows = ordered(vectors, least=2 * f + 1, rule="geometric median")
    point = np.median(rows, axis=0)
    near = _NEAR * float(np.median(np.linalg.norm(rows - point, axis=1))) or _NEAR
    for _ in range(_STEPS):
        weights = 1 / np.maximum(np.linalg.norm(rows - point, axis=1), near)
        before, point = point, weights @ rows / weights.sum()
        if np.linalg.norm(point - before) <= near * 1e-3:
            break
    return point.astype(np.float32)


AGGREGATOR = geometric_median
