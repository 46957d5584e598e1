"""Equal texts after Unicode NFKC, without regard to case, spacing, and punctuation or markup at the ends."""

import unicodedata

from gym.core.problem import Verdict
from gym.train.grpo.rewards.base import TextReward, verdict


def normalize(text: str) -> str:
    """
    >>> normalize("  **The  Ｂlue whale.** ")
    'the blue whale'
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    start, end = 0, len(plain)
    while start < end and _is_margin(plain[start], signs=False):
        start += 1
    while end > start and _is_margin(plain[end - 1], signs=True):
        end -= 1
    return plain[start:end] or plain


def _is_margin(char: str, *, signs: bool) -> bool:
    """Punctuation and markup that says nothing; a leading sign, bracket or currency mark may."""
    return char.isspace() or char in "*_`\"'“”‘’«»" or (signs and char in ".,;:!?。，；：！？")


def score(text: str, ground_truth: str) -> Verdict:
    """1 when the normalised texts are equal."""
    return verdict(normalize(text) == normalize(ground_truth), ground_truth.strip(), text.strip())


REWARD = TextReward(score)
