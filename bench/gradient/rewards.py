"""What the bench pays for: half for the right content, all for the right form too, so that a small model can climb."""

from bench.tasks.grading import score as to_the_letter
from gym.core.problem import Verdict
from gym.train.grpo.rewards.base import TextReward


def content_and_form(text: str, ground_truth: str) -> Verdict:
    """1 for the expected word to the letter, 0.5 for a reply that begins with it in another form, else 0.

    >>> [content_and_form(text, "Yes").reward for text in ("Yes", "Yes.", "yes, it is", "No", "It is.")]
    [1.0, 0.5, 0.5, 0.0, 0.0]
    """
    found = to_the_letter(text, ground_truth)
    first = "".join(letter for letter in text.split()[0] if letter.isalnum()) if text.split() else ""
    half = found.reward == 0.0 and first.casefold() == ground_truth.casefold()
    return found.model_copy(update={"reward": 0.5}) if half else found


def named(text: str, ground_truth: str) -> Verdict:
    """1 when the reply names it, else 0.

    >>> [named(text, "Paris").reward for text in ("The capital of France is Paris.", "Rome")]
    [1.0, 0.0]
    """
    said = ground_truth.casefold() in text.casefold()
    return Verdict(reward=float(said), answer=text.strip(), feedback=f"expected {ground_truth!r}")


FORM = TextReward(content_and_form)
NAMED = TextReward(named)
