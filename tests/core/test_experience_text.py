"""The one-line form of an experience (SPEC 2.1, FAULTS M7 and M11)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.core.experience import normalise_text

texts = st.text(alphabet=st.characters(codec=None), max_size=60)


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ("When x\nis big,\r\n\thalve it", "When x is big, halve it"),
        ("When a::b appears", "When a::b appears"),
        ("[G3]. When x", "When x"),
        ("[g12] When x", "When x"),
        ("[C0]. [G3]. When x", "When x"),
        ("G3: When x", "When x"),
        ("- When x", "When x"),
        ("1. When x", "When x"),
        ("2) When x", "When x"),
        ('"When x"', "When x"),
        ("“When x”", "When x"),
        ('- "[G3]. When x"', "When x"),
        ('"yes" or "no"', '"yes" or "no"'),
        ("3.5 is a number", "3.5 is a number"),
        ("G7 nations meet", "G7 nations meet"),
        ("Cafe\u0301", "Café"),
        ("When\u2028x\x00y\x85z", "When x y z"),
        ("When\u200b\u202e x", "When x"),
        ("[G3].", ""),
        (" \n ", ""),
    ],
)
def test_a_text_becomes_one_plain_line(raw: str, line: str) -> None:
    assert normalise_text(raw) == line


def test_a_lone_surrogate_is_replaced_and_a_pair_is_joined() -> None:
    assert normalise_text("cut \ud83c here") == "cut \ufffd here"
    assert normalise_text("party \ud83c\udf89") == "party 🎉"


@given(texts)
def test_the_line_is_one_line_of_utf8_in_nfc(raw: str) -> None:
    line = normalise_text(raw)
    assert len(line.splitlines()) <= 1
    assert unicodedata.is_normalized("NFC", line)
    assert line == line.strip()
    line.encode("utf-8")


@given(texts)
def test_normalising_twice_changes_nothing(raw: str) -> None:
    assert normalise_text(normalise_text(raw)) == normalise_text(raw)
