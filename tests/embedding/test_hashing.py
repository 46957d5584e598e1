"""The embedder without weights (SPEC 6.1)."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym.embedding import Vectors, similarity
from gym.embedding.hashing import HashingEmbedder

TEXT = "When a customer reports a late parcel, label the ticket shipping even if they ask for money back."


@given(st.lists(st.text(alphabet=st.characters(codec=None), max_size=30), max_size=4))
@settings(max_examples=40, deadline=None)
def test_rows_are_float32_of_unit_length_in_order(texts: list[str]) -> None:
    embedder = HashingEmbedder()
    rows = embedder(texts)
    assert rows.shape == (len(texts), 384)
    assert rows.dtype == np.dtype("float32")
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    for text, row in zip(texts, rows, strict=True):
        np.testing.assert_array_equal(embedder([text])[0], row)


def test_a_vector_is_the_same_on_every_machine() -> None:
    row = HashingEmbedder()(["Check the units."])[0]
    assert np.flatnonzero(np.abs(row) > 0.2).tolist() == [20, 90, 128, 185, 227, 301]


@pytest.mark.parametrize(
    "copy",
    [
        TEXT.upper(),
        TEXT.replace(",", ""),
        TEXT.replace("parcel", "parcels"),
        TEXT.replace("late ", ""),
        TEXT.replace("even if", "although"),
    ],
)
def test_copies_with_small_edits_are_above_0_9(copy: str) -> None:
    assert similarity(HashingEmbedder())(TEXT, [copy])[0] > 0.9


@pytest.mark.parametrize(
    "other",
    [
        "If a delivery is delayed, choose 'shipping' although a refund is requested.",
        "When a customer reports a broken parcel, label the ticket returns even if they ask for a replacement.",
        "Always check the boundary cases of an inequality before concluding.",
        "",
    ],
)
def test_paraphrases_and_other_texts_are_well_below(other: str) -> None:
    assert similarity(HashingEmbedder())(TEXT, [other])[0] < 0.8


def test_similarity_embeds_each_text_once() -> None:
    class Counting(HashingEmbedder):
        seen: list[str] = []  # noqa: RUF012

        def __call__(self, texts: Sequence[str]) -> Vectors:
            self.seen.extend(texts)
            return super().__call__(texts)

    cosines = similarity(Counting())
    assert cosines("a b", []) == []
    assert cosines("a b", ["a b", "c d", "c d"])[0] == pytest.approx(1.0)
    cosines("c d", ["a b", "e f"])
    assert sorted(Counting.seen) == ["a b", "c d", "e f"]
