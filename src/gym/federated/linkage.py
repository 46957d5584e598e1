"""Average linkage of sign codes in whole numbers (Sokal & Michener 1958; nearest-neighbour chain: Murtagh 1983).

The mean agreement of two clusters is the product of their summed signs over the product of their sizes, so a cluster is
one vector and no pair is ever stored twice. Two clusters join while their mean agreement is at least 1/3, which is a
cosine of sin(pi/2 · 1/3) = 0.50. Of equal agreements the one between earlier rows goes first; then following the chain
of nearest neighbours gives exactly what joining the globally nearest pair each time gives, in quadratic time at worst.

Exact up to `EXACT` different codes (equal ones count as one of their weight: they agree fully, so they join first
anyway). Beyond, rows are taken `CARRIED` at a time to the `CARRIED` largest clusters so far, each time exactly, and
what was left behind joins at the end whichever large cluster it agrees with most, if that is enough. That is
deterministic, not exact: see docs/federation.md.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gym.embedding import DIM, Vectors
from gym.federated.bitdelta import Signs

LEAST = DIM // 3
"""Equal signs minus different ones, in the mean, of clusters that join: of all 384 signs a third, a cosine of 0.50."""
EXACT = 8192
"""Different codes of which all pairs fit in memory: half a gigabyte."""
CARRIED = 1024
"""Three times what can be published: a third of the nodes must support each text, and a node has 100."""

Floats: TypeAlias = NDArray[np.float64]


class Cluster(NamedTuple):
    """Rows that belong together."""

    rows: tuple[int, ...]
    """Rising."""
    total: Vectors
    """Sum of their signs, whole numbers below 2**24."""


def average_linkage(
    signs: Signs, *, exact: int = EXACT, carried: int = CARRIED, least: float = LEAST
) -> tuple[tuple[int, ...], ...]:
    """Clusters of the rows of `signs`, (n, 384) of 1 and -1: each row in one, rising, clusters by first row."""
    points = _collapsed(signs)
    clusters = _joined(points, least) if len(points) <= exact else _in_blocks(points, carried, least)
    return tuple(sorted(cluster.rows for cluster in clusters))


def _collapsed(signs: Signs) -> list[Cluster]:
    """One point for all rows with one code, in the order of their first rows."""
    alike: dict[bytes, list[int]] = {}
    for row, code in enumerate(signs):
        alike.setdefault(code.tobytes(), []).append(row)
    return [Cluster(tuple(rows), len(rows) * signs[rows[0]].astype(np.float32)) for rows in alike.values()]


def _in_blocks(points: Sequence[Cluster], carried: int, least: float) -> list[Cluster]:
    """Joined a part at a time; the smallest clusters stay behind, and are taken in at the end."""
    large, behind = list[Cluster](), list[Cluster]()
    for start in range(0, len(points), carried):
        joined = _joined([*large, *points[start : start + carried]], least)
        joined.sort(key=lambda cluster: (-len(cluster.rows), cluster.rows))
        large, behind = joined[:carried], behind + joined[carried:]
    return _absorbed(large, behind, least)


def _absorbed(large: Sequence[Cluster], behind: Sequence[Cluster], least: float) -> list[Cluster]:
    """Each small cluster in the large one it agrees with most, or alone; all judged by the large ones as they were."""
    taken: list[list[Cluster]] = [[cluster] for cluster in large]
    alone = list[Cluster]()
    totals, sizes = _matrix(large)
    for start in range(0, len(behind), CARRIED):
        part = behind[start : start + CARRIED]
        small, counts = _matrix(part)
        agreement = small @ totals.T / np.outer(counts, sizes)
        for cluster, best, most in zip(part, agreement.argmax(axis=1), agreement.max(axis=1), strict=True):
            (taken[best] if most >= least else alone).append(cluster)
    return [*map(_united, taken), *alone]


def _united(clusters: Sequence[Cluster]) -> Cluster:
    rows = sorted(row for cluster in clusters for row in cluster.rows)
    return Cluster(tuple(rows), np.sum([cluster.total for cluster in clusters], axis=0))


def _joined(points: Sequence[Cluster], least: float) -> list[Cluster]:
    """Average linkage of weighted points. A cluster stands at the place of its first point.

    Invariant: `products[i, j]` is the product of the totals of the clusters at i and j; `sizes` is infinite where no
    cluster is any more, so that nothing agrees with it.
    """
    totals, sizes = _matrix(points)
    products = _products(totals, sizes)
    members: list[list[int]] = [[place] for place in range(len(points))]
    waiting, chain = np.ones(len(points), dtype=bool), list[int]()
    for first in range(len(points)):
        while chain or waiting[first]:
            tip = chain[-1] if chain else first
            agreement = products[tip] / (sizes[tip] * sizes)
            agreement[tip] = -np.inf
            nearest = int(agreement.argmax())
            if agreement[nearest] < least:
                waiting[tip], sizes[tip] = False, np.inf  # it will join nothing: no later cluster is nearer
                chain.clear()
            elif len(chain) > 1 and nearest == chain[-2]:
                keep, gone = sorted(chain[-2:])
                del chain[-2:]
                products[keep] += products[gone]
                products[:, keep] = products[keep]
                sizes[keep] += sizes[gone]
                waiting[gone], sizes[gone] = False, np.inf
                members[keep] += members[gone]
                members[gone] = []
            else:
                chain += [nearest] if chain else [tip, nearest]
    return [
        _united([points[place] for place in places]) if len(places) > 1 else points[places[0]]
        for places in members
        if places
    ]


def _matrix(clusters: Sequence[Cluster]) -> tuple[Floats, Floats]:
    """Totals, (clusters, 384), and sizes, (clusters,)."""
    totals = np.array([cluster.total for cluster in clusters], dtype=np.float64).reshape(-1, DIM)
    return totals, np.array([len(cluster.rows) for cluster in clusters], dtype=np.float64)


def _products(totals: Floats, sizes: Floats) -> Floats:
    """Of all pairs of totals, exact: in float32 where every sum is a whole number that it can hold."""
    largest = float(sizes.max(initial=0.0))
    if DIM * largest * largest < 2**24:
        small = totals.astype(np.float32)
        return (small @ small.T).astype(np.float64)
    return totals @ totals.T
