"""The one grader of all families: the answer to the letter; the feedback tells a wrong form from a wrong content."""

import re

from gym.core.problem import Verdict
from gym.train.grpo.rewards.base import TextReward, clip

_MARKS = re.compile(r"[\W_]+")


def score(text: str, ground_truth: str) -> Verdict:
    """1 for the expected text, white space at its ends aside, else 0.

    >>> score("Yes.", "Yes").feedback
    "the content is right, its form is not: expected 'Yes', got 'Yes.'"
    """
    got, expected = text.strip(), ground_truth.strip()
    if got == expected:
        return Verdict(reward=1.0, answer=got, feedback=f"correct: {clip(got)!r}")
    what = "the content is right, its form is not" if _bare(got) == _bare(expected) else "wrong"
    return Verdict(reward=0.0, answer=got, feedback=f"{what}: expected {clip(expected)!r}, got {clip(got)!r}")


def _bare(text: str) -> str:
    """Letters and digits alone, in one case."""
    return _MARKS.sub("", text).casefold()


REWARD = TextReward(score)
