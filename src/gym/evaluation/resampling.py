"""The sign-flip permutation test behind `gym.evaluation.metrics`, and a bootstrap over problems, with numpy."""

from collections.abc import Sequence
from typing import NamedTuple

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


class Ends(NamedTuple):
    """The middle 95 % of what resamples gave."""

    low: float
    high: float


def bootstrap(values: Sequence[float], *, seed: int, resamples: int) -> Ends | None:
    """Percentile bootstrap of the mean of one value per problem; None for fewer than two.

    A cluster bootstrap, whole problems at a time (Cameron, Gelbach & Miller 2008, doi:10.1162/rest.90.3.414). It assumes no
    form of the distribution, and is too narrow for few problems: a second opinion beside `gym.evaluation.metrics.interval`.
    """
    found, n = np.asarray(values, dtype=np.float64), len(values)
    if n < 2:
        return None
    random = np.random.default_rng(seed)
    means = np.concatenate(
        [found[random.integers(0, n, size=(rows, n))].mean(axis=1) for rows in _blocks(resamples, n)]
    )
    low, high = np.quantile(means, (0.025, 0.975)).tolist()
    return Ends(low, high)


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
