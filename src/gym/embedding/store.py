"""Vectors that are computed once: a file per encoder of records (digest of a text, its vector), and views into it.

Records have one size and are only ever appended, so that a file of any length is mapped instead of read: 100,000 vectors
are there at once. A torn last record is cut off by the next append; a record whose bytes never reached the disk has no unit
length and is computed again. The file holds no text.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from gym.embedding import Embedder, Vectors
from gym.errors import StorageError
from gym.llm.local.weights import cache_dir

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KEY_BYTES = 16
_AT_ONCE = 4096
"""Texts that are embedded between two appends, so that a long work that is broken off goes on where it was."""


class Store:
    """Vectors of texts under one encoder. Any number of processes may use a file.

    Invariant: `_places` maps the key of a text to its record in `_records`.
    """

    def __init__(self, encoder: Embedder, folder: Path | None = None) -> None:
        """Of the file `NAME.vectors` in `folder`, by default the user's cache."""
        self.encoder = encoder
        self.path = (folder or cache_dir("vectors")) / f"{encoder.name}.vectors"
        self._records: NDArray[Any] = self._mapped()
        self._places: dict[bytes, int] = {}
        self._learn(0)

    def __len__(self) -> int:
        return len(self._records)

    def rows(self, texts: Sequence[str]) -> Vectors:
        """One unit row a text, (n, dim) float32, in order; what is not in the file is embedded and put there.

        Texts whose records follow each other are a view of the file. Raises `StorageError` when it cannot be written.
        """
        keys = [_key(text) for text in texts]
        self._embed({key: text for key, text in zip(keys, texts, strict=True) if key not in self._places})
        rows = self._taken(keys)
        if broken := {keys[place]: texts[place] for place in _not_unit(rows)}:
            self._embed(broken)
            rows = self._taken(keys)
        return rows

    def _taken(self, keys: Sequence[bytes]) -> Vectors:
        import numpy as np

        places = np.array([self._places[key] for key in keys], dtype=np.intp)
        vectors: Vectors = self._records["vector"]
        if len(places) and (np.diff(places) == 1).all():
            return vectors[places[0] : places[-1] + 1]
        return vectors[places]

    def _embed(self, missing: dict[bytes, str]) -> None:
        items = list(missing.items())
        for start in range(0, len(items), _AT_ONCE):
            part = items[start : start + _AT_ONCE]
            self._append([key for key, _ in part], self.encoder([text for _, text in part]))

    def _append(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Put whole records at the end of the file, whoever else has written since, and see them."""
        import numpy as np

        records = np.empty(len(keys), dtype=self._kind())
        records["key"], records["vector"] = np.array(keys, dtype=f"V{_KEY_BYTES}"), vectors
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path.with_suffix(".lock")), self.path.open("ab") as file:
                if torn := file.tell() % records.itemsize:
                    file.truncate(file.tell() - torn)
                file.write(records.tobytes())
        except OSError as error:
            raise StorageError(
                f"cannot keep vectors in {str(self.path)!r}: {error.strerror or error}; make room, "
                "or let ZOO_GYM_CACHE name another folder"
            ) from error
        seen, self._records = len(self._records), self._mapped()
        self._learn(seen)

    def _mapped(self) -> "NDArray[Any]":
        """The whole records of the file, which may grow."""
        import numpy as np

        kind = self._kind()
        count = self.path.stat().st_size // kind.itemsize if self.path.exists() else 0
        return np.memmap(self.path, dtype=kind, mode="r", shape=(count,)) if count else np.empty(0, dtype=kind)

    def _kind(self) -> "np.dtype[Any]":
        import numpy as np

        return np.dtype([("key", f"V{_KEY_BYTES}"), ("vector", "<f4", (self.encoder.dim,))])

    def _learn(self, start: int) -> None:
        """Know the records from `start` on; of two for one text the later counts."""
        keys = self._records["key"][start:].tobytes()
        self._places.update(
            (keys[at : at + _KEY_BYTES], start + at // _KEY_BYTES) for at in range(0, len(keys), _KEY_BYTES)
        )


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]


def _not_unit(rows: Vectors) -> list[int]:
    import numpy as np

    places: list[int] = np.flatnonzero(np.abs(np.einsum("ij,ij->i", rows, rows) - 1) > 1e-3).tolist()
    return places
