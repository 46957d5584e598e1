"""A topic's texts by their nearness to what its nodes say together: an aggregate of codes, outliers rejected.

A vector that no node sent decodes to no text, so the aggregate only orders what was submitted. Aggregates are read in
whole steps of 2**-30, and products of whole numbers are exact: the order is the same on every machine.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gym.embedding import DIM, Vectors
from gym.federated import bitdelta
from gym.federated.aggregators.base import Aggregator
from gym.federated.align import Submitted

_GRID = 2**30


class Near(NamedTuple):
    """A text of the topic."""

    text: str
    digest: str
    nodes: tuple[str, ...]
    """Who said it, sorted."""
    cosine: float
    """Of its signs to the aggregate."""
    outlier: bool
    """It agrees too little with all the others together: it neither supports the topic nor stands for it."""


def nearest(votes: Sequence[Submitted], aggregator: Aggregator, *, f: int) -> tuple[Near, ...]:
    """The texts of the votes, the nearest first; raises `TooFewNodes` when the rule needs more votes than there are.

    The rule stands against `f` liars, or as many as may be a minority of the votes.
    """
    codes = bitdelta.read(vote.item.code for vote in votes)
    signs, vectors = bitdelta.signs(codes).astype(np.int64), bitdelta.decode(codes)
    kept = _agrees(signs, _aggregate(vectors, aggregator, f))
    whole = _aggregate(vectors[kept] if kept.any() else vectors, aggregator, f)
    products: list[int] = (signs @ whole).tolist()
    length = float(np.sqrt(float(whole @ whole) * DIM)) or 1.0
    texts: dict[str, list[int]] = {}
    for place, vote in enumerate(votes):
        texts.setdefault(vote.digest, []).append(place)
    order = sorted(texts, key=lambda digest: (-max(products[place] for place in texts[digest]), digest))
    return tuple(
        Near(
            text=votes[texts[digest][0]].item.text,
            digest=digest,
            nodes=tuple(sorted(votes[place].node for place in texts[digest])),
            cosine=round(max(products[place] for place in texts[digest]) / length, 4),
            outlier=not kept[texts[digest]].any(),
        )
        for digest in order
    )


def _aggregate(vectors: Vectors, aggregator: Aggregator, f: int) -> NDArray[np.int64]:
    liars = min(f, (len(vectors) - 1) // 2)
    return np.rint(aggregator(vectors, f=liars).astype(np.float64) * _GRID).astype(np.int64)


def _agrees(signs: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows agree with the aggregate's signs as much as texts of one topic must with each other."""
    found: NDArray[np.bool_] = 3 * (signs @ np.where(whole >= 0, 1, -1)) >= DIM
    return found
