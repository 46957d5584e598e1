"""The mean over problems and seeds holds the truth as often as it says."""

from random import Random

import pytest

from gym.evaluation.crossed import crossed, interval, minus
from gym.evaluation.metrics import Interval
from gym.evaluation.metrics import interval as over_problems


def simulated(
    random: Random, *, seeds: int, problems: int, by_problem: float, by_seed: float, rest: float
) -> list[list[float]]:
    of_problem = [random.gauss(0, by_problem) for _ in range(problems)]
    of_seed = [random.gauss(0, by_seed) for _ in range(seeds)]
    return [[1 + one + two + random.gauss(0, rest) for two in of_problem] for one in of_seed]


@pytest.mark.parametrize(
    ("seeds", "by_problem", "by_seed", "rest"),
    [
        (3, 0.3, 0.1, 0.3),
        (3, 0.3, 0.05, 0.3),
        (3, 0.3, 0.0, 0.3),
        (5, 0.2, 0.2, 0.2),
        (2, 0.3, 0.1, 0.3),
        (3, 0.0, 0.0, 0.3),
    ],
)
def test_19_of_20_intervals_or_more_hold_the_true_mean(
    seeds: int, by_problem: float, by_seed: float, rest: float
) -> None:
    random, held = Random(3), 0
    for _ in range(400):
        found = interval(simulated(random, seeds=seeds, problems=24, by_problem=by_problem, by_seed=by_seed, rest=rest))
        held += found.low <= 1 <= found.high
    assert 0.93 <= held / 400 <= 0.99


def by_seed(table: list[list[float]]) -> dict[int, dict[str, float]]:
    return {seed: {f"p{n}": value for n, value in enumerate(row)} for seed, row in enumerate(table)}


@pytest.mark.parametrize("within", [Interval(0, 1), Interval(-1, 1)])
def test_one_seed_is_the_interval_over_problems(within: Interval) -> None:
    one = [0.0, 1.0, 0.5]
    assert crossed(by_seed([one]), within).interval == over_problems(one, low=within.low, high=within.high)
    assert crossed(by_seed([[0.5], [0.7]]), within).interval is None


def test_two_gains_as_far_apart_as_can_be_are_an_interval() -> None:
    found = crossed(by_seed([[2.0, -2.0, 0.0]]), Interval(-2, 2))
    assert found.interval is not None
    assert -2 <= found.interval.low < 0 < found.interval.high <= 2


@pytest.mark.parametrize(("value", "problems"), [(0.0, 16), (0.5, 2), (1.0, 12)])
def test_values_that_all_agree_are_not_taken_for_certainty(value: float, problems: int) -> None:
    found = crossed(by_seed([[value] * problems] * 3), Interval(-1, 1))
    assert found.interval == over_problems([value] * problems)
    assert found.interval is not None
    assert found.interval.low < value


@pytest.mark.parametrize(("problems", "gains"), [(12, 0.0), (12, 0.3), (30, 0.6)])
def test_intervals_of_gains_hold_the_truth_at_least_as_often_as_they_say(problems: int, gains: float) -> None:
    random, held = Random(5), 0
    for _ in range(300):
        chances = [random.uniform(0, 1 - gains) for _ in range(problems)]
        table = [[_draw(random, chance + gains) - _draw(random, chance) for chance in chances] for _ in range(3)]
        around = crossed(by_seed(table), Interval(-1, 1)).interval
        assert around is not None
        held += around.low <= gains <= around.high
    assert held / 300 >= 0.93


def _draw(random: Random, chance: float) -> float:
    """The mean of three answers."""
    return sum(random.random() < chance for _ in range(3)) / 3


def test_a_table_computed_by_hand() -> None:
    found = interval([[0.0, 0.4], [0.2, 0.8]])
    assert found.low + found.high == pytest.approx(2 * 0.35)
    # MS_problem 0.25, MS_seed 0.09, rest 0.01: variance 0.33 / 4; freedom 0.33² / (0.25² + 0.09² + 0.01²) = 1.54; t = 6.87
    assert (found.high - found.low) / 2 == pytest.approx(6.87 * (0.33 / 4) ** 0.5, rel=0.01)


def test_only_problems_with_a_value_under_every_seed_count_and_the_others_are_told() -> None:
    rewards = Interval(0, 1)
    found = crossed({0: {"a": 0.0, "b": 1.0}, 1: {"a": 0.5, "b": 0.5, "c": 1.0}}, rewards)
    assert found.interval == rewards  # three degrees of freedom, cut to what a reward can be
    assert (found.mean, found.n_problems, found.n_seeds, found.left_out) == (0.5, 2, 2, 1)
    assert crossed({}, rewards).mean is None
    assert crossed({0: {"a": 1.0}, 1: {"b": 1.0}}, rewards).mean is None


def test_a_difference_is_taken_seed_by_seed_and_problem_by_problem() -> None:
    assert minus({0: {"a": 1.0, "b": 1.0}, 1: {"a": 1.0}}, {0: {"a": 0.25}, 2: {"a": 0.0}}) == {0: {"a": 0.75}}
