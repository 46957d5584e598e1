"""The attack bench is fair: every text passes the gate, and liars do to other rules what they are said to do."""

from collections.abc import Sequence

import numpy as np
import pytest

from bench.federated import ATTACKS, OTHERS, World, ours, topics
from gym.core.admission import Admission
from gym.core.operation import Admitted
from gym.embedding.minilm import MiniLM
from gym.federated import bitdelta


@pytest.fixture(scope="module")
def world(minilm: MiniLM) -> World:
    known: dict[str, bitdelta.Codes] = {}

    def encode(texts: Sequence[str]) -> bitdelta.Codes:
        if missing := [text for text in dict.fromkeys(texts) if text not in known]:
            known.update(zip(missing, bitdelta.encode(minilm(missing)), strict=True))
        return np.array([known[text] for text in texts])

    return World(0, 3, ATTACKS["identical copies"], encode)


def test_every_text_of_the_bench_passes_the_gate() -> None:
    gate, liar = Admission(), World(0, 7, ATTACKS["negated advice"], lambda texts: np.empty((0, 52), dtype=np.uint8))
    texts = [text for topic in topics() for text in (*topic.good, *topic.negated)]
    for attack in ATTACKS.values():
        texts += [
            attack.words(topic, liar.luck(place, turn), turn)
            for topic in topics()
            for place in range(8)
            for turn in range(attack.rounds)
        ]
    assert [text for text in texts if not isinstance(gate(text, (), ()), Admitted)] == []


def test_copies_win_other_rules_and_not_the_gate(world: World) -> None:
    found = ours(world)
    assert found.poison == 0
    assert found.good >= 0.9 * len(topics())
    assert OTHERS["krum"](world).poison >= 3
