"""Vectors on disk: computed once, shared by processes, safe against a torn end."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from gym.embedding import DIM, Vectors
from gym.embedding.hashing import HashingEmbedder
from gym.embedding.store import Store
from gym.errors import StorageError

TEXTS = [f"When there are {n} apples, count them twice." for n in range(12)]
RECORD = 16 + 4 * DIM


class Counting(HashingEmbedder):
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return super().__call__(texts)


def test_a_text_is_embedded_once_by_whatever_store_of_the_folder(tmp_path: Path) -> None:
    encoder = Counting()
    rows = Store(encoder, tmp_path).rows([*TEXTS[:5], TEXTS[0]])
    np.testing.assert_array_equal(rows, HashingEmbedder()([*TEXTS[:5], TEXTS[0]]))
    later = Store(encoder, tmp_path)
    np.testing.assert_array_equal(later.rows(TEXTS[3:8]), HashingEmbedder()(TEXTS[3:8]))
    assert encoder.asked == TEXTS[:8]
    assert len(later) == 8
    assert later.rows([]).shape == (0, DIM)


def test_vectors_that_follow_each_other_are_a_view_of_the_file(tmp_path: Path) -> None:
    store = Store(HashingEmbedder(), tmp_path)
    store.rows(TEXTS)
    assert np.shares_memory(store.rows(TEXTS[2:9]), store.rows(TEXTS))
    np.testing.assert_array_equal(store.rows([TEXTS[9], TEXTS[2]]), HashingEmbedder()([TEXTS[9], TEXTS[2]]))


@pytest.mark.parametrize("cut", [1, 15, 16, 500, RECORD - 1])
def test_a_torn_end_is_dropped_and_written_over(tmp_path: Path, cut: int) -> None:
    Store(HashingEmbedder(), tmp_path).rows(TEXTS[:4])
    (file,) = tmp_path.glob("*.vectors")
    file.write_bytes(file.read_bytes()[:-cut])
    encoder = Counting()
    store = Store(encoder, tmp_path)
    np.testing.assert_array_equal(store.rows(TEXTS[:6]), HashingEmbedder()(TEXTS[:6]))
    assert encoder.asked == TEXTS[3:6]
    assert file.stat().st_size == 6 * RECORD


def test_a_record_that_never_reached_the_disk_is_computed_again(tmp_path: Path) -> None:
    Store(HashingEmbedder(), tmp_path).rows(TEXTS[:4])
    (file,) = tmp_path.glob("*.vectors")
    content = bytearray(file.read_bytes())
    content[2 * RECORD + 16 : 3 * RECORD] = bytes(RECORD - 16)
    file.write_bytes(content)
    for encoder in (Counting(), Counting()):
        np.testing.assert_array_equal(Store(encoder, tmp_path).rows(TEXTS[:4]), HashingEmbedder()(TEXTS[:4]))
    assert encoder.asked == []


def test_what_another_process_wrote_meanwhile_is_kept(tmp_path: Path) -> None:
    one, other = Store(HashingEmbedder(), tmp_path), Store(HashingEmbedder(), tmp_path)
    one.rows(TEXTS[:3])
    other.rows(TEXTS[3:6])
    one.rows(TEXTS[6:9])
    encoder = Counting()
    np.testing.assert_array_equal(Store(encoder, tmp_path).rows(TEXTS[:9]), HashingEmbedder()(TEXTS[:9]))
    assert encoder.asked == []


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot keep vectors in .*ZOO_GYM_CACHE"):
        Store(HashingEmbedder(), tmp_path / "file" / "vectors").rows(TEXTS[:1])
