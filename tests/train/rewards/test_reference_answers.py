"""References of public sets are graded right however they are dressed, near misses never, and hostile replies end."""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import pytest

from bench.bench_answers import LEAST, LEAST_CASES, grades
from bench.hostile import GOLD, HOSTILE, boxed
from bench.references import DRESSINGS, SHARED, near_misses, references
from gym.core.problem import Failure
from gym.train.grpo.rewards.base import SHORT
from gym.train.grpo.rewards.grading import Grade
from gym.train.grpo.rewards.math import MathReward, marked_answer
from gym.train.grpo.rewards.workers import Workers

T = TypeVar("T")

needs_sets = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not here")


@pytest.fixture(scope="module")
def reward() -> Iterator[MathReward]:
    with Workers(2, limit_s=10.0) as workers:
        yield MathReward(workers)


@needs_sets
@pytest.mark.parametrize("dressing", DRESSINGS.values(), ids=DRESSINGS)
async def test_references_are_right_in_every_dressing(reward: MathReward, dressing: str) -> None:
    found = references()
    graded = await grades(reward, ((item.answer, item.question, dressing % item.answer) for item in found))
    missed = [item.answer for item, grade in zip(found, graded, strict=True) if grade.result != "correct"]
    assert len(found) == 1_220
    assert len(missed) <= (1 - LEAST) * len(found), missed


@needs_sets
async def test_a_near_miss_is_never_right(reward: MathReward) -> None:
    misses = list(near_misses(references()))
    pairs = ((miss.reference.answer, miss.reference.question, boxed(miss.answer)) for miss in misses)
    graded = await grades(reward, pairs)
    assert len(misses) > 3_000
    assert [miss for miss, grade in zip(misses, graded, strict=True) if grade.result == "correct"] == []


@needs_sets
async def test_the_cases_are_graded_right_without_a_false_positive(reward: MathReward) -> None:
    cases = [json.loads(line) for line in (SHARED / "grader_cases.jsonl").read_text(encoding="utf-8").splitlines()]
    found = await grades(reward, ((case["gold"], "", case["response"]) for case in cases))
    wrongly = [(case, grade) for case, grade in zip(cases, found, strict=True) if _differs(case["expected"], grade)]
    assert [case["id"] for case, grade in wrongly if grade.result == "correct"] == []
    assert len(cases) - len(wrongly) >= LEAST_CASES, wrongly


def _differs(expected: bool, grade: Grade) -> bool:
    return (grade.result == "correct") is not expected


class _Noting(Workers):
    """Workers that note what they are asked."""

    def __init__(self) -> None:
        super().__init__(2, limit_s=5.0)
        self.asked: list[tuple[Callable[..., object], tuple[object, ...]]] = []

    async def call(self, function: Callable[..., T], *arguments: object) -> T | Failure:
        self.asked.append((function, arguments))
        return await super().call(function, *arguments)


async def test_hostile_replies_end_with_the_right_label_and_the_workers_serve_on() -> None:
    with (workers := _Noting()):
        reward = MathReward(workers)
        found = await grades(reward, ((GOLD, "", item.output) for item in HOSTILE))
        wrongly = [
            (item.output[:60], grade)
            for item, grade in zip(HOSTILE, found, strict=True)
            if grade.result not in item.results
        ]
        after = await grades(reward, [(GOLD, "", boxed(r"\frac{7}{\sqrt{7}}")), (GOLD, "", boxed(r"\sqrt{8}"))] * 2)
    assert len(set(HOSTILE)) == 60
    assert wrongly == []
    assert [grade.result for grade in after] == ["correct", "wrong"] * 2
    assert _texts_of(marked_answer, workers) == sorted(_long(item.output for item in HOSTILE))


def _texts_of(function: Callable[..., object], workers: _Noting) -> list[str]:
    return sorted(str(arguments[0]) for asked, arguments in workers.asked if asked is function)


def _long(outputs: Iterable[str]) -> list[str]:
    """Those that would hold up the event loop; of white space alone there is nothing to read."""
    return [output for output in outputs if len(output) > SHORT and re.search(r"\S", output)]


async def test_a_worker_that_hangs_is_replaced_while_others_wait() -> None:
    endless = boxed(r"\cup".join(["(1,2)"] * 45))
    with Workers(1, limit_s=1.0) as workers:
        reward = MathReward(workers)
        await reward.self_test()
        found = await asyncio.wait_for(
            grades(reward, [(GOLD, "", endless), (GOLD, "", boxed(r"\frac{7}{\sqrt{7}}"))]), timeout=150
        )
    assert [grade.result for grade in found] == ["timeout", "correct"]
