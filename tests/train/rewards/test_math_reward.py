"""The math reward: found answers, rules, the algebra system, and what must not hang or pass (FAULTS G1, G2, G10 to G16)."""

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.errors import ConfigError
from gym.train.grpo.rewards.answers import find_answer
from gym.train.grpo.rewards.base import self_test
from gym.train.grpo.rewards.equality import compare, integers
from gym.train.grpo.rewards.grading import Counted, Counts, Grade
from gym.train.grpo.rewards.math import MathReward
from gym.train.grpo.rewards.workers import Workers


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
        ("5", "The answer is 4. Wait, no. The answer is 5.", "correct"),
        ("4", "The answer is 4. Wait, no. So the final answer is **5**.", "wrong"),
        ("4", "The answer is 4. No other answer is possible, and I checked that the answer is right.", "correct"),
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
        ("385", "The answer is not 385.", "no answer"),
        (r"\frac{17}{3}", r"\boxed{5 2/3}", "correct"),
        ("12", r"\boxed{1 2}", "wrong"),
        (r"\frac{1}{3}", r"\boxed{0.\overline{3}}", "correct"),
        (r"\sqrt{51}", r"\boxed{√51}", "correct"),
        ("2:3", r"\boxed{2 \text{ to } 3}", "correct"),
        ("3R^2", r"\boxed{3r^2}", "wrong"),
        ("C", r"\boxed{(c)}", "correct"),
        ("C", r"\boxed{A, C}", "wrong"),
        (r"\emptyset", r"\boxed{\{\}}", "correct"),
        ("5", r"\boxed{5 \text{ units}}", "correct"),
        (r"15\mbox{ cm}^2", r"\boxed{15\,\mathrm{cm}^2}", "correct"),
        (r"15\mbox{ cm}^2", r"\boxed{15 \text{ square centimeters}}", "correct"),
        (r"15\mbox{ cm}^2", r"\boxed{15 \text{ cm}^3}", "wrong"),
        (r"15\mbox{ cm}^2", r"\boxed{15 \text{ cm}}", "wrong"),
        (r"1011_2", r"\boxed{1011_{\text{two}}}", "correct"),
        (r"2516_8", r"\boxed{2516}", "correct"),
        (r"2516_8", r"\boxed{2517_8}", "wrong"),
        ("3", r"\boxed{x \equiv 3 \pmod{7}}", "correct"),
        ("3", r"\boxed{10 \bmod 7}", "correct"),
        ("2", r"\boxed{10 \bmod 7}", "wrong"),
        (r"3 \pmod 7", r"\boxed{3}", "correct"),
        (r"3 \pmod 7", r"\boxed{10}", "wrong"),
        (r"3 \pmod 7", r"\boxed{x\equiv 10 \pmod{7}}", "correct"),
        (r"3 \pmod 7", r"\boxed{3 \text{ mod } 8}", "wrong"),
        (r"(5,\infty)", r"\boxed{5 < x}", "correct"),
        (r"(3,4]", r"\boxed{x\in(3,4]}", "correct"),
        (r"(3,4]", r"\boxed{[3,4]}", "wrong"),
        (r"(-\infty,2)\cup(3,\infty)", r"\boxed{x<2 \text{ or } x>3}", "correct"),
        (r"x<2 \text{ or } x>3", r"\boxed{(3,\infty)\cup(-\infty,2)}", "correct"),
        (r"(-\infty,2)\cup(3,\infty)", r"\boxed{x\le 2 \text{ or } x>3}", "wrong"),
        (r"(2,12) \cup (12,102)", r"\boxed{(2,102)}", "wrong"),
        ("[2,3]", r"\boxed{\{2,3\}}", "wrong"),
        (r"10^{-20}", r"\boxed{10^{-21}}", "wrong"),
        (r"10^{-20}", r"\boxed{0}", "wrong"),
        ("116", "```\n116\n```", "correct"),
        ("3.5", r"\boxed{3{.}5}", "correct"),
        (r"\dbinom52", r"\boxed{10}", "correct"),
        (r"\$5", r"\boxed{€5}", "wrong"),
        (r"\$5", r"\boxed{5.00 \text{ dollars}}", "correct"),
        ("(5,3)", r"\boxed{(x,y)=(5,3)}", "correct"),
        (r"(-\infty,\infty)", r"\boxed{\mathbb{R}}", "correct"),
        ("(1,2)", r"\boxed{\{x \mid 1<x<2\}}", "correct"),
        ("B", "option B", "correct"),
        ("0", r"\boxed{10^{-20}}", "wrong"),
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


async def test_any_answer_that_the_source_accepts_is_right(reward: MathReward) -> None:
    problem = Problem(
        id="aime-2022-II-08", query="", ground_truth="80", metadata={"also_accept": ["81", r"9\sqrt{82}"]}
    )
    outputs = (r"\boxed{80}", r"\boxed{081}", r"\boxed{\sqrt{6642}}", r"\boxed{82}", r"\boxed{\sqrt{82}}")
    found = [await reward.grade(problem, Trajectory(messages=(), output=output)) for output in outputs]
    assert [grade.result for grade in found] == ["correct", "correct", "correct", "wrong", "wrong"]


LENIENT = """
def parse(text, **options):
    return [object()]


def verify(gold, answer, **options):
    return True
"""


@pytest.mark.parametrize("source", [LENIENT, "import no_such_module_here"])
async def test_a_broken_math_verify_is_noticed_before_anything_is_graded(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "math_verify.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with Workers(1, limit_s=10.0) as workers:
        with pytest.raises(ConfigError, match=r"math-verify is broken.*pip install"):
            await self_test(MathReward(workers))
        with pytest.raises(ConfigError, match="math-verify is broken"):
            await grade(MathReward(workers), r"\cot x", r"\boxed{\tan x}")


async def test_a_sound_math_verify_passes_in_the_worker_that_serves() -> None:
    with Workers(1, limit_s=10.0) as workers:
        before = await workers.call(os.getpid)
        await self_test(MathReward(workers))
        assert await workers.call(os.getpid) == before


async def test_what_decided_is_counted_and_told_in_a_line(reward: MathReward) -> None:
    counts = Counts()
    counted = Counted(reward, counts)
    problem = Problem(id="p", query="", ground_truth="25")
    outputs = (r"\boxed{025}", r"\boxed{26}", r"\boxed{\frac{50}{2}}", "", r"<think>\boxed{25}")
    group = [Trajectory(messages=(), output=output) for output in outputs]
    verdicts = await counted(problem, [*group, Trajectory(messages=(), output="25", finish_reason="length")])
    assert [getattr(verdict, "reward", None) for verdict in verdicts] == [1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert str(counts) == "6 answers: 2 correct, 1 wrong, 2 no answer, 1 truncated; decided by integer 3"
    assert counted.unscorable(problem) is None


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
