"""The scan of bytes: the same hits, in the same order and with the same cosines, as the whole product."""

import numpy as np
import pytest

from gym.embedding import Vectors
from gym.embedding.scan import LEAST, Scan, scan
from gym.embedding.search import best, cosines


def unit(rows: Vectors) -> Vectors:
    found: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return found


def drawn(seed: int, count: int, *, spread: float = 1.0) -> Vectors:
    """Rows around a common direction: the smaller the spread, the harder to tell apart."""
    draw = np.random.default_rng(seed)
    centre = draw.standard_normal(384)
    return unit((centre + spread * draw.standard_normal((count, 384))).astype(np.float32))


@pytest.mark.parametrize("spread", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("k", [0, 1, 20, 5000])
def test_hits_and_their_cosines_are_those_of_the_product(spread: float, k: int) -> None:
    rows = drawn(1, 3000, spread=spread)
    for query in drawn(2, 5, spread=spread):
        whole, found = cosines(rows, query[None])[0], Scan(rows).cosines(query, k=k)
        assert best(found, k).tolist() == best(whole, k).tolist()
        np.testing.assert_allclose(found[best(found, k)], whole[best(whole, k)], atol=2e-6)


@pytest.mark.parametrize("relevance", [-1.0, 0.05, 0.4, 0.99])
def test_every_row_from_the_relevance_on_is_found_and_no_other(relevance: float) -> None:
    rows = drawn(3, 2000)
    query = rows[7]
    whole, found = cosines(rows, query[None])[0], Scan(rows).cosines(query, k=3, relevance=relevance)
    assert np.flatnonzero(found >= relevance).tolist() == np.flatnonzero(whole >= relevance).tolist()


def test_equal_rows_keep_their_order() -> None:
    rows = np.tile(drawn(4, 1), (500, 1))
    assert best(Scan(rows).cosines(rows[0], k=7), 7).tolist() == list(range(7))


def test_a_row_of_zeros_is_near_nothing() -> None:
    rows = drawn(5, 10)
    rows[3] = 0.0
    assert Scan(rows).cosines(rows[4], k=10)[3] == 0.0


def test_few_rows_are_not_scanned() -> None:
    assert scan(drawn(6, LEAST - 1)) is None
    assert scan(drawn(6, LEAST)) is not None
