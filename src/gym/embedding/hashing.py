"""An embedder without weights: hashed words and letter groups (Weinberger et al. 2009, arXiv:0902.2206).

It knows spelling, not meaning: a copy with a small edit stays above 0.9, a paraphrase falls well below. Equal on every
machine, instant, and enough to keep near-copies out of a library.
"""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gym.embedding import DIM, Vectors

_WORD = re.compile(r"[^\W_]+")
_WORD_WEIGHT = 1.0
_PAIR_WEIGHT = 0.3
_GROUP_WEIGHT = 0.45
_FREQUENT_WEIGHT = 0.35
"""Words of at most three letters are mostly grammar."""
_PROBES = 4
"""Each feature falls on so many places with its own signs, which evens out collisions."""


class HashingEmbedder:
    """Words, word pairs and groups of three or four letters, each hashed to signed places among `dim`."""

    name = "hashing-384-v1"
    dim = DIM

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """One unit row a text, (n, 384) float32, in order; a text without a word gets the first axis."""
        import numpy as np

        sums = np.array([_sums(text) for text in texts], dtype=np.float64).reshape(-1, DIM)
        sums[~sums.any(axis=1), 0] = 1.0
        rows: Vectors = (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype(np.float32)
        return rows


def _sums(text: str) -> list[float]:
    sums = [0.0] * DIM
    for feature, weight in _weighted(_WORD.findall(text.casefold())).items():
        for probe in range(_PROBES):
            place = zlib.crc32(f"{probe}{feature}".encode("utf-8", "replace"))
            sums[(place >> 1) % DIM] += weight if place & 1 else -weight
    return sums


def _weighted(words: Sequence[str]) -> dict[str, float]:
    """Features with their weights; a repeated one counts with the root of its number."""
    counts: Counter[tuple[str, float]] = Counter(_features(words))
    return {feature: weight * count**0.5 for (feature, weight), count in counts.items()}


def _features(words: Sequence[str]) -> Iterator[tuple[str, float]]:
    for word in words:
        weight = _FREQUENT_WEIGHT if len(word) <= 3 and not word.isdigit() else _WORD_WEIGHT
        yield f"w{word}", weight
        padded = f" {word} "
        groups = [padded[start : start + size] for size in (3, 4) for start in range(len(padded) - size + 1)]
        for group in groups:
            yield f"g{group}", _GROUP_WEIGHT * weight
    for one, other in pairwise(words):
        yield f"p{one} {other}", _PAIR_WEIGHT
