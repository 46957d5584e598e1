"""Coordinate-wise median (Yin et al. 2018, arXiv:1803.01498).

Robust while fewer than half the nodes lie (breakdown point 1/2): each coordinate stays within the honest nodes' range.
That range is wide where honest vectors differ: with view-cosine 0.8 and 8 liars of 21, the median of signs keeps a
cosine of 0.48.
"""

import numpy as np

from gym.embedding import Vectors
from gym.federated.aggregators.base import ordered


def median(vectors: Vectors, *, f: int = 0) -> Vectors:
    """The middle value of every coordinate, (nodes, dim) -> (dim,); of an even count, the mean of the middle two."""
    return np.median(ordered(vectors, least=2 * f + 1, rule="median"), axis=0).astype(np.float32)


AGGREGATOR = median
