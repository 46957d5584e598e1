"""The effect of an experience is the difference that chance shows, with an interval that holds the truth (issue 5, credit)."""

import random
from collections.abc import Sequence
from statistics import fmean

import numpy as np
import pytest

from gym.core.experience import Experience, Library
from gym.core.trials import Trial, Trials
from gym.train.grpo.effects import effects


def library(*texts: str) -> Library:
    return Library.of(Experience(id=f"G{place}", text=text) for place, text in enumerate(texts))


def step(known: Library, *groups: Trial) -> Trials:
    return Trials(texts={entry.id: entry.text for entry in known}, groups=groups)


def pairs(differences: Sequence[float]) -> list[Trial]:
    """Problems with one rollout that was shown G0 and one that was not, so far apart."""
    return [
        Trial(problem=f"p{n}", shown=(("G0",), ()), rewards=(max(gap, 0.0), max(-gap, 0.0)))
        for n, gap in enumerate(differences)
    ]


ONE = library("When a, do b.")


@pytest.mark.parametrize(
    ("differences", "mean", "reach"),
    [
        ([1.0] * 5 + [0.0] * 5, 0.5, 2.2622 * 0.527046 / 10**0.5),
        ([1.0, -1.0] * 6, 0.0, 2.2010 * 1.044466 / 12**0.5),
        ([-0.5] * 8 + [0.5] * 2, -0.3, 2.2622 * 0.421637 / 10**0.5),
    ],
)
def test_with_one_rollout_on_each_side_it_is_the_paired_t_interval(
    differences: list[float], mean: float, reach: float
) -> None:
    found = effects([step(ONE, *pairs(differences))], ONE)["G0"]
    assert found.mean == pytest.approx(mean, abs=1e-6)
    assert (found.high - found.low) / 2 == pytest.approx(reach, rel=2e-3)
    assert (found.rollouts, found.problems) == (2 * len(differences), len(differences))


def drawn(rng: random.Random, problems: int, chance: float, worth: Sequence[float], size: int = 5) -> list[Trial]:
    """Groups of problems of their own difficulty, each entry shown with `chance` and worth what is said."""
    groups = []
    for n in range(problems):
        hard = rng.uniform(0.1, 0.4)
        shown = [tuple(f"G{e}" for e in range(len(worth)) if rng.random() < chance) for _ in range(size)]
        chances = [min(max(hard + sum(worth[int(id[1:])] for id in ids), 0.0), 1.0) for ids in shown]
        rewards = tuple(float(rng.random() < value) for value in chances)
        groups.append(Trial(problem=f"p{n}", shown=tuple(shown), rewards=rewards))
    return groups


def test_of_a_single_entry_it_is_the_regression_on_it_and_on_every_group() -> None:
    groups = drawn(random.Random(3), 30, 0.6, [0.4])
    rows, values = [], []
    for place, group in enumerate(groups):
        for ids, reward in zip(group.shown, group.rewards, strict=True):
            rows.append([float("G0" in ids), *(float(place == other) for other in range(len(groups)))])
            values.append(reward)
    slope = np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0][0]
    assert effects([step(ONE, *groups)], ONE)["G0"].mean == pytest.approx(slope, abs=1e-6)


def test_its_interval_holds_the_truth_in_95_of_100_experiments() -> None:
    known, worth, rng = library("a", "b", "c", "d"), [0.4, -0.1, 0.0, 0.15], random.Random(0)
    found = [effects([step(known, *drawn(rng, 40, 0.7, worth)) for _ in range(2)], known) for _ in range(160)]
    held = [each[f"G{e}"].low <= worth[e] <= each[f"G{e}"].high for each in found for e in range(4)]
    assert 0.92 <= fmean(held) <= 0.98
    for e in range(4):
        assert fmean(each[f"G{e}"].mean for each in found) == pytest.approx(worth[e], abs=0.02)


def test_rollouts_of_one_problem_are_one_observation_however_many_steps_repeat_them() -> None:
    once = effects([step(ONE, *pairs([1.0, 0.0] * 6))], ONE)["G0"]
    often = effects([step(ONE, *pairs([1.0, 0.0] * 6))] * 20, ONE)["G0"]
    assert (often.low, often.high) == pytest.approx((once.low, once.high), abs=1e-5)
    assert often.problems == once.problems


def test_what_another_entry_decides_does_not_widen_the_interval() -> None:
    known, rng = library("decides", "does nothing"), random.Random(1)
    groups = drawn(rng, 60, 0.6, [0.6, 0.0])
    blind = [
        each.model_copy(update={"shown": tuple(tuple(id for id in ids if id != "G0") for ids in each.shown)})
        for each in groups
    ]
    aware, unaware = (effects([step(known, *each)], known)["G1"] for each in (groups, blind))
    assert aware.high - aware.low < 0.9 * (unaware.high - unaware.low)


def test_a_changed_text_starts_anew() -> None:
    groups = pairs([1.0] * 12)
    changed = library("When a, do c.")
    assert effects([step(ONE, *groups)], changed) == {}
    assert effects([step(ONE, *groups), step(changed, *pairs([-1.0] * 12))], changed)["G0"].mean == -1.0


def test_groups_in_which_all_or_none_were_shown_an_entry_say_nothing_of_it() -> None:
    alike = [Trial(problem=f"q{n}", shown=(("G0",), ("G0",)), rewards=(1.0, 0.0)) for n in range(9)]
    lost = [Trial(problem="r", shown=(("G0",),), rewards=(1.0,)), Trial(problem="s", shown=(), rewards=())]
    found = effects([step(ONE, *pairs([1.0] * 5 + [0.0] * 5), *alike, *lost)], ONE)["G0"]
    assert (found.mean, found.problems) == (0.5, 10)


def test_nine_problems_are_too_few_and_equal_rewards_prove_little() -> None:
    assert effects([step(ONE, *pairs([1.0] * 9))], ONE) == {}
    assert effects([], ONE) == {}
    found = effects([step(ONE, *pairs([0.0] * 20))], ONE)["G0"]
    assert found.mean == 0.0
    assert found.high == pytest.approx(2.093 * 0.5 / 20, abs=1e-3)
