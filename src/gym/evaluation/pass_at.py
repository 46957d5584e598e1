"""pass@k: the chance that k answers hold a right one, estimated without bias from n of them.

Chen et al. 2021, arXiv:2107.03374 §2.1.
"""

from collections.abc import Iterable
from math import prod

from gym.core.rollout import Tally

PASSED = 1 - 1e-9
"""A reward from here on counts as solved."""


def pass_at(tallies: Iterable[Tally]) -> dict[int, list[float]]:
    """k -> the estimate of every problem with at least k scored answers, for every k up to the most that one has."""
    table: dict[int, list[float]] = {}
    for tally in tallies:
        n, c = len(tally.rewards), sum(reward >= PASSED for reward in tally.rewards)
        for k in range(1, n + 1):
            table.setdefault(k, []).append(pass_at_k(n, c, k))
    return dict(sorted(table.items()))


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that k of n answers drawn without replacement hold one of the c right ones: 1 - C(n-c, k) / C(n, k).

    Needs 1 <= k <= n and 0 <= c <= n.

    >>> pass_at_k(5, 2, 1), pass_at_k(5, 2, 4)
    (0.4, 1.0)
    """
    if not (1 <= k <= n and 0 <= c <= n):
        raise ValueError(f"pass@k needs 1 <= k <= n and 0 <= c <= n, got n={n}, c={c}, k={k}")
    return 0.0 if c == 0 else round(1.0 - prod(1.0 - k / i for i in range(n - c + 1, n + 1)), 12)
