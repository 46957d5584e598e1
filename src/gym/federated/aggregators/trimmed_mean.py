"""Coordinate-wise trimmed mean (Yin et al. 2018, arXiv:1803.01498).

The f highest and the f lowest values of each coordinate are left out. Robust for f < n/2 (breakdown point 1/2 at most,
f/n as called): each coordinate stays within the honest nodes' range.
"""

import numpy as np

from gym.embedding import Vectors
from gym.federated.aggregators.base import ordered


def trimmed_mean(vectors: Vectors, *, f: int = 0) -> Vectors:
    """The mean of every coordinate without its f highest and f lowest values, (nodes, dim) -> (dim,)."""
    rows = np.sort(ordered(vectors, least=2 * f + 1, rule="trimmed mean"), axis=0)
    found: Vectors = rows[f : len(rows) - f].mean(axis=0).astype(np.float32)
    return found


AGGREGATOR = trimmed_mean
