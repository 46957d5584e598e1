"""Overlap of two problem sets by what their texts share, so that a copy with other spacing or framing is found too.

A text is its letters and digits alone, in 50-character shingles: LaTeX commands only set it, and drawings open alike.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from gym.core.problem import Problem

WIDTH = 50
"""Characters of a shingle; a shorter text is one shingle."""

_DRAWING = re.compile(
    r"\[asy\].*?\[/asy\]|<asy>.*?</asy>|\\begin\{(tikzpicture|asy)\}.*?\\end\{\1\}", re.DOTALL | re.IGNORECASE
)
_COMMAND = re.compile(r"\\(?:begin|end)\{[^{}]*\}|\\[A-Za-z]+")
_MARKS = re.compile(r"[\W_]+")


class Pair(NamedTuple):
    """Two problems with text in common."""

    a: str
    """Id of the problem in the first set."""
    b: str
    a_in_b: float
    """Share of the first's shingles that the second has, in (0, 1]."""
    b_in_a: float

    @property
    def share(self) -> float:
        """The greater of the two: 1 when one text holds the other whole."""
        return max(self.a_in_b, self.b_in_a)


def pairs(one: Sequence[Problem], other: Sequence[Problem], *, above: float = 0.5) -> tuple[Pair, ...]:
    """Pairs whose containment, either way, is at least `above`; the closest first.

    Time and memory go with the texts' length, not with the number of pairs: the smaller set is indexed.
    """
    if len(one) > len(other):
        turned = pairs(other, one, above=above)
        return _sorted([Pair(pair.b, pair.a, pair.b_in_a, pair.a_in_b) for pair in turned])
    index: defaultdict[str, list[int]] = defaultdict(list)
    sizes = [_enter(index, place, problem.query) for place, problem in enumerate(one)]
    found: list[Pair] = []
    for problem in other:
        own = shingles(problem.query)
        shared = Counter(place for part in own & index.keys() for place in index[part])
        for place, count in shared.items():
            pair = Pair(one[place].id, problem.id, count / sizes[place], count / len(own))
            if pair.share >= above:
                found.append(pair)
    return _sorted(found)


def shingles(text: str) -> frozenset[str]:
    r"""The shingles of a text.

    >>> shingles(r"Find $m + n$.") == shingles(r"find \(m+n\)") == frozenset({"findmn"})
    True
    """
    bare = _COMMAND.sub(" ", unicodedata.normalize("NFKC", _DRAWING.sub(" ", text)).casefold())
    bare = _MARKS.sub("", bare)
    return frozenset(bare[start : start + WIDTH] for start in range(max(len(bare) - WIDTH, 0) + 1)) - {""}


def _enter(index: defaultdict[str, list[int]], place: int, text: str) -> int:
    own = shingles(text)
    for part in own:
        index[part].append(place)
    return len(own)


def _sorted(found: Sequence[Pair]) -> tuple[Pair, ...]:
    return tuple(sorted(found, key=lambda pair: (-pair.share, -min(pair.a_in_b, pair.b_in_a), pair.a, pair.b)))
