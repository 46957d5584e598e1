"""Equal JSON values: the last one in the text and the ground truth. Key order is free, 1 equals 1.0, true is not 1."""

import json
import re
from collections.abc import Iterator
from typing import Any

from gym.core.problem import Verdict
from gym.train.grpo.rewards.answers import unfenced
from gym.train.grpo.rewards.base import TextReward, clip

_DECODER = json.JSONDecoder(strict=False)
_START = re.compile(r'\{(?=\s*["}])|\[(?=\s*[\[\]{"\d\-tfnNI])')
_MAX_WASTE = 300_000
"""Characters read in vain, after brackets that opened no value, before the search ends."""
_FALSE_START = 150
"""What an error costs, in characters."""


def last_value(text: str) -> Any:
    """The text as JSON, else its last outermost object or list; `...` (Ellipsis) when there is none.

    >>> last_value('Draft {"a": 1}, final {"a": [2]}')
    {'a': [2]}
    """
    try:
        return json.loads(unfenced(text))
    except (ValueError, RecursionError):
        return next(reversed(list(_values(text))), ...)


def difference(expected: Any, got: Any, at: str = "$") -> str | None:
    """Where and how two values differ first, in words; None when they are equal.

    >>> difference({"a": [1, 2]}, {"a": [1, 3]})
    'at $.a[1] expected 2, got 3'
    """
    if isinstance(expected, dict) and isinstance(got, dict):
        keys = [key for key in {**expected, **got} if key not in expected or key not in got]
        if keys:
            return f"at {at}.{keys[0]}: {'missing' if keys[0] in expected else 'not expected'}"
        return next(filter(None, (difference(expected[key], got[key], f"{at}.{key}") for key in expected)), None)
    if isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            return f"at {at} expected {len(expected)} items, got {len(got)}"
        pairs = enumerate(zip(expected, got, strict=True))
        return next(filter(None, (difference(a, b, f"{at}[{i}]") for i, (a, b) in pairs)), None)
    same_kind = isinstance(expected, bool) == isinstance(got, bool)
    return None if same_kind and expected == got else f"at {at} expected {_shown(expected)}, got {_shown(got)}"


def score(text: str, ground_truth: str) -> Verdict:
    """1 when the last JSON value of the text equals the ground truth."""
    got = last_value(text)
    if got is ...:
        return Verdict(reward=0.0, feedback=f"expected JSON {clip(ground_truth)}, found no JSON in {clip(text)!r}")
    try:
        unlike = difference(json.loads(ground_truth), got)
    except RecursionError:
        unlike = "the value is nested too deeply"
    return Verdict(reward=float(unlike is None), answer=_shown(got), feedback=unlike or "correct")


def unreadable(ground_truth: str) -> str | None:
    """Why it is no JSON, or None."""
    try:
        json.loads(ground_truth)
    except (ValueError, RecursionError) as error:
        return f"its ground truth {clip(ground_truth)!r} is no JSON: {error}"
    return None


def _values(text: str) -> Iterator[Any]:
    position, waste = 0, 0
    while waste <= _MAX_WASTE and (start := _START.search(text, position)):
        try:
            value, position = _DECODER.raw_decode(text, start.start())
            yield value
        except json.JSONDecodeError as error:
            position = start.end()
            waste += error.pos - position + _FALSE_START
        except RecursionError:
            return


def _shown(value: Any) -> str:
    return clip(json.dumps(value, ensure_ascii=False))


REWARD = TextReward(score, unreadable)
