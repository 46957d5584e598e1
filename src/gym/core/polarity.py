"""Texts that say the opposite of each other (FAULTS M15).

Two texts contradict when they share condition and content words and one affirms what the other denies. Word lists and
a crude stem decide, not a model: what they miss, the controller of stage 3 may still see; what they find is certain
enough to refuse keeping both.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from gym.core.text import word_set

NEGATIVE = word_set("never not no avoid without cannot stop refrain nor neither skip")
AFFIRMATIVE = word_set("always do does must should ever use prefer ensure can need needs")
_STOP = word_set("a an the to of it its is are be that this you your from and then sure make")
_CONDITION = re.compile(r"(?:when|whenever|for|if|in|before|after|once|while)\b[^,]*,", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_ENDINGS = ("ings", "ing", "ed", "es", "s", "e")


class Claim(NamedTuple):
    """What a clause is about, and whether it affirms or denies it."""

    content: frozenset[str]
    affirms: bool


def contradict(one: str, other: str) -> bool:
    """Whether the texts agree in condition and content and differ in polarity.

    >>> contradict("Always simplify first.", "Never simplify first")
    True
    >>> contradict("If unsure, ask.", "If not unsure, ask.")
    False
    """
    (condition, action), (other_condition, other_action) = _claims(one), _claims(other)
    same_subject = condition == other_condition and action.content == other_action.content
    return same_subject and bool(action.content) and action.affirms != other_action.affirms


def contradictions(texts: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Index pairs (i < j) of texts that contradict each other, for the controller to decide."""
    alike: dict[tuple[Claim, frozenset[str]], list[int]] = {}
    for place, text in enumerate(texts):
        condition, action = _claims(text)
        alike.setdefault((condition, action.content), []).append(place)
    pairs = (pair for places in alike.values() for pair in combinations(places, 2))
    return tuple(sorted((i, j) for i, j in pairs if contradict(texts[i], texts[j])))


@lru_cache(maxsize=1 << 17)  # a library is compared with each new text: one that does not fit is read again each time
def _claims(text: str) -> tuple[Claim, Claim]:
    condition = _CONDITION.match(text)
    cut = condition.end() if condition else 0
    return _claim(text[:cut]), _claim(text[cut:])


def _claim(clause: str) -> Claim:
    words = [word for found in _WORD.findall(clause.casefold().replace("’", "'")) for word in _expanded(found)]
    denials = sum(word in NEGATIVE for word in words)
    content = frozenset(_stem(word) for word in words if word not in NEGATIVE | AFFIRMATIVE | _STOP)
    return Claim(content, denials % 2 == 0)


def _expanded(word: str) -> tuple[str, ...]:
    """`don't` is `do not`, `avoiding` is `avoid`."""
    if word.endswith("n't"):
        return ("not",)
    stem = word[:-3] if word.endswith("ing") else word
    return ("avoid",) if stem in ("avoid", "avoids") else (word.removesuffix("'s"),)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if len(word) - len(ending) >= 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word
