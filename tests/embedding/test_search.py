"""Exact nearest rows: the same as sorting everything."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.embedding.search import best, cosines


@given(st.lists(st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0]), max_size=40), st.integers(0, 45))
def test_the_best_are_those_of_a_full_sort_and_ties_go_by_place(values: list[float], k: int) -> None:
    scores = np.array(values, dtype=np.float32)
    expected = sorted(range(len(values)), key=lambda place: (-values[place], place))[:k]
    assert best(scores, k).tolist() == expected


def test_a_block_of_queries_gives_each_the_cosines_it_gets_alone() -> None:
    draw = np.random.default_rng(3).standard_normal((1007, 384), dtype=np.float32)
    rows = draw / np.linalg.norm(draw, axis=1, keepdims=True)
    together = cosines(rows, rows[:70])
    for place in (0, 13, 69):
        np.testing.assert_allclose(cosines(rows, rows[place : place + 1])[0], together[place], atol=2e-6)
        np.testing.assert_allclose(together[place], rows.astype(np.float64) @ rows[place], atol=2e-6)
        assert best(together[place], 1).tolist() == [place]


@pytest.mark.parametrize("count", [1, 7, 33])
def test_equal_rows_have_equal_cosines_wherever_they_stand(count: int) -> None:
    row = np.random.default_rng(count).standard_normal(384).astype(np.float32)
    rows = np.tile(row / np.linalg.norm(row), (count, 1))
    assert best(cosines(rows, rows[:1])[0], count).tolist() == list(range(count))
