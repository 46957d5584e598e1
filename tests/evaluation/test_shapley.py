"""Shapley values from orders of joining (issue 5, credit)."""

import random
from collections.abc import Callable
from itertools import chain, combinations
from math import factorial
from statistics import fmean

import pytest

from gym.core.student import student
from gym.evaluation.metrics import Interval
from gym.evaluation.metrics import interval as over_problems
from gym.evaluation.shapley import orders, value

IDS = ("G0", "G1", "G2", "G3")


def walked(game: Callable[[frozenset[str]], float], id: str, count: int = 24) -> float:
    """The value by orders, for one problem without noise."""
    plan = orders(IDS, count, seed=0).orders
    gains = []
    for order in plan:
        before = frozenset(order[: order.index(id)])
        gains.append([game(before | {id}) - game(before)])
    return value(gains, complete=True)[0]


def by_subsets(game: Callable[[frozenset[str]], float], id: str) -> float:
    """Shapley's own formula."""
    others, n = [one for one in IDS if one != id], len(IDS)
    parts = map(frozenset, chain.from_iterable(combinations(others, size) for size in range(n)))
    share = [factorial(size) * factorial(n - size - 1) / factorial(n) for size in range(n)]
    return sum(share[len(part)] * (game(part | {id}) - game(part)) for part in parts)


def additive(part: frozenset[str]) -> float:
    return 0.2 + sum({"G0": 0.4, "G1": -0.3, "G2": 0.1, "G3": 0.0}[id] for id in part)


def twins(part: frozenset[str]) -> float:
    return 0.5 * bool(part & {"G0", "G1"})


def together(part: frozenset[str]) -> float:
    return 0.6 * (part >= {"G0", "G1", "G2"}) - 0.2 * ("G3" in part)


@pytest.mark.parametrize(
    ("game", "values"),
    [
        (additive, (0.4, -0.3, 0.1, 0.0)),
        (twins, (0.25, 0.25, 0.0, 0.0)),
        (together, (0.2, 0.2, 0.2, -0.2)),
    ],
)
def test_over_all_orders_it_is_shapleys_formula(
    game: Callable[[frozenset[str]], float], values: tuple[float, ...]
) -> None:
    for id, expected in zip(IDS, values, strict=True):
        assert walked(game, id) == pytest.approx(expected)
        assert by_subsets(game, id) == pytest.approx(expected)


def test_the_values_of_any_orders_add_up_to_what_all_are_worth() -> None:
    assert sum(walked(together, id, count=5) for id in IDS) == pytest.approx(together(frozenset(IDS)))


def test_orders_are_all_there_are_or_drawn_with_their_reverse() -> None:
    assert orders(IDS, 24, seed=0).complete
    assert len(set(orders(IDS, 30, seed=0).orders)) == 24
    some = orders(IDS, 6, seed=0)
    assert not some.complete
    assert [len(order) for order in some.orders] == [4] * 6
    assert some.orders[1] == some.orders[0][::-1]
    assert some == orders(IDS, 6, seed=0)
    assert some != orders(IDS, 6, seed=1)
    assert orders(IDS, 0, seed=0).orders == ()


def test_of_one_order_the_interval_is_that_of_the_problems_mean() -> None:
    mean, interval = value([[1.0, 0.0] * 5])
    assert mean == 0.5
    assert interval is not None
    assert interval.high - mean == pytest.approx(2.262 * (5 / 18 / 10) ** 0.5, rel=0.001)
    assert value([[0.3], [0.5]]) == (0.4, None)


def test_gains_that_all_agree_are_not_taken_for_certainty() -> None:
    for gains in ([[1.0, 1.0]] * 3, [[0.0] * 12] * 3):
        mean, interval = value(gains)
        assert interval == over_problems(gains[0])
        assert interval is not None
        assert interval.low < mean


def test_of_two_problems_the_interval_is_wide_but_no_gain_is_beyond_1() -> None:
    assert value([[0.0, 1.0]] * 2) == (0.5, Interval(-1.0, 1.0))


def test_its_interval_holds_the_truth_in_95_of_100_experiments() -> None:
    draw, held = random.Random(0), []
    for _ in range(400):
        by_order, by_problem = [draw.gauss(0.1, 0.1) for _ in range(10)], [draw.gauss(0, 0.2) for _ in range(30)]
        gains = [[order + problem + draw.gauss(0, 0.3) for problem in by_problem] for order in by_order]
        _, interval = value(gains)
        assert interval is not None
        held.append(interval.low <= 0.1 <= interval.high)
    assert 0.92 <= fmean(held) <= 0.98


@pytest.mark.parametrize(("freedom", "tabled"), [(3, 3.182), (5, 2.571), (9, 2.262), (30, 2.042), (1000, 1.962)])
def test_students_quantiles_are_those_of_the_tables(freedom: int, tabled: float) -> None:
    assert student(0.975, freedom) == pytest.approx(tabled, rel=0.02 if freedom < 5 else 0.005)
