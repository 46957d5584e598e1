"""The rewards of the web domain: `web` compares parts, `web_judge` has a model look again where they do not match.

What is compared is the stated answer, behind the last `Answer:`. A judge is asked for wrong answers alone, since most right
ones need none; whatever it cannot say is a failure, never a 0 (`rewards.judge`).
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gym.core.chat import ChatModel
from gym.core.problem import Failure, Problem, Reward, Trajectory, Verdict
from gym.train.grpo.domains.web.parts import Compared, same
from gym.train.grpo.rewards import judge as judging
from gym.train.grpo.rewards.answers import final_text, find_answer
from gym.train.grpo.rewards.base import ONLY_THOUGHTS, clip, gold, missing_gold, no_answer
from gym.train.grpo.rewards.grading import Grade, graded
from gym.train.grpo.rewards.workers import Workers

ACCEPT = "accept"
"""Metadata of a problem: other forms of its answer, a list of texts."""

_STATED = re.compile(r"^[ \t>#*_-]*(?:final\s+)?(?:answer|答案)[*_\s]*[:：][*_ \t]*(.*)", re.IGNORECASE | re.MULTILINE)


def stated(text: str) -> str:
    """The answer of a final text: behind its last `Answer:`, on that line or the next ones; else as any reward finds it.

    >>> stated("I looked.\\n**Answer:** GIN; 4MB"), stated("Answer:\\n- GIN\\n- 4MB\\n\\nDone.")
    ('GIN; 4MB', 'GIN\\n4MB')
    """
    if marks := list(_STATED.finditer(text)):
        said = marks[-1][1].strip().strip("*_").strip()
        return said or _listed(text[marks[-1].end() :])
    found = find_answer(text)
    return found.text if found else ""


def _listed(text: str) -> str:
    """The lines up to the first empty one, without their bullets."""
    lines = text.strip().partition("\n\n")[0].splitlines()
    return "\n".join(re.sub(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+", "", line).strip() for line in lines)


def accepted(problem: Problem) -> tuple[str, ...]:
    """The reference answer and its other forms."""
    others = problem.metadata.get(ACCEPT) or ()
    return gold(problem), *(str(one) for one in others if str(one).strip())


@dataclass(frozen=True)
class WebReward:
    """1 when every part is right, else 0, or what `second` says."""

    second: Reward | None = None

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """One verdict or failure per trajectory, in order."""
        found = await asyncio.gather(*(self.grade(problem, item) for item in trajectories))
        return [grade.outcome for grade in found]

    async def grade(self, problem: Problem, trajectory: Trajectory) -> Grade:
        """The verdict together with the rule that made it: `parts` or `judge`."""
        verdict = _by_parts(problem, trajectory)
        if self.second is None or verdict.reward == 1.0 or verdict.answer is None:
            return graded(verdict, trajectory, "parts")
        (opinion,) = await self.second(_with_forms(problem), [trajectory])
        if isinstance(opinion, Verdict):
            opinion = opinion.model_copy(update={"answer": verdict.answer})
        return graded(opinion, trajectory, "judge")

    def unscorable(self, problem: Problem) -> str | None:
        """Why there is nothing to compare with, or None."""
        return missing_gold(problem)

    def bind(self, *, judge: ChatModel | None, workers: Workers | None) -> "WebReward":
        """The same reward with a judge to ask, where it asks one."""
        return self if judge is None or self.second is None else replace(self, second=judging.judge_reward(judge))


def _by_parts(problem: Problem, trajectory: Trajectory) -> Verdict:
    if missing := no_answer(trajectory):
        return missing
    text = final_text(trajectory.output)
    if not text:
        return ONLY_THOUGHTS
    given, forms = stated(text), accepted(problem)
    found = same(given, forms, problem.query)
    return Verdict(reward=float(found.equal), answer=given, feedback=_feedback(found, forms[0].strip(), given))


def _feedback(found: Compared, expected: str, given: str) -> str:
    if found.equal:
        return f"correct: {clip(given)!r}"
    parts = ", ".join(map(str, found.wrong))
    where = f"; of {found.of} parts wrong: {parts}" if parts and found.of > 1 else ""
    return f"expected {clip(expected)!r}, got {clip(given)!r}{where}"


def _with_forms(problem: Problem) -> Problem:
    """With the other forms told to whoever reads the reference."""
    first, *others = accepted(problem)
    told = f"{first} (accepted as well: {' | '.join(others)})" if others else first
    return problem.model_copy(update={"ground_truth": told})


REWARD = WebReward()
WITH_JUDGE = WebReward(judging.REWARD)
"""Before it has a model it says what it cannot score; asked without one it raises `ConfigError`."""
