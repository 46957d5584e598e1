"""Bulyan (El Mhamdi et al. 2018, arXiv:1802.07927): of n - 2f vectors that Krum selects, the mean near their median.

Robust for n >= 4f + 3 (breakdown point just below 1/4), coordinate by coordinate, where Krum is robust in the norm
alone. Selected are the n - 2f best scores at once, as Flower does; the paper selects one by one.
"""

import numpy as np

from gym.embedding import Vectors
from gym.federated.aggregators.base import ordered
from gym.federated.aggregators.krum import scores


def bulyan(vectors: Vectors, *, f: int = 0) -> Vectors:
    """The mean of every coordinate's n - 4f values nearest to the median of the selected, (nodes, dim) -> (dim,)."""
    rows = ordered(vectors, least=4 * f + 3, rule="Bulyan")
    best = np.argsort(scores(rows, f=f), kind="stable")[: len(rows) - 2 * f]
    selected = rows[np.sort(best)]
    off = np.abs(selected - np.median(selected, axis=0))
    nearest = np.argsort(off, axis=0, kind="stable")[: len(rows) - 4 * f]
    found: Vectors = np.take_along_axis(selected, nearest, axis=0).mean(axis=0).astype(np.float32)
    return found


AGGREGATOR = bulyan
