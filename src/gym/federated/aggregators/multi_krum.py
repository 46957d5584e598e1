"""Multi-Krum (Blanchard et al. 2017, arXiv:1703.02757): the mean of the n - f vectors with the lowest Krum scores.

Robust for n >= 2f + 3 (breakdown point just below 1/2); less noisy than Krum, and within reach of liars who stay close.
"""

import numpy as np

from gym.embedding import Vectors
from gym.federated.aggregators.base import ordered
from gym.federated.aggregators.krum import scores


def multi_krum(vectors: Vectors, *, f: int = 0, keep: int | None = None) -> Vectors:
    """The mean of the `keep` best vectors, by default n - f, (nodes, dim) -> (dim,)."""
    rows = ordered(vectors, least=2 * f + 3, rule="multi-Krum")
    best = np.argsort(scores(rows, f=f), kind="stable")[: len(rows) - f if keep is None else keep]
    found: Vectors = rows[np.sort(best)].mean(axis=0).astype(np.float32)
    return found


AGGREGATOR = multi_krum
