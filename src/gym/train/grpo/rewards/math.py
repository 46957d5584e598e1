"""Mathematical answers: found, compared by rules, and only then by an algebra system.

The chain: text after the last closed thought -> last box, tag or answer line -> integers -> in a worker that can be
killed: exact -> rational values -> rules of `equality` -> `math_verify`. Each grade names the rule that decided.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gym.core.chat import ChatModel
from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.errors import ConfigError
from gym.train.grpo.rewards import math_verify
from gym.train.grpo.rewards.answers import Found, final_text, find_answer
from gym.train.grpo.rewards.base import ONLY_THOUGHTS, clip, gold, missing_gold, no_answer, read
from gym.train.grpo.rewards.equality import compare, integers
from gym.train.grpo.rewards.grading import Grade, graded
from gym.train.grpo.rewards.latex import plain
from gym.train.grpo.rewards.ruling import UNDECIDED, Ruling
from gym.train.grpo.rewards.sentences import MARKED, asks_or_denies, is_prose, readings
from gym.train.grpo.rewards.workers import Workers, shared


@dataclass(frozen=True)
class MathReward:
    """1 for an answer that is mathematically the ground truth, or one of `metadata["also_accept"]`; else 0."""

    workers: Workers | None = None

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """One verdict or failure per trajectory, in order."""
        grades = await asyncio.gather(*(self.grade(problem, item) for item in trajectories))
        return [grade.outcome for grade in grades]

    async def grade(self, problem: Problem, trajectory: Trajectory) -> Grade:
        """The verdict together with the rule that made it."""
        if missing := no_answer(trajectory):
            return graded(missing, trajectory, "")
        found = await read(self.workers, marked_answer, trajectory.output)
        if isinstance(found, Failure):
            return _grade(gold(problem), Decision("", found))
        if isinstance(found, Verdict):
            return Grade(result="no answer", outcome=found)
        return _grade(gold(problem), await self._decide(problem, found))

    async def _decide(self, problem: Problem, found: Found) -> "Decision":
        golds = accepted(problem)
        rulings = [integers(expected, found.text) for expected in golds]
        if sure := _accepting(rulings) or (None not in rulings and rulings[0]):
            return Decision(found.text, sure)
        workers = self.workers or shared()
        workers.prepare(math_verify.self_test)
        decided = await workers.call(decide, golds, found, problem.query)
        if isinstance(decided, Failure):
            _raise_if_broken(decided)
            return Decision(found.text, decided)
        return decided

    async def self_test(self) -> None:
        """Grade one right and one wrong pair in a worker that will serve; raises `ConfigError` when that fails."""
        workers = self.workers or shared()
        workers.prepare(math_verify.self_test)
        if isinstance(failed := await workers.call(math_verify.self_test), Failure):
            _raise_if_broken(failed)
            raise ConfigError(f"the reward 'math' cannot start its workers: {failed.type}: {failed.message}")

    def unscorable(self, problem: Problem) -> str | None:
        """Why the ground truth cannot be graded by mathematics, or None."""
        return missing_gold(problem) or unreadable(gold(problem))

    def bind(self, *, judge: ChatModel | None, workers: Workers | None) -> "MathReward":
        """The same reward on these workers."""
        return replace(self, workers=workers)


class Decision(NamedTuple):
    """What was taken for the answer, and what a rule says of it."""

    answer: str
    ruling: Ruling | Failure


def marked_answer(output: str) -> Found | Verdict:
    """The answer of a reply, or the verdict on one that has none."""
    if not (text := final_text(output)):
        return ONLY_THOUGHTS
    found = find_answer(text)
    return found if found and _says_something(found) else _NOTHING_FOUND


_NOTHING_FOUND = Verdict(reward=0.0, feedback="no answer: no box, no answer line and no value was found")


def accepted(problem: Problem) -> tuple[str, ...]:
    """The ground truth, and what the problem's source accepts beside it (AIME 2022 II 8 has two answers)."""
    others = problem.metadata.get("also_accept", ())
    listed = others if isinstance(others, list | tuple) else (others,)
    return (gold(problem), *(str(other) for other in listed))


def decide(golds: Sequence[str], found: Found, question: str) -> Decision:
    """In a worker: the decision of the first ground truth that accepts the answer; else that of the first."""
    decisions = [_decide(expected, found, question) for expected in golds]
    return next((one for one in decisions if isinstance(one.ruling, Ruling) and one.ruling.equal), decisions[0])


def _decide(expected: str, found: Found, question: str) -> Decision:
    """By the first reading that a rule accepts; else what the algebra says of those that no rule decides."""
    taken = list(dict.fromkeys(readings(found)))
    rulings = [compare(expected, reading, question) for reading in taken]
    for reading, ruling in zip(taken, rulings, strict=True):
        if ruling.equal:
            return Decision(reading, ruling)
    for reading, ruling in zip(taken, rulings, strict=True):
        readable = found.rule in MARKED or not is_prose(reading)
        if ruling is UNDECIDED and readable and (decided := _algebra(expected, reading)):
            return Decision(reading, decided)
    last = next((ruling for ruling in reversed(rulings) if ruling.rule), Ruling(False, "math-verify"))
    return Decision(taken[-1] if taken else found.text, last)


def _accepting(rulings: Sequence[Ruling | None]) -> Ruling | None:
    return next((ruling for ruling in rulings if ruling and ruling.equal), None)


def _raise_if_broken(failed: Failure) -> None:
    if failed.type == math_verify.Broken.__name__:
        raise ConfigError(f"{failed.message}; reinstall it: pip install --force-reinstall math-verify")


def _algebra(expected: str, answer: str) -> Ruling | Failure | None:
    match math_verify.equality(plain(expected), plain(answer)):
        case "equal":
            return Ruling(True, "math-verify")
        case "different":
            return None
        case "unreadable gold":
            said = f"no one can compare with {clip(expected)!r}"
            return Failure(boundary="reward", type="unscorable", message=said)


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


def _says_something(found: Found) -> bool:
    """A last line counts as an answer when it gives, not denies, a value, or is nothing but a few words."""
    if found.rule != "last line":
        return True
    if asks_or_denies(found.text):
        return False
    return len(found.text.split()) <= 3 or re.search(r"[\d\\$½π]", found.text) is not None


def _grade(expected: str, decision: Decision) -> Grade:
    answer, ruling = decision
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
