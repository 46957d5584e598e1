"""SPEC 1.2, 4.1, FAULTS S8 and S9: means over problems, intervals clustered by problem, pass@k, paired differences."""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.core.chat import Usage
from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.core.rollout import Group, Rollout, Tally
from gym.evaluation.metrics import (
    FEW,
    MANY,
    Interval,
    by,
    interval,
    paired,
    pass_at_k,
    score,
    sign_flip,
)

FAILED = None


def rollout(problem: Problem, index: int, reward: float | None, *, cut: bool = False) -> Rollout:
    if reward is None:
        return Rollout(
            problem=problem, index=index, failure=Failure(boundary="generate", type="ServerFailed", message="503")
        )
    trajectory = Trajectory(
        messages=(), output="x", usage=Usage(prompt=10, completion=2), finish_reason="length" if cut else "stop"
    )
    return Rollout(problem=problem, index=index, trajectory=trajectory, verdict=Verdict(reward=reward))


def group(name: str, *rewards: float | None, **metadata: str) -> Tally:
    problem = Problem(id=name, query=name, metadata=metadata)
    return Group(
        problem=problem, rollouts=tuple(rollout(problem, index, reward) for index, reward in enumerate(rewards))
    ).tally


def groups(*rows: Sequence[float | None]) -> list[Tally]:
    return [group(f"p{place}", *row) for place, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("rows", "mean"),
    [
        ([(1, 0), (1, 1)], 0.75),
        ([(1, 0, 0, 0), (1,)], 0.625),  # over problems, not over answers (2/5)
        ([(0.5, 0.25), (0, 0), (1, FAILED)], (0.375 + 0 + 1) / 3),
    ],
)
def test_the_mean_is_over_problems_of_their_mean_answers(rows: list[tuple[float, ...]], mean: float) -> None:
    found = score(groups(*rows))
    assert found.mean == pytest.approx(mean)
    table = [[reward for reward in row if reward is not None] for row in rows]
    weights = [1 / len(row) / len(table) for row in table for _ in row]
    flat = [reward for row in table for reward in row]
    assert found.mean == pytest.approx(np.dot(weights, flat))


def test_failures_are_in_no_mean_but_the_one_that_counts_them_as_0() -> None:
    rows = [(1,), (1,), (0,), (0,), (0,), (0,), (FAILED,), (FAILED,)]
    found = score(groups(*rows))
    assert found.mean == pytest.approx(2 / 6)
    assert found.mean_failed_as_0 == pytest.approx(2 / 8)
    assert (found.n_problems, found.n_answers, found.failed) == (6, 6, 2)


def test_no_answer_is_scored_and_counted() -> None:
    problem = Problem(id="p", query="q")
    both = Group(problem=problem, rollouts=(rollout(problem, 0, 1.0), rollout(problem, 1, 0.0, cut=True)))
    found = score([both.tally])
    assert (found.mean, found.n_answers, found.no_answer, found.failed) == (0.5, 2, 1, 0)
    assert found.tokens == Usage(prompt=20, completion=4)


def test_without_a_scored_answer_there_is_no_mean() -> None:
    found = score(groups((FAILED, FAILED)))
    assert (found.mean, found.interval, found.mean_failed_as_0, found.failed) == (None, None, 0.0, 2)
    assert score([]).mean is None


def test_one_problem_has_no_interval() -> None:
    assert score(groups((1, 0, 1, 0))).interval is None


@pytest.mark.parametrize(
    ("values", "reach"),
    [([0.0, 1.0], 6.353), ([0.0, 0.5, 1.0], 1.2422), ([0.2, 0.4, 0.4, 0.6], 0.2599)],
)
def test_few_problems_get_students_t(values: list[float], reach: float) -> None:
    found = interval(values)
    assert found == pytest.approx((fmean(values) - reach, fmean(values) + reach), abs=2e-4)
    quantile = {2: 12.706, 3: 4.303, 4: 3.182}[len(values)]
    assert reach == pytest.approx(quantile * stdev(values) / len(values) ** 0.5, abs=2e-4)


def test_the_same_groups_and_seed_give_the_same_interval() -> None:
    rows = groups(*[(place % 2, 1) for place in range(20)])
    assert score(rows, seed=3) == score(rows, seed=3)
    values = [place / 20 for place in range(20)]
    assert interval(values, seed=3, resamples=99) != interval(values, seed=4, resamples=99)


def test_more_answers_to_the_same_problems_do_not_narrow_the_interval() -> None:
    few = score(groups(*[(place % 2,) for place in range(20)])).interval
    many = score(groups(*[(place % 2,) * 50 for place in range(20)])).interval
    assert few == many


@pytest.mark.parametrize("problems", [60, 400, MANY + 1])
def test_of_many_problems_the_interval_is_the_standard_error_of_the_mean(problems: int) -> None:
    values = np.random.default_rng(1).random(problems)
    found = interval(values.tolist())
    reach = 1.96 * values.std() / problems**0.5
    assert found == pytest.approx((values.mean() - reach, values.mean() + reach), abs=0.1 * reach)


@pytest.mark.parametrize(("problems", "answers"), [(6, 3), (24, 5), (48, 3)])
def test_a_95_percent_interval_covers_the_truth_in_about_95_of_100_experiments(problems: int, answers: int) -> None:
    rng = np.random.default_rng(7)
    difficulty = rng.beta(1.2, 1.2, size=(400, problems))  # mean 0.5
    means = rng.binomial(answers, difficulty) / answers
    intervals = [interval(row.tolist(), seed=seed, resamples=1_000) for seed, row in enumerate(means)]
    covered = fmean(found is not None and found.low <= 0.5 <= found.high for found in intervals)
    assert 0.92 <= covered <= 0.98


@pytest.mark.parametrize(
    ("n", "c", "k", "chance"), [(5, 0, 3, 0.0), (5, 2, 1, 0.4), (5, 2, 2, 0.7), (4, 1, 4, 1.0), (10, 3, 5, 11 / 12)]
)
def test_pass_at_k_is_the_chance_that_k_drawn_answers_hold_a_right_one(n: int, c: int, k: int, chance: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(chance)
    draws = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(fmean(any(draw) for draw in draws))


@pytest.mark.parametrize(("n", "c", "k"), [(3, 1, 4), (3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_pass_at_k_of_more_answers_than_there_are_is_a_bug(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="pass@k needs"):
        pass_at_k(n, c, k)


def test_pass_at_k_is_taken_over_the_problems_with_enough_answers() -> None:
    found = score(groups((1, 0), (0, 0, 1, 1), (0.999, FAILED))).pass_at
    assert found == {1: pytest.approx((0.5 + 0.5 + 0) / 3), 2: pytest.approx((1 + 5 / 6) / 2), 3: 1.0, 4: 1.0}


def test_the_same_library_twice_is_no_difference() -> None:
    rng = np.random.default_rng(5)
    one = groups(*rng.binomial(1, 0.4, size=(40, 3)).tolist())
    two = groups(*rng.binomial(1, 0.4, size=(40, 3)).tolist())
    found = paired(one, two)
    assert found.verdict == "no difference"
    assert found.interval is not None
    assert found.interval.low <= 0 <= found.interval.high
    same = paired(one, one)
    assert (same.difference, same.interval, same.p_value, same.verdict) == (0.0, (0.0, 0.0), 1.0, "no difference")


def test_a_and_a_is_rarely_called_a_gain_or_a_loss() -> None:
    rng = np.random.default_rng(11)
    draws = rng.binomial(1, 0.4, size=(200, 2, 30, 3))
    verdicts = [paired(groups(*a.tolist()), groups(*b.tolist()), resamples=500).verdict for a, b in draws]
    assert verdicts.count("no difference") >= 182  # 190 expected


@pytest.mark.parametrize(
    ("before", "after", "difference", "better", "worse"),
    [
        ([(0, 0), (0, 1), (1, 1)], [(1, 1), (0, 1), (1, 0)], 0.5 / 3, 1, 1),
        ([(0, 0, 0)] * 12, [(1, 1, 0)] * 12, 2 / 3, 12, 0),
        ([(1,)] * 12, [(0, 0)] * 12, -1.0, 0, 12),
    ],
)
def test_the_difference_is_of_the_same_problems_means(
    before: list[Sequence[float]], after: list[Sequence[float]], difference: float, better: int, worse: int
) -> None:
    found = paired(groups(*before), list(reversed(groups(*after))))
    assert found.difference == pytest.approx(difference)
    assert (found.better, found.worse) == (better, worse)
    old, new = score(groups(*before)).mean, score(groups(*after)).mean
    assert old is not None
    assert new is not None
    assert found.difference == pytest.approx(new - old)
    sure = {True: "gain", False: "loss"}[difference > 0] if len(before) == 12 else "no difference"
    assert found.verdict == sure


def test_a_problem_that_failed_on_either_side_is_left_out_and_counted() -> None:
    found = paired(groups((0,), (FAILED,), (1,), (0,)), groups((1,), (1,), (FAILED,)))
    assert (found.difference, found.n_problems, found.left_out) == (1.0, 1, 3)
    assert found.interval is None
    assert found.verdict == "no difference"


@pytest.mark.parametrize(
    ("problems", "verdict"), [(2, "no difference"), (5, "no difference"), (6, "gain"), (24, "gain")]
)
def test_a_handful_of_problems_that_all_rise_is_not_yet_a_gain(problems: int, verdict: str) -> None:
    assert paired(groups(*[(0,)] * problems), groups(*[(1,)] * problems)).verdict == verdict


def test_nothing_in_common_is_no_difference_and_no_number() -> None:
    found = paired(groups((FAILED,)), groups((1,)))
    assert (found.difference, found.interval, found.p_value, found.verdict) == (None, None, None, "no difference")


@pytest.mark.parametrize(
    ("differences", "p"), [([1.0, 1.0, 1.0], 2 / 8), ([1.0, -1.0], 1.0), ([2.0, 1.0, 0.0, 1.0, 1.0], 2 / 16)]
)
def test_sign_flips_are_counted_exactly_for_few_problems(differences: list[float], p: float) -> None:
    assert sign_flip(differences) == pytest.approx(p)


def test_random_sign_flips_agree_with_the_normal_test() -> None:
    differences = list(np.random.default_rng(2).normal(0.1, 0.4, size=60))
    z = abs(sum(differences)) / sum(value**2 for value in differences) ** 0.5
    normal = 2 * (1 - 0.5 * (1 + math.erf(z / 2**0.5)))
    assert sign_flip(differences, resamples=20_000) == pytest.approx(normal, abs=0.02)
    assert sign_flip([1.0] * 30) > 0


@given(st.lists(st.floats(0, 1), min_size=2, max_size=25))
def test_an_interval_is_ordered_and_of_few_values_holds_the_mean(values: list[float]) -> None:
    found = interval(values, resamples=500)
    assert found is not None
    assert found.low <= found.high
    assert len(values) >= FEW or found.low - 1e-9 <= fmean(values) <= found.high + 1e-9


def test_groups_are_told_apart_by_a_metadata_key() -> None:
    rows = [group("a", 1, family="csv"), group("b", 0, family="time"), group("c", 0), group("d", 1, family="csv")]
    assert {name: [item.problem_id for item in found] for name, found in by(rows, "family").items()} == {
        "(none)": ["c"],
        "csv": ["a", "d"],
        "time": ["b"],
    }


def test_a_score_is_json() -> None:
    found = score(groups((1, 0), (0, 0)))
    assert type(found).model_validate_json(found.model_dump_json()) == found
    assert found.interval == Interval(*found.model_dump(mode="json")["interval"])
