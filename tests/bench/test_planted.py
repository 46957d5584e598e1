"""The planted libraries of `bench_credit` begin whole, and a seed can end when both planted sentences have left."""

from pathlib import Path

import pytest

from bench.bench_credit import BUILT_IN, found
from bench.planted import SCRIPTED, Planted, fruit, house
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


def test_a_seed_ends_when_both_planted_ones_have_left(tmp_path: Path) -> None:
    design, planted = BUILT_IN._replace(until_found=True), fruit(BUILT_IN.problems)
    ended = found(SCRIPTED, "", planted, design, tmp_path, 0)
    last = max(ended.steps[planted.harmful], ended.steps[planted.useless])
    begun = sorted(tmp_path.glob("seed-0/epoch_*/step_*"))
    assert last + 1 < ended.planned
    assert len(begun) == last + 1
    assert found(SCRIPTED, "", planted, design, tmp_path, 0) == ended
