"""The sequential paired test: its error over all looks, what it finds, and what it saves (SPEC 2.11)."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import fsum
from random import Random

import pytest

from gym.evaluation.crossing import crossing
from gym.evaluation.sequential import ends_of_blocks, fewest, look, spent

ERROR = 0.05
Experiment = Iterator[list[float]]


def levels(ends: Sequence[int], planned: int) -> list[float]:
    return [spent(end / planned, ERROR) for end in ends]


def experiments(count: int, problems: int, share: float, seed: int = 1) -> Experiment:
    """Three answers to each problem on each side; in `share` of the problems the library takes nine of ten errors away."""
    draw = Random(seed)
    for _ in range(count):
        chances = [draw.betavariate(0.6, 0.9) for _ in range(problems)]
        given = [chance + (0.9 * (1 - chance) if draw.random() < share else 0.0) for chance in chances]
        sides = [[sum(draw.random() < one for _ in range(3)) / 3 for one in side] for side in (chances, given)]
        yield [new - old for old, new in zip(*sides, strict=True)]


class Ended(tuple[str, int]):
    """The verdict and the problems it took."""


def run_through(differences: Sequence[float], error: float = ERROR) -> Ended:
    ends = ends_of_blocks(len(differences))
    for count in range(1, len(ends) + 1):
        found = look(differences[: ends[count - 1]], ends[:count], len(differences), error=error)
        if found.verdict != "open":
            return Ended((found.verdict, ends[count - 1]))
    return Ended(("unclear", len(differences)))


@pytest.mark.parametrize(
    ("differences", "p_value"),
    [
        ([1.0, 1.0, 1.0, 1.0, 1.0], 1 / 32),
        ([1.0, 0.5, 1.0, 0.0, 0.25], 1 / 16),  # a difference of 0 has no sign
        ([1.0, 1.0, 1.0, 1.0, -1.0], 6 / 32),
        ([0.0, 0.0, 0.0, 0.0, 0.0], 1.0),
    ],
)
def test_one_look_gives_the_one_sided_sign_flip_p_value_of_hand(differences: list[float], p_value: float) -> None:
    assert crossing(differences, [5], [ERROR], planned=5).p_value == pytest.approx(p_value)


@pytest.mark.parametrize("seed", range(4))
def test_two_looks_agree_with_a_count_over_all_signs(seed: int) -> None:
    draw = Random(seed)
    differences = [draw.choice([-1, -2 / 3, -1 / 3, 0, 1 / 3, 2 / 3, 1]) for _ in range(9)]
    ends, spending = [5, 9], [0.1, 0.2]
    flips = [
        [sign * abs(one) for sign, one in zip(signs, differences, strict=True)] for signs in product((-1, 1), repeat=9)
    ]
    firsts = sorted((fsum(flip[:5]) for flip in flips), reverse=True)
    bound = firsts[int(0.1 * 512)]
    gone = [flip for flip in flips if fsum(flip[:5]) > bound + 1e-9]
    stayed = [flip for flip in flips if fsum(flip[:5]) <= bound + 1e-9]
    reach = [flip for flip in stayed if fsum(flip) >= fsum(differences) - 1e-9]
    found = crossing(differences, ends, spending, planned=9)
    if fsum(differences[:5]) > bound + 1e-9:
        assert found.crossed == 5
    else:
        assert found.p_value == pytest.approx((len(gone) + len(reach)) / 512)


@pytest.mark.parametrize("sizes", [(1.0,) * 10, (1 / 3, 2 / 3, 1.0, 1.0, 1 / 3) * 2, (0.9, 0.1) * 5])
def test_of_all_signs_at_most_the_stated_share_crosses_at_any_look(sizes: tuple[float, ...]) -> None:
    ends = ends_of_blocks(10)
    taken = sum(
        bool(crossing([s * a for s, a in zip(signs, sizes, strict=True)], ends, levels(ends, 10), planned=10).crossed)
        for signs in product((-1, 1), repeat=10)
    )
    assert taken <= ERROR * 2**10


def test_a_library_that_changes_nothing_is_taken_for_better_no_more_often_than_stated() -> None:
    ended = [run_through(one)[0] for one in experiments(300, 30, share=0.0)]
    assert ended.count("better") / 300 <= ERROR
    assert ended.count("worse") / 300 <= ERROR


def test_a_gain_is_found_nearly_as_often_as_with_all_answers_and_for_fewer() -> None:
    found = list(experiments(100, 30, share=0.55))
    ended = [run_through(one) for one in found]
    whole = sum(bool(crossing(one, [30], [ERROR], planned=30).crossed) for one in found)
    early = sum(verdict == "better" for verdict, _ in ended)
    assert whole > 90
    assert early >= whole - 0.04 * 100
    assert sum(problems for _, problems in ended) < 0.75 * 100 * 30


def test_what_does_harm_is_given_up_before_half_of_the_answers() -> None:
    ended = [run_through([-one for one in found]) for found in experiments(100, 30, share=0.3)]
    assert not any(verdict == "better" for verdict, _ in ended)
    assert sum(problems for _, problems in ended) < 100 * 15


def test_six_problems_that_all_fall_are_said_to_be_worse_at_the_first_look() -> None:
    ends = ends_of_blocks(24)
    assert look([-1.0] * 6, ends[:1], 24, error=ERROR).verdict == "worse"
    assert look([-1.0] * 5 + [0.0], ends[:1], 24, error=ERROR).verdict == "futile"
    assert look([-1.0] * 5 + [0.0], ends[:1], 24, error=ERROR, may_give_up=False).verdict == "open"


def test_when_no_more_will_come_the_rest_of_the_error_is_spent() -> None:
    differences = [1.0, 1.0, 1.0, 0.0, 1.0, 1.0]
    assert look(differences, [6], 24, error=ERROR).verdict == "open"
    ended = look(differences, [6], 24, error=ERROR, last=True)
    assert ended.verdict == "better"
    assert ended.p_value == pytest.approx(1 / 32, abs=0.005)


def test_nothing_moved_is_given_up_late_and_never_decided() -> None:
    assert run_through([0.0] * 30)[0] == "futile"
    assert look([0.0] * 6, [6], 30, error=ERROR).verdict == "open"
    assert look([0.0] * 30, ends_of_blocks(30), 30, error=ERROR).verdict == "open"


def test_five_problems_that_all_rise_are_the_least_that_decide_and_a_smaller_error_needs_more() -> None:
    for problems, error in ((fewest(0.05), 0.05), (fewest(0.01), 0.01)):
        assert run_through([1.0] * problems, error)[0] == "better"
        assert look([1.0] * (problems - 1), [problems - 1], problems - 1, error=error).verdict != "better"


def test_a_look_gives_the_same_however_many_come_after_it() -> None:
    differences = next(experiments(1, 30, share=0.2))
    ends = ends_of_blocks(30)
    first = crossing(differences[:6], ends[:1], levels(ends[:1], 30), planned=30)
    again = crossing(differences, ends[:1], levels(ends[:1], 30), planned=30)
    assert first == again
