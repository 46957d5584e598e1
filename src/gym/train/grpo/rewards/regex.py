"""The ground truth is a regular expression that the whole final text must match; in a worker, for it can run for ever."""

import re

from gym.core.problem import Verdict
from gym.train.grpo.rewards.base import TextReward, clip


def score(text: str, ground_truth: str) -> Verdict:
    """
    >>> score("3:05 PM", r"0?3:05 ?(pm|PM)").reward
    1.0
    """
    got = text.strip()
    equal = re.fullmatch(ground_truth, got) is not None
    said = f"correct: {clip(got)!r}" if equal else f"expected a match of {clip(ground_truth)!r}, got {clip(got)!r}"
    return Verdict(reward=float(equal), answer=got, feedback=said)


def unreadable(ground_truth: str) -> str | None:
    """Why it is no regular expression, or None."""
    try:
        re.compile(ground_truth)
    except (re.error, RecursionError, OverflowError) as error:
        return f"its ground truth {clip(ground_truth)!r} is no regular expression: {error}"
    return None


REWARD = TextReward(score, unreadable, short=-1)
