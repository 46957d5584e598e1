"""Krum (Blanchard et al. 2017, arXiv:1703.02757): the vector that lies nearest to its n - f - 2 nearest others.

Robust for n >= 2f + 3 (breakdown point just below 1/2). It gives one of the submitted vectors; f liars who agree with
each other and stay among the honest ones can be that one.
"""

import numpy as np
from numpy.typing import NDArray

from gym.embedding import Vectors
from gym.federated.aggregators.base import ordered


def krum(vectors: Vectors, *, f: int = 0) -> Vectors:
    """The one vector with the lowest score, (nodes, dim) -> (dim,)."""
    rows = ordered(vectors, least=2 * f + 3, rule="Krum")
    found: Vectors = rows[np.argmin(scores(rows, f=f))].astype(np.float32)
    return found


def scores(rows: NDArray[np.float64], *, f: int) -> NDArray[np.float64]:
    """Sums of squared distances to the n - f - 2 nearest others, (nodes,)."""
    squared = np.array([np.square(rows - row).sum(axis=1) for row in rows])
    np.fill_diagonal(squared, 0.0)
    sums: NDArray[np.float64] = np.sort(squared, axis=1)[:, 1 : len(rows) - f - 1].sum(axis=1)
    return sums


AGGREGATOR = krum
