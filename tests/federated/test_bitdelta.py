"""The 52-byte code: its bits, its scale, and what it keeps of a cosine."""

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from gym.embedding.hashing import HashingEmbedder
from gym.embedding.minilm import MiniLM
from gym.federated import bitdelta

VECTORS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("bitdelta_vectors.json").read_text(encoding="utf-8")
)

Rows = NDArray[np.float32]
unit_rows = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 5), st.just(384)), elements=st.floats(-1, 1, width=32), fill=st.just(0.25)
).map(lambda rows: (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)).astype(np.float32))


def row_of(vector: dict[str, Any]) -> list[float]:
    if "repeat" in vector:
        return [*vector["repeat"]] * (384 // len(vector["repeat"]))
    return [value for value, times in vector["run"] for _ in range(times)]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["what"])
def test_vectors(vector: dict[str, Any]) -> None:
    code = bitdelta.encode(np.array([row_of(vector)], dtype=np.float32))[0].tobytes()
    assert len(code) == bitdelta.CODE_BYTES == 52
    assert code[:48].hex() == vector["signs"]
    assert vector["scale"] in (None, code[48:].hex())


@settings(max_examples=25)
@given(unit_rows)
def test_by_the_definition_bit_by_bit(rows: Rows) -> None:
    for row, code in zip(rows, bitdelta.encode(rows), strict=True):
        raw = code.tobytes()
        for place, value in enumerate(row.tolist()):
            assert raw[place // 8] >> (7 - place % 8) & 1 == (value >= 0)
        (scale,) = struct.unpack("<f", raw[48:])
        assert scale == pytest.approx(math.fsum(map(abs, row.tolist())) / 384, rel=1e-6)


@settings(max_examples=25)
@given(unit_rows)
def test_a_code_is_what_it_decodes_to(rows: Rows) -> None:
    codes = bitdelta.encode(rows)
    again = bitdelta.encode(bitdelta.decode(codes))
    assert (again[:, :48] == codes[:, :48]).all()
    np.testing.assert_allclose(bitdelta.scales(again), bitdelta.scales(codes), rtol=1e-5)
    assert bitdelta.decode(codes).dtype == np.float32
    assert all(map(bitdelta.is_unit_scale, bitdelta.scales(codes).tolist()))


def test_many_rows_at_once_are_the_rows_one_by_one() -> None:
    rows = HashingEmbedder()([f"When the case is {n}, take the way {n}." for n in range(40)])
    alone = np.vstack([bitdelta.encode(row[None]) for row in rows])
    assert (bitdelta.encode(rows) == alone).all()
    assert bitdelta.encode(rows[:0]).shape == (0, 52)
    assert (bitdelta.read(code.tobytes() for code in alone) == alone).all()


def test_differences_are_counted_sign_by_sign() -> None:
    draw = np.random.default_rng(0)
    some, others = (bitdelta.encode(draw.standard_normal((n, 384)).astype(np.float32)) for n in (4, 3))
    plain = [[sum(bin(a ^ b).count("1") for a, b in zip(x[:48], y[:48], strict=True)) for y in others] for x in some]
    assert bitdelta.distances(some, others).tolist() == plain
    assert (np.diag(bitdelta.distances(some, some)) == 0).all()


@pytest.mark.parametrize("cosine", [0.9, 0.5, 0.3, 0.0, -0.6])
def test_the_correction_undoes_what_signs_do_to_a_cosine(cosine: float) -> None:
    draw = np.random.default_rng(5)
    one, noise = draw.standard_normal((2, 2000, 384)).astype(np.float32)
    other = cosine * one + math.sqrt(1 - cosine**2) * noise
    codes, others = bitdelta.encode(one), bitdelta.encode(other)
    found = np.array([bitdelta.cosines(codes[n : n + 1], others[n : n + 1])[0, 0] for n in range(0, 2000, 10)])
    shrunk = 1 - 2 * np.array([bitdelta.distances(codes[n : n + 1], others[n : n + 1])[0, 0] for n in range(200)]) / 384
    assert found.mean() == pytest.approx(cosine, abs=0.02)
    assert shrunk.mean() == pytest.approx(2 / math.pi * math.asin(cosine), abs=0.02)


def test_on_sentences_the_corrected_cosine_is_near_the_true_one(minilm: MiniLM) -> None:
    texts = json.loads((Path(__file__).parents[1] / "embedding" / "minilm_reference.json").read_text(encoding="utf-8"))
    rows = minilm(texts["texts"])
    off = bitdelta.cosines(bitdelta.encode(rows), bitdelta.encode(rows)) - rows @ rows.T
    assert np.abs(off[~np.eye(len(rows), dtype=bool)]).mean() < 0.05
    kept = (bitdelta.decode(bitdelta.encode(rows)) * rows).sum(axis=1) / np.linalg.norm(
        bitdelta.decode(bitdelta.encode(rows)), axis=1
    )
    assert kept.mean() == pytest.approx(0.80, abs=0.02)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_not_coded(bad: float) -> None:
    rows = np.zeros((2, 384), dtype=np.float32)
    rows[1, 7] = bad
    with pytest.raises(ValueError, match="not finite"):
        bitdelta.encode(rows)
    with pytest.raises(ValueError, match="384 coordinates"):
        bitdelta.encode(np.zeros((2, 383), dtype=np.float32))


@pytest.mark.parametrize("scale", [1 / 384, 0.04, 384**-0.5])
def test_scales_of_unit_vectors(scale: float) -> None:
    assert bitdelta.is_unit_scale(scale)


@pytest.mark.parametrize("scale", [4e4, 0.06, 1e-3, 0.0, -0.04, math.nan, math.inf])
def test_scales_that_no_unit_vector_has(scale: float) -> None:
    assert not bitdelta.is_unit_scale(scale)
