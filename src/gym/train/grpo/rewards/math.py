"""Mathematical answers: found, compared by rules, and only then by an algebra system in a worker that can be killed.

The chain: text after the last closed thought -> last box, tag or answer line -> exact -> integer and rational values ->
rules of `equality` -> `math_verify`. Each grade names the rule that decided.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gym.core.chat import ChatModel
from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.train.grpo.rewards import math_verify
from gym.train.grpo.rewards.answers import Found, final_text, find_answer
from gym.train.grpo.rewards.base import clip, gold, missing_gold, no_answer
from gym.train.grpo.rewards.equality import MAX_LENGTH, UNDECIDED, Ruling, compare
from gym.train.grpo.rewards.grading import Grade, graded
from gym.train.grpo.rewards.latex import plain
from gym.train.grpo.rewards.workers import Workers, shared


@dataclass(frozen=True)
class MathReward:
    """1 for an answer that is mathematically the ground truth, else 0."""

    workers: Workers | None = None

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """One verdict or failure per trajectory, in order."""
        grades = await asyncio.gather(*(self.grade(problem, item) for item in trajectories))
        return [grade.outcome for grade in grades]

    async def grade(self, problem: Problem, trajectory: Trajectory) -> Grade:
        """The verdict together with the rule that made it."""
        if missing := no_answer(trajectory):
            return graded(missing, trajectory, "")
        found = find_answer(final_text(trajectory.output))
        if found is None or not _says_something(found):
            said = "no answer: no box, no answer line and no value was found"
            return Grade(result="no answer", outcome=Verdict(reward=0.0, feedback=said))
        answer, ruling = await self._rule(problem, found)
        return _grade(gold(problem), answer, ruling)

    async def _rule(self, problem: Problem, found: Found) -> tuple[str, Ruling | Failure]:
        """The first reading that a rule accepts; else what the algebra system says of those that no rule decides."""
        readings = list(dict.fromkeys(_readings(found)))
        rulings = [compare(gold(problem), reading, problem.query) for reading in readings]
        for reading, ruling in zip(readings, rulings, strict=True):
            if ruling.equal:
                return reading, ruling
        for reading, ruling in zip(readings, rulings, strict=True):
            if ruling is UNDECIDED and (decided := await self._algebra(gold(problem), reading)):
                return reading, decided
        return readings[-1], next((ruling for ruling in reversed(rulings) if ruling.rule), Ruling(False, "math-verify"))

    async def _algebra(self, expected: str, answer: str) -> Ruling | Failure | None:
        workers = self.workers or shared()
        workers.prepare(math_verify.self_test)
        said = await workers.call(math_verify.equality, plain(expected), plain(answer))
        if isinstance(said, Failure):
            return said
        if said == "unreadable gold":
            return Failure(boundary="reward", type="unscorable", message=f"no one can compare with {clip(expected)!r}")
        return Ruling(True, "math-verify") if said == "equal" else None

    def unscorable(self, problem: Problem) -> str | None:
        """Why the ground truth cannot be graded by mathematics, or None."""
        return missing_gold(problem) or unreadable(gold(problem))

    def bind(self, *, judge: ChatModel | None, workers: Workers | None) -> "MathReward":
        """The same reward on these workers."""
        return replace(self, workers=workers)


_NOTHING = re.compile(
    r"(?:see|refer to)\b.*|n/?a|none|null|nan|unknown|undetermined|proof|answers? (?:may )?var\w+|[-?.…]+"
)
_FUNCTIONS = frozenset({
    "and", "arcsin", "arccos", "arctan", "cos", "cot", "csc", "deg", "det", "exp", "for", "gcd", "inf", "lcm", "lim", "log",
    "max", "min", "mod", "not", "sec", "sin", "sup", "tan",
})  # fmt: skip


def unreadable(ground_truth: str) -> str | None:
    """Why a ground truth is no mathematical answer (prose, a placeholder), or None.

    >>> unreadable("see figure"), unreadable("\\\\text{Evelyn}"), unreadable("x^2 + 1")
    ("its ground truth 'see figure' is no mathematical answer", None, None)
    """
    text = plain(ground_truth)
    bare = re.sub(r"\\[A-Za-z]+(?:\{[^{}]*\})?", " ", ground_truth)
    words = [word for word in re.findall(r"[A-Za-z]{3,}", bare) if word.lower() not in _FUNCTIONS]
    prose = len(words) > 1 and not re.search(r"\d", bare)
    if not text or _NOTHING.fullmatch(text.lower()) or prose:
        return f"its ground truth {clip(ground_truth)!r} is no mathematical answer"
    return None


_MATH_SPAN = re.compile(r"\$([^$]+)\$|\\\((.+?)\\\)")
_NUMBER = re.compile(r"(?<![\w.,])[-+−]?\d[\d,]*(?:\.\d+)?(?:/\d+)?(?![\w/])")
_IS = re.compile(r"\bis\b|\bare\b|=|:")
_JOINED = re.compile(r"[\s,;.]*(?:\b(?:and|or)\b)?[\s,;.]*", re.IGNORECASE)


def _readings(found: Found) -> Iterator[str]:
    """The answer as marked; and, when it stands in a sentence, the one thing in it that could be meant."""
    yield found.text
    sentence = found.text[-MAX_LENGTH:]
    if found.rule in ("box", "json") or not re.search(r"[A-Za-z]{2}\s|\$|=", sentence):
        return
    spans = [first or second for first, second in _MATH_SPAN.findall(sentence)]
    outside = _MATH_SPAN.sub("", sentence)
    if spans and (len(spans) == 1 or _JOINED.fullmatch(outside)):
        yield ", ".join(spans)
    elif len(numbers := set(_NUMBER.findall(sentence))) == 1:
        yield numbers.pop()
    elif len(set(_NUMBER.findall(tail := _IS.split(sentence)[-1]))) == 1:
        yield tail.strip()


def _says_something(found: Found) -> bool:
    """A last line counts as an answer when a value stands in it, or nothing but a few words does."""
    return found.rule != "last line" or len(found.text.split()) <= 3 or re.search(r"[\d\\$½π]", found.text) is not None


def _grade(expected: str, answer: str, ruling: Ruling | Failure) -> Grade:
    if isinstance(ruling, Failure):
        result = "timeout" if ruling.type == "Timeout" else "error"
        return Grade(result=result, answer=answer, rule="math-verify", outcome=ruling)
    equal = bool(ruling.equal)
    feedback = f"correct: {clip(answer)!r}" if equal else f"expected {clip(expected)!r}, got {clip(answer)!r}"
    return Grade(
        result="correct" if equal else "wrong",
        answer=answer,
        rule=ruling.rule,
        outcome=Verdict(reward=float(equal), answer=answer, feedback=feedback),
    )


REWARD = MathReward()
