"""The encoder without torch gives the vectors of sentence-transformers (6.2.0, torch 2.13), kept beside this file."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gym.embedding import encoders, minilm
from gym.embedding.encoders import encoder_name, open_encoder, resolved
from gym.embedding.hashing import HashingEmbedder
from gym.embedding.minilm import MAX_TOKENS, MiniLM
from gym.errors import ConfigError, MissingExtra

REFERENCE: dict[str, Any] = json.loads(Path(__file__).with_name("minilm_reference.json").read_text(encoding="utf-8"))
TEXTS: list[str] = REFERENCE["texts"]
PAIRS = 6
"""The first twelve texts say the same in twos."""


def test_vectors_are_those_of_sentence_transformers(minilm: MiniLM) -> None:
    rows = minilm(TEXTS)
    assert rows.shape == (len(TEXTS), 384)
    assert rows.dtype == np.dtype("float32")
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(rows[:, :8], REFERENCE["beginnings"], atol=1e-5)
    cosines = rows @ rows.T
    for place, expected in enumerate(REFERENCE["cosines"]):
        np.testing.assert_allclose(cosines[place, :place], expected, atol=1e-5)


def test_every_paraphrase_is_nearer_than_any_unrelated_text(minilm: MiniLM) -> None:
    rows = minilm(TEXTS[: 2 * PAIRS])
    cosines = (rows[0::2] @ rows[1::2].T).tolist()
    unrelated = max(cosines[i][j] for i in range(PAIRS) for j in range(PAIRS) if i != j)
    assert min(cosines[i][i] for i in range(PAIRS)) > unrelated


def test_a_text_has_the_same_vector_alone_and_among_others(minilm: MiniLM) -> None:
    several = [TEXTS[n % len(TEXTS)] for n in range(60)]  # a text of 256 tokens among them: more than one pass
    alone = {text: minilm([text])[0] for text in TEXTS}
    np.testing.assert_allclose(minilm(several), [alone[text] for text in several], atol=1e-6)
    assert minilm([]).shape == (0, 384)


def test_a_long_text_is_embedded_by_its_beginning_and_that_is_said(
    minilm: MiniLM, caplog: pytest.LogCaptureFixture
) -> None:
    fitting, longer = "word " * (MAX_TOKENS - 2), "word " * (MAX_TOKENS - 2) + "and a quite different end"
    with caplog.at_level(logging.WARNING):
        rows = minilm([fitting])
        assert not caplog.records
        np.testing.assert_allclose(minilm([longer, "short"])[0], rows[0], atol=1e-6)
    assert "1 of 2 texts are longer than 256 tokens" in caplog.text


@pytest.mark.parametrize("text", ["", "\ud800 broken", "\x00", "答" * 300])
def test_any_text_has_a_unit_vector(minilm: MiniLM, text: str) -> None:
    assert np.linalg.norm(minilm([text])[0]) == pytest.approx(1.0, abs=1e-5)


def test_the_missing_extra_is_one_line_with_both_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"gym model get all-minilm-l6-v2.*zoo-gym\[embeddings\]"):
        MiniLM(tmp_path / "a", tmp_path / "b")


def test_auto_is_hashing_where_the_weights_are_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path))
    assert resolved("auto") == "hashing"
    assert open_encoder("hashing").name == encoder_name("hashing") == HashingEmbedder.name
    with pytest.raises(ConfigError, match="gym model get all-minilm-l6-v2"):
        open_encoder("minilm")


@pytest.mark.usefixtures("minilm")
def test_auto_is_minilm_where_it_is_installed_and_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolved("auto") == "minilm"
    assert open_encoder("minilm").name == encoder_name("minilm") == minilm.NAME
    without: Callable[[str], None] = lambda name: None  # noqa: E731
    monkeypatch.setattr(encoders, "find_spec", without)
    assert resolved("auto") == "hashing"
