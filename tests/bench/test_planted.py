"""The planted libraries of `bench_credit` begin whole: the gate refuses none of their sentences."""

import pytest

from bench.planted import Planted, fruit, support_desk
from gym.core.admission import Admission
from gym.embedding import similarity
from gym.embedding.hashing import HashingEmbedder


@pytest.mark.parametrize("planted", [fruit(48), support_desk()], ids=["fruit", "support_desk"])
def test_every_planted_sentence_passes_the_gate(planted: Planted) -> None:
    gate = Admission(
        similarity=similarity(HashingEmbedder()),
        ground_truths={row["id"]: row["answer"] for row in planted.rows},
        queries={row["id"]: row["question"] for row in planted.rows},
    )
    library = planted.library(0)
    assert library.screened(gate).library == library
    assert {*library.texts} == {*planted.good, planted.harmful, planted.useless}
    assert planted.library(1).texts != library.texts
