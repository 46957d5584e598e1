"""Average linkage by a chain of neighbours is average linkage by its definition."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gym.federated.linkage import average_linkage

Signs = NDArray[np.int8]


def plain(signs: Signs) -> tuple[tuple[int, ...], ...]:
    """By the definition, in fractions: the pair that agrees most joins, of equals the first, down to a third."""
    clusters = {place: [place] for place in range(len(signs))}
    products = signs.astype(int) @ signs.astype(int).T
    while True:
        pairs = [
            (
                -Fraction(int(products[np.ix_(clusters[i], clusters[j])].sum()), len(clusters[i]) * len(clusters[j])),
                i,
                j,
            )
            for i, j in combinations(sorted(clusters), 2)
        ]
        best, i, j = min(pairs, default=(Fraction(0), 0, 0))
        if -best * 3 < 384:
            return tuple(sorted(tuple(sorted(rows)) for rows in clusters.values()))
        clusters[i] += clusters.pop(j)


def around(topics: int, n: int, noise: float, seed: int) -> Signs:
    draw = np.random.default_rng(seed)
    base = draw.choice([-1, 1], (topics, 384))
    flips = np.where(draw.random((n, 384)) < noise, -1, 1)
    return (base[draw.integers(topics, size=n)] * flips).astype(np.int8)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.15, 0.2, 0.22, 0.25, 0.28]), st.integers(1, 22))
def test_equals_plain_average_linkage(seed: int, noise: float, n: int) -> None:
    signs = around(3, n, noise, seed)
    assert average_linkage(signs) == plain(signs)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(3, 7))
def test_equals_it_where_many_agreements_are_equal(seed: int, blocks: int) -> None:
    signs = np.repeat(np.random.default_rng(seed).choice([-1, 1], (20, blocks)), 384 // blocks + 1, axis=1)
    assert average_linkage(signs[:, :384].astype(np.int8)) == plain(signs[:, :384])


def test_copies_count_as_many_as_they_are() -> None:
    signs = around(3, 12, 0.24, 0)
    copied = np.vstack([signs, signs[:4], signs[:2]])
    assert average_linkage(copied) == plain(copied)


def test_exactly_a_third_still_joins() -> None:
    one = np.ones(384, dtype=np.int8)
    third, less = one.copy(), one.copy()
    third[:128], less[:129] = -1, -1
    assert average_linkage(np.array([one, third])) == ((0, 1),)
    assert average_linkage(np.array([one, less])) == ((0,), (1,))
    assert average_linkage(np.empty((0, 384), dtype=np.int8)) == ()


@pytest.mark.parametrize("carried", [40, 64, 500])
def test_in_blocks_the_same_topics_are_found(carried: int) -> None:
    signs = around(12, 400, 0.15, 3)
    assert average_linkage(signs, exact=0, carried=carried) == average_linkage(signs)


def test_in_blocks_each_row_is_in_one_cluster_and_nearly_all_pairs_are_kept() -> None:
    signs = around(25, 900, 0.19, 4)
    exact, blocks = average_linkage(signs), average_linkage(signs, exact=100, carried=128)
    assert sorted(row for cluster in blocks for row in cluster) == list(range(900))
    pairs = [{pair for cluster in found for pair in combinations(cluster, 2)} for found in (exact, blocks)]
    assert len(pairs[0] & pairs[1]) >= 0.9 * max(map(len, pairs))
