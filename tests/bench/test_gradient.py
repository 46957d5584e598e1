"""The bench of the three ways: what a round's bytes are made of, and the whole of it at its smallest on the tiny model."""

from pathlib import Path

import pytest

from bench.gradient.exchange import of_libraries, of_weights, table
from bench.gradient.rewards import content_and_form, named
from bench.gradient.work import SMALLEST, Place, compared, measured
from bench.report import ROOT
from gym.core.experience import Library
from gym.evaluation.record import read
from tests.tiny_model import TRAIN, tiny


def library(*texts: str) -> Library:
    made = Library()
    for text in texts:
        made = made.minted(text).library
    return made


def test_a_library_costs_its_text_a_code_for_each_entry_and_a_signature() -> None:
    learned, full = of_libraries([library("Say no more than the word.", "Größe in cm.")])
    assert learned.octets == 26 + 14 + 2 * 52 + 64
    assert full.octets == 100 * (20 + 52) + 64
    none, _ = of_libraries([library()])
    assert none.octets == 64


@TRAIN
def test_weights_cost_their_numbers_in_the_type_they_are_sent_in(tmp_path: Path) -> None:
    made = tiny()
    numbers = sum(one.numel() for one in made.model.parameters())
    wide, half, adapters, _ = of_weights("tiny", made.saved(tmp_path), rank=2)
    assert (wide.octets, half.octets) == (4 * numbers, 2 * numbers)
    # two layers of width 32: q and o 32 x 32, k and v 32 x 16, gate and up 32 x 64, down 64 x 32
    assert adapters.octets == 4 * 2 * 2 * (2 * 64 + 2 * 48 + 3 * 96)
    rows = table([wide], half).rows
    assert rows[0][-1] == "2.0"


@pytest.mark.parametrize(
    ("text", "reward"),
    [("No", 1.0), (" No\n", 1.0), ("no.", 0.5), ("No, it is not", 0.5), ("It is not", 0.0), ("", 0.0)],
)
def test_half_is_for_the_content_and_half_for_the_form(text: str, reward: float) -> None:
    assert content_and_form(text, "No").reward == reward
    assert named("It is Paris.", "Paris").reward == 1.0


@TRAIN
@pytest.mark.slow
def test_the_bench_runs_every_way_and_puts_them_into_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT / 'tests' / 'train'}")
    place = Place(tmp_path, tiny().saved(tmp_path / "tiny"), "scripted:tiny_script:reflect")
    assert [(way, seed) for way, seed, _ in measured(place, SMALLEST, [0])] == [
        ("library", 0), ("lora", 0), ("grpo", 0),
    ]  # fmt: skip
    told = compared(place, [0])
    for said in ("none", "library", "LoRA", "gradient GRPO", "peak memory", "Elsewhere"):
        assert said in told
    before = [read(place.run(way, 0) / "evaluations" / "before.json") for way in ("library", "lora", "grpo")]
    assert before[0].identity == before[1].identity == before[2].identity
    assert "differs" not in told
