"""`LocalDSOOptimizer` as the paper calls it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gym.core.admission import Admission
from gym.core.experience import Experience, Library
from gym.embedding.hashing import HashingEmbedder
from gym.federated import bitdelta
from gym.federated.redaction import Consent
from gym.train.grpo.continuous_learning import LocalDSOOptimizer
from gym.train.grpo.experience_manager import ExperienceManager

LISTING = """
from gym.train.grpo.continuous_learning import (
    LocalDSOOptimizer,
)

optimizer = LocalDSOOptimizer(model, exp_mgr)

# Compress for network
batch = optimizer.compress_for_network(
    min_confidence=0.7
)
# batch: {exp_id: {text, signs, scale, confidence}}
# Total size: ~5 KB for 100 experiences

# Submit to Zoo Network (on-chain)
network.submit_experiences(batch)

# Fetch global experiences
global_exp = network.fetch_accepted_experiences()
for exp in global_exp:
    exp_mgr.add(exp.text)
"""
"""The paper's listing "Federated experience sharing", word for word."""


class Accepts:
    """A network that accepts what it gets, and a text of its own."""

    def __init__(self) -> None:
        self.batch: Any = None

    def submit_experiences(self, batch: Any) -> Sequence[str]:
        self.batch = batch
        return ()

    def fetch_accepted_experiences(self) -> Sequence[Experience]:
        texts = [entry["text"] for entry in self.batch.values()] + ["When two sources disagree, prefer the newer one."]
        return [Experience(id=f"N{place}", text=text) for place, text in enumerate(texts)]


def manager(tmp_path: Path, *confidences: float) -> ExperienceManager:
    entries = tuple(
        Experience(
            id=f"G{place}", text=f"When case {place} comes, do {place} steps.", confidence=confidence, domain="d"
        )
        for place, confidence in enumerate(confidences)
    )
    path = tmp_path / "experiences.json"
    path.write_text(Library(entries=entries, next_id=len(entries)).to_json(), encoding="utf-8")
    return ExperienceManager(path, admission=Admission())


def test_the_papers_listing_runs_verbatim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gym.train.grpo.continuous_learning.resolved", lambda asked: "hashing")
    exp_mgr, network = manager(tmp_path, 0.9, 0.69, 0.7), Accepts()
    exec(LISTING, {"model": "deepseek-chat", "exp_mgr": exp_mgr, "network": network})
    assert list(network.batch) == ["G0", "G2"]
    assert {tuple(entry) for entry in network.batch.values()} == {("text", "signs", "scale", "confidence")}
    assert exp_mgr.library.texts[-1] == "When two sources disagree, prefer the newer one."
    assert len(exp_mgr) == 4


def test_a_hundred_codes_take_5200_bytes_and_are_those_of_the_texts(tmp_path: Path) -> None:
    own = manager(tmp_path, *100 * [0.8])
    batch = LocalDSOOptimizer("m", own, encoder=HashingEmbedder()).compress_for_network()
    assert sum(len(entry["signs"]) + 4 for entry in batch.values()) == 5200
    rows = HashingEmbedder()([entry["text"] for entry in batch.values()])
    signs = np.array([np.frombuffer(entry["signs"], dtype=np.uint8) for entry in batch.values()])
    assert (signs == bitdelta.encode(rows)[:, :48]).all()
    np.testing.assert_allclose([entry["scale"] for entry in batch.values()], np.abs(rows).mean(axis=1), rtol=1e-6)


def test_an_empty_library_gives_an_empty_batch(tmp_path: Path) -> None:
    assert LocalDSOOptimizer("m", manager(tmp_path, 0.1), encoder=HashingEmbedder()).compress_for_network() == {}


def test_with_consent_only_what_is_opted_in_is_given_redacted(tmp_path: Path) -> None:
    own = manager(tmp_path, 0.9, 0.9)
    own.modify("G1", "When mail comes from jo@acme.example, answer it.")
    for domains, expected in (({"d"}, "When mail comes from <e-mail>, answer it."), ({"other"}, None)):
        consent = Consent(domains=frozenset(domains))
        batch = LocalDSOOptimizer("m", own, encoder=HashingEmbedder(), consent=consent).compress_for_network(0.0)
        assert batch["G1"]["text"] == expected if expected else batch == {}


@pytest.mark.parametrize("model", ["deepseek-chat", type("M", (), {"name_or_path": "deepseek-chat"})()])
def test_the_model_gives_its_name(model: object) -> None:
    assert LocalDSOOptimizer(model, ExperienceManager()).model_id == "deepseek-chat"
