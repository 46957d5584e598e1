"""The sign-flip permutation test behind `gym.evaluation.metrics`, with numpy."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

EXACT_FLIPS = 14
"""Up to this many differing problems the sign-flip test enumerates all 2^n assignments."""


def sign_flip(differences: Sequence[float], *, seed: int, resamples: int) -> float:
    """Two-sided p-value of a mean difference of 0: how often random signs give a mean at least as far from 0.

    Exact for up to `EXACT_FLIPS` non-zero differences; otherwise by `resamples` random assignments plus the observed one,
    so that it is never 0 (Phipson & Smyth 2010, doi:10.2202/1544-6115.1585). Zero differences carry no sign and drop out.
    """
    moved = np.asarray([difference for difference in differences if difference != 0.0], dtype=np.float64)
    if not len(moved):
        return 1.0
    observed = abs(float(moved.sum())) - 1e-12
    exact = len(moved) <= EXACT_FLIPS
    sums = _all_signs(len(moved)) @ moved if exact else _random_sums(moved, seed, resamples)
    hits = int((np.abs(sums) >= observed).sum())
    return hits / len(sums) if exact else (hits + 1) / (len(sums) + 1)


def _all_signs(n: int) -> NDArray[np.float64]:
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    return np.asarray(1.0 - 2.0 * bits, dtype=np.float64)


def _random_sums(moved: NDArray[np.float64], seed: int, resamples: int) -> NDArray[np.float64]:
    """Sums under random signs, (n,) -> (resamples,)."""
    random, n = np.random.default_rng(seed), len(moved)
    return np.concatenate([random.choice((-1.0, 1.0), size=(rows, n)) @ moved for rows in _blocks(resamples, n)])


def _blocks(resamples: int, n: int) -> list[int]:
    """Rows of resampling at a time, so that a block of `n` columns stays within a hundred thousand numbers."""
    most = max(1, 100_000 // n)
    return [min(most, resamples - done) for done in range(0, resamples, most)]
