"""The math reward: found answers, rules, the algebra system, and what must not hang or pass (FAULTS G1, G2, G10 to G16)."""

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.train.grpo.rewards.answers import find_answer
from gym.train.grpo.rewards.equality import compare, integers
from gym.train.grpo.rewards.grading import Grade
from gym.train.grpo.rewards.math import MathReward
from gym.train.grpo.rewards.workers import Workers

CASES = Path(__file__).parents[4] / "shared" / "data" / "grader_cases.jsonl"


@pytest.fixture(scope="module")
def reward() -> Iterator[MathReward]:
    with Workers(1, limit_s=10.0) as workers:
        yield MathReward(workers)


async def grade(reward: MathReward, gold: str, output: str, question: str = "", finish_reason: str = "stop") -> Grade:
    problem = Problem(id="p", query=question, ground_truth=gold)
    return await reward.grade(problem, Trajectory(messages=(), output=output, finish_reason=finish_reason))


@pytest.mark.parametrize(
    ("gold", "output", "result"),
    [
        ("4", r"<think> maybe \boxed{4}", "no answer"),
        ("4", r"2+2 is 4 then… \boxed{9}</think>The answer is \boxed{4}", "correct"),
        ("3", r"\boxed{2} wait, no: \boxed{3}", "correct"),
        ("2", r"\boxed{2} wait, no: \boxed{3}", "wrong"),
        (r"\pi/2", "pi/2", "correct"),
        (r"\frac{1}{2}", "½", "correct"),
        ("7", r"\boxed{７}", "correct"),
        ("1000000", r"\boxed{1\,000\,000}", "correct"),
        ("7", r"so \boxed{7", "correct"),
        ("7", r"first \boxed{7}, then \boxed{", "no answer"),
        ("B", "The answer is B.", "correct"),
        ("B", "The answer is (C).", "wrong"),
        ("25", r"\boxed{025}", "correct"),
        ("025", r"\boxed{25}", "correct"),
        ("7", "could be 17, 27 or 70", "wrong"),
        ("7", r"either \boxed{7} or \boxed{9}", "wrong"),
        ("7", "I could not solve this.", "no answer"),
        ("(0,1)", "$0<x<1$", "correct"),
        ("0<x<1", "$(0,1)$", "correct"),
        (r"[2,\infty)", r"\boxed{x\ge 2}", "correct"),
        (r"x\ge 2", r"\boxed{[2,\infty)}", "correct"),
        (r"x\ge 2", r"\boxed{(2,\infty)}", "wrong"),
        ("1/2^{99}", r"\boxed{1/2^{98}}", "wrong"),
        ("1/2^{99}", r"\boxed{\frac{1}{2^{99}}}", "correct"),
        (r"\frac{\pi}{2^{99}}", r"\boxed{\frac{\pi}{2^{98}}}", "wrong"),
        (r"\frac{\pi}{2^{99}}", r"\boxed{\pi/2^{99}}", "correct"),
        (r"\cot x", r"\boxed{\frac{1}{\tan x}}", "correct"),
        (r"1 \pm \sqrt{19}", r"\boxed{1+\sqrt{19}} and \boxed{1-\sqrt{19}}", "correct"),
        ("5\\text{ km}", r"\boxed{5\text{ miles}}", "wrong"),
        ("5\\text{ km}", r"\boxed{5\text{ kilometers}}", "correct"),
        ("864 \\mbox{ inches}^2", r"\boxed{864}", "correct"),
        ("1011_2", r"\boxed{1011_3}", "wrong"),
        (r"\{1,2\}", r"\boxed{(1,2)}", "wrong"),
        (r"\text{Evelyn}", r"\boxed{Evelyn}", "correct"),
        (r"\text{Evelyn}", r"\boxed{Angela}", "wrong"),
    ],
)
async def test_the_result_is(reward: MathReward, gold: str, output: str, result: str) -> None:
    assert (await grade(reward, gold, output)).result == result


@pytest.mark.parametrize(
    ("question", "answer", "result"),
    [
        ("What percent of the marbles are red?", "25", "correct"),
        ("What part of the marbles is red?", "25", "wrong"),
        ("", "25", "correct"),
        ("What part of the marbles is red?", "0.25", "correct"),
        ("What part of the marbles is red?", r"25\%", "correct"),
        ("What percent of the marbles are red?", "0.26", "wrong"),
    ],
)
async def test_percent_goes_by_the_questions_wording(
    reward: MathReward, question: str, answer: str, result: str
) -> None:
    assert (await grade(reward, r"25\%", rf"\boxed{{{answer}}}", question)).result == result


def test_it_grades_in_threads(reward: MathReward) -> None:
    def once(pair: tuple[str, str]) -> float:
        problem = Problem(id="p", query="", ground_truth=pair[0])
        (found,) = asyncio.run(_scored(reward, problem, pair[1]))
        assert isinstance(found, Verdict)
        return found.reward

    pairs = [("1/2", r"\boxed{0.5}"), (r"\cot x", r"\boxed{1/\tan x}"), (r"\cot x", r"\boxed{\tan x}")]
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(once, pairs)) == [1.0, 1.0, 0.0]


async def _scored(reward: MathReward, problem: Problem, output: str) -> list[Verdict | Failure]:
    return list(await reward(problem, [Trajectory(messages=(), output=output)]))


class _NoWorkers(Workers):
    """Workers that nobody may ask."""

    async def call(self, function: Callable[..., object], *arguments: object) -> Failure:
        raise AssertionError(f"{function} needs no worker here")


@pytest.mark.parametrize(("gold", "result"), [("25", "correct"), ("025", "correct"), ("26", "wrong"), ("-25", "wrong")])
async def test_integers_need_no_worker(gold: str, result: str) -> None:
    assert (await grade(MathReward(_NoWorkers()), gold, r"so \boxed{25}")).result == result


@given(st.from_regex(r"[+-]?[0-9]{1,18}", fullmatch=True), st.from_regex(r"[+-]?[0-9]{1,18}", fullmatch=True))
def test_integers_are_decided_as_the_rules_would(one: str, other: str) -> None:
    assert integers(one, other) == compare(one, other)
    assert integers(one, one) == compare(one, one)


async def test_a_long_reply_is_read_in_a_worker(reward: MathReward) -> None:
    thoughts = "<think>" + "so it goes " * 50_000 + "</think>"
    assert (await grade(reward, "25", thoughts + r"\boxed{25}")).result == "correct"
    with pytest.raises(AssertionError, match="marked_answer"):
        await grade(MathReward(_NoWorkers()), "25", thoughts + r"\boxed{25}")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer>3</answer> no: <answer>4</answer>", "4"),
        ("<answer> I mean <answer>4</answer>", "4"),
        ("<answer>4</answer> so </answer>", "4"),
        ("<answer>" * 5_000 + "4</answer>", "4"),
        ("<answer>" * 5_000 + "4", "<answer>" * 5_000 + "4"),
    ],
)
def test_the_last_closed_tag_holds_the_answer(text: str, answer: str) -> None:
    found = find_answer(text)
    assert found is not None
    assert found.text == answer


async def test_truncated_is_told_from_no_answer(reward: MathReward) -> None:
    assert (await grade(reward, "4", r"<think> maybe \boxed{4}", finish_reason="length")).result == "truncated"
    assert (await grade(reward, "4", "")).result == "no answer"


async def test_a_grade_names_the_answer_and_the_rule(reward: MathReward) -> None:
    found = await grade(reward, "25", r"so \boxed{025}.")
    assert (found.answer, found.rule) == ("025", "integer")
    assert (await grade(reward, r"\cot x", r"\boxed{1/\tan x}")).rule == "math-verify"
    wrong = await grade(reward, "25", r"\boxed{26}")
    assert wrong.outcome == Verdict(reward=0.0, answer="26", feedback="expected '25', got '26'")


@pytest.mark.parametrize(
    "answer",
    [
        "9**9**9", "9^{9^{9}}", "10^{99999999}", "99999!", "((3!)!)!", "(" * 5000 + "7" + ")" * 5000, "1" * 200_000,
        r"\boxed{" * 20_000, r"\[" * 50_000, "__import__('os').system('true')", "x" * 200_000,
    ],
)  # fmt: skip
async def test_hostile_answers_are_wrong_at_once(reward: MathReward, answer: str) -> None:
    for dressed in (answer, rf"\boxed{{{answer}}}", f"Answer: {answer}"):
        found = await grade(reward, r"\sqrt{7}", dressed)
        assert found.result in ("wrong", "no answer")


async def test_a_check_that_hangs_is_a_timeout_and_never_a_zero() -> None:
    with Workers(1, limit_s=0.01) as workers:
        found = await grade(
            MathReward(workers), r"\int_0^1 x^{x^2+1}\,dx", r"\boxed{\sum_{n=1}^{40} \frac{\sin(n^2)}{n^n}}"
        )
    assert found.result == "timeout"
    assert isinstance(found.outcome, Failure)


async def test_a_gold_that_the_algebra_cannot_read_is_a_failure_and_never_a_zero(reward: MathReward) -> None:
    found = await grade(reward, r"\frac{1}{", r"\boxed{4}")
    assert found.result == "error"
    assert isinstance(found.outcome, Failure)
    assert found.outcome.type == "unscorable"


@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12))
def test_integers_are_equal_exactly_when_they_are(one: int, other: int) -> None:
    assert compare(str(one), f"{other:,}").equal is (one == other)
    assert compare(str(one), f"{one:,}.0").equal is True


@given(st.fractions(max_denominator=10**6))
def test_every_fraction_equals_its_latex_and_its_slash(value: object) -> None:
    top, _, bottom = str(value).partition("/")
    sign, digits = ("-", top[1:]) if top.startswith("-") else ("", top)
    assert compare(str(value), rf"{sign}\frac{{{digits}}}{{{bottom or 1}}}").equal is True


@pytest.mark.skipif(not CASES.exists(), reason="the shared grader cases are not here")
async def test_the_shared_cases_are_graded_right_without_a_false_positive(reward: MathReward) -> None:
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    grades = await asyncio.gather(*(grade(reward, case["gold"], case["response"]) for case in cases))
    correct = [found.result == "correct" for found in grades]
    false_positives = [case["id"] for case, got in zip(cases, correct, strict=True) if got and not case["expected"]]
    right = sum(got == case["expected"] for case, got in zip(cases, correct, strict=True))
    assert false_positives == []
    assert right >= 98
