"""Texts as unit vectors: what retrieval and the near-duplicate check measure with (SPEC 6.1).

numpy takes longer to import than all else that a library needs; it loads when the first text is compared.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIM = 384
Vectors: TypeAlias = "NDArray[np.float32]"

_CACHED_TEXTS = 10_000
"""Kept beyond those that are compared."""


class Embedder(Protocol):
    """A named encoder; vectors of different names are not comparable."""

    @property
    def name(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """One unit row a text, (n, dim) float32, in order."""
        ...


def similarity(embedder: Embedder) -> Callable[[str, Sequence[str]], Sequence[float]]:
    """Cosines of one text to each of several, in [-1, 1], each text embedded once: the gate's `similarity`."""
    known: dict[str, Vectors] = {}

    def cosines(text: str, others: Sequence[str]) -> Sequence[float]:
        if not others:
            return []
        import numpy as np

        if len(known) > _CACHED_TEXTS + 2 * len(others):
            known.clear()
        missing = [one for one in dict.fromkeys([text, *others]) if one not in known]
        if missing:
            known.update(zip(missing, embedder(missing), strict=True))
        rows = np.stack([known[other] for other in others])
        values: list[float] = np.clip(rows @ known[text], -1.0, 1.0).tolist()
        return values

    return cosines
