"""The planted libraries of `bench_credit` begin whole: the gate refuses none of their sentences."""

import pytest

from bench.planted import Planted, fruit, house
from bench.tasks import FAMILIES
from gym.core.admission import Admission
from gym.embedding import similarity
from gym.embedding.hashing import HashingEmbedder

HOUSES = [house(family, 0, 8) for family in FAMILIES.values()]


@pytest.mark.parametrize("planted", [fruit(48), *HOUSES], ids=["fruit", *FAMILIES])
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
