r"""Equal numbers, to a relative 1e-6 or an absolute 1e-9.

The number is the whole text, or the one that is marked as the answer (a box, "answer:", the right side of a closing
equation), or the only one there is. Several numbers and no mark are no answer to a question that has one (FAULTS G5).
A percent sign, a currency sign and a unit are dropped; 25 % and 0.25 differ.
"""

import math
import re
from fractions import Fraction

from gym.core.problem import Verdict
from gym.train.grpo.rewards.answers import MAX_CHARS, find_answer
from gym.train.grpo.rewards.base import TextReward, clip, verdict

RELATIVE, ABSOLUTE = 1e-6, 1e-9

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,3})?"
    r"(?:\s*/\s*\d+)?(?![\d])"
)
_EQUATION = re.compile(r"[=≈]\s*([^=≈]+)$")


def number(text: str) -> float | None:
    """The value of a text that is one number, with separators, a fraction bar, a currency or percent sign allowed.

    >>> number("$1,200.50"), number("3/4"), number("7 or 8")
    (1200.5, 0.75, None)
    """
    bare = text.strip().strip("*_$€£¥%`.").strip().replace("−", "-").replace("\\$", "").replace("\\%", "")
    return _value(bare) if _NUMBER.fullmatch(bare) else None


def find_number(text: str) -> float | None:
    """The number that a final text gives as its answer; None when there is none, or more than one to choose from."""
    if (whole := number(text)) is not None:
        return whole
    found = find_answer(text)
    if found is None:
        return None
    if found.rule == "last line":
        closing = _EQUATION.search(found.text)
        return _only(closing[1] if closing else text)
    closing = _EQUATION.search(found.text)
    return _only(closing[1] if closing else found.text)


def score(text: str, ground_truth: str) -> Verdict:
    """1 when the found number is close to the ground truth's."""
    expected, got = number(ground_truth), find_number(text)
    assert expected is not None, "ask `unscorable` first"
    if got is None:
        several = len(set(_NUMBER.findall(text[-MAX_CHARS:]))) > 1
        why = "several numbers and none marked as the answer" if several else "no number"
        return Verdict(reward=0.0, feedback=f"expected {ground_truth.strip()!r}, found {why} in {clip(text)!r}")
    return verdict(math.isclose(got, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE), ground_truth.strip(), f"{got:.15g}")


def unreadable(ground_truth: str) -> str | None:
    """Why it is no number, or None."""
    return None if number(ground_truth) is not None else f"its ground truth {clip(ground_truth)!r} is no number"


def _only(text: str) -> float | None:
    values = {_value(match) for match in set(_NUMBER.findall(text[-MAX_CHARS:].replace("−", "-")))}
    return values.pop() if len(values) == 1 else None


def _value(text: str) -> float | None:
    top, _, bottom = re.sub(r"[,\u00a0\u202f]", "", text).partition("/")
    try:
        value = float(Fraction(top) / Fraction(bottom or "1"))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return value if math.isfinite(value) else None


REWARD = TextReward(score, unreadable)
