"""SPEC 1.2, 4.1, FAULTS S8 and S9: means over problems, intervals clustered by problem, pass@k, paired differences."""

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.core.chat import Usage
from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.core.rollout import Group, Rollout, Tally
from gym.evaluation.families import by
from gym.evaluation.metrics import (
    Interval,
    interval,
    paired,
    score,
    sign_flip,
)
from gym.evaluation.pass_at import pass_at_k

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
    ("right", "problems", "ends"),
    [(81, 263, (0.2553, 0.3662)), (15, 148, (0.0624, 0.1605)), (0, 20, (0.0, 0.1611)), (1, 29, (0.0061, 0.1718))],
)
def test_of_one_answer_each_the_interval_is_wilsons(right: int, problems: int, ends: tuple[float, float]) -> None:
    """The examples of Newcombe 1998 (doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E)."""
    found = interval([1.0] * right + [0.0] * (problems - right), low=0.0)
    assert found == pytest.approx(ends, abs=0.004)
    share, z = right / problems, 1.959964
    roots = np.roots([1 + z * z / problems, -(2 * share + z * z / problems), share * share])
    assert found == pytest.approx(sorted(roots), abs=0.004)


def test_more_answers_to_the_same_problems_do_not_narrow_the_interval() -> None:
    few = score(groups(*[(place % 2,) for place in range(20)])).interval
    many = score(groups(*[(place % 2,) * 50 for place in range(20)])).interval
    assert few == many


@pytest.mark.parametrize("problems", [400, 3_000])
def test_of_many_problems_the_interval_is_the_standard_error_of_the_mean(problems: int) -> None:
    values = np.random.default_rng(1).random(problems)
    reach = 1.96 * values.std() / problems**0.5
    expected = (values.mean() - reach, values.mean() + reach)
    assert interval(values.tolist(), low=0.0) == pytest.approx(expected, abs=0.05 * reach)
    assert interval(values.tolist()) == pytest.approx(expected, abs=0.05 * reach)


def test_ten_equal_values_are_no_certainty() -> None:
    """The rule of three says that 0 of 10 allows up to 3 of 10."""
    assert interval([0.0] * 10, low=0.0) == pytest.approx((0.0, 0.2775), abs=1e-3)
    middle = interval([0.5] * 10, low=0.0)
    assert middle is not None
    assert middle.low < 0.45 < 0.55 < middle.high
    nothing = interval([0.0] * 100)
    assert nothing is not None
    assert nothing.low == pytest.approx(-nothing.high)
    assert 0.005 < nothing.high < 0.05


def test_a_value_off_the_scale_is_a_bug() -> None:
    with pytest.raises(ValueError, match=r"values in \[0, 1\] expected"):
        interval([0.5, -0.5], low=0.0)


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
    assert (same.difference, same.p_value, same.verdict) == (0.0, 1.0, "no difference")
    assert same.interval == pytest.approx((-0.034, 0.034), abs=0.001)


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
def test_an_interval_holds_the_mean_and_keeps_to_its_scale(values: list[float]) -> None:
    for low in (0.0, -1.0):
        found = interval(values, low=low)
        assert found is not None
        assert low <= found.low <= fmean(values) + 1e-12
        assert fmean(values) - 1e-12 <= found.high <= 1.0


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=25))
def test_the_other_way_round_the_interval_is_the_mirror_image(values: list[float]) -> None:
    one, other = interval(values), interval([-value for value in values])
    assert one is not None
    assert other is not None
    assert one == pytest.approx((-other.high, -other.low), abs=1e-9)


def test_groups_are_told_apart_by_a_metadata_key() -> None:
    rows = [group("a", 1, family="csv"), group("b", 0, family="time"), group("c", 0), group("d", 1, family="csv")]
    assert {name: [item.problem_id for item in found] for name, found in by(rows, "family").items()} == {
        "(none)": ["c"],
        "csv": ["a", "d"],
        "time": ["b"],
    }


def test_a_problem_with_several_tags_is_in_the_table_of_each() -> None:
    tags = {"a": ["csv", "short"], "b": ("short",), "c": [], "d": "csv"}
    rows = [
        Group(problem=Problem(id=name, query=name, metadata={"tags": found}), rollouts=()).tally
        for name, found in tags.items()
    ]
    assert {name: [item.problem_id for item in found] for name, found in by(rows, "tags").items()} == {
        "(none)": ["c"],
        "csv": ["a", "d"],
        "short": ["a", "b"],
    }


def test_both_denominators_have_a_difference_of_their_own() -> None:
    """Of four answers each two right; after, two of them fail: better among the scored ones, no change over all."""
    before, after = groups(*[(1, 1, 0, 0)] * 8), groups(*[(1, 1, FAILED, FAILED)] * 8)
    assert paired(before, after).difference == 0.5
    counted = paired(before, after, failed_as_0=True)
    assert (counted.difference, counted.p_value, counted.n_problems) == (0.0, 1.0, 8)
    lost = paired(before, groups(*[(FAILED,) * 4] * 8), failed_as_0=True)
    assert (lost.difference, lost.left_out, lost.verdict) == (-0.5, 0, "loss")
    found = score(after)
    assert found.mean_failed_as_0 == 0.5
    assert found.interval_failed_as_0 is not None
    assert found.interval_failed_as_0.low < 0.5 < found.interval_failed_as_0.high


def test_pass_at_k_has_an_interval_over_problems() -> None:
    few = score(groups(*[(1, 0, 0), (0, 0, 0)] * 10))
    wide, narrow = few.pass_at_interval[3], score(groups(*[(1, 0, 0), (0, 0, 0)] * 100)).pass_at_interval[3]
    assert wide is not None
    assert narrow is not None
    assert few.pass_at[3] == 0.5
    assert wide == pytest.approx((0.3, 0.7), abs=0.02)  # 10 of 20 problems, whatever the answers to each
    assert wide.low < narrow.low < 0.5 < narrow.high < wide.high
    assert score(groups((1, 1), (0,))).pass_at_interval[2] is None


def test_a_score_is_json() -> None:
    found = score(groups((1, 0), (0, 0)))
    assert type(found).model_validate_json(found.model_dump_json()) == found
    assert found.interval == Interval(*found.model_dump(mode="json")["interval"])
