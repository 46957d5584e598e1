"""Equal texts, white space at the ends aside."""

from gym.core.problem import Verdict
from gym.train.grpo.rewards.base import TextReward, verdict


def score(text: str, ground_truth: str) -> Verdict:
    """
    >>> score(" 42 ", "42").reward
    1.0
    """
    got = text.strip()
    return verdict(got == ground_truth.strip(), ground_truth.strip(), got)


REWARD = TextReward(score)
