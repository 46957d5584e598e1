"""Overlap of two sets by what their texts share."""

import random
import string

import pytest

from gym.core.problem import Problem
from gym.train.grpo.domains.shingles import Pair, pairs, shingles

LONG = "A farmer has twelve hens and every hen lays three eggs in two days; how many eggs are laid in the four weeks of February?"


def asked(prefix: str, *texts: str) -> list[Problem]:
    return [Problem(id=f"{prefix}{number}", query=text) for number, text in enumerate(texts)]


def words(seed: int, count: int = 60) -> str:
    rng = random.Random(seed)
    return " ".join("".join(rng.choices(string.ascii_lowercase, k=6)) for _ in range(count))


def test_the_same_text_is_wholly_in_the_other_however_it_is_set() -> None:
    one = asked("a", rf"Let $\overline{{AB}}$ be given. {LONG} Find $\dfrac{{m}}{{n}}$.")
    other = asked("b", rf"LET  $AB$ be given: {LONG} find \( \frac{{m}}{{n}} \)")
    assert pairs(one, other) == (Pair("a0", "b0", 1.0, 1.0),)


def test_a_text_within_a_longer_one_is_found_and_both_shares_are_told() -> None:
    ((_, _, a_in_b, b_in_a),) = pairs(asked("a", LONG), asked("b", f"{words(1)} {LONG} {words(2)}"))
    assert a_in_b == 1.0
    assert 0 < b_in_a < 0.2


def test_shares_are_those_of_sets_of_fifty_character_pieces() -> None:
    one, other = "x" * 10 + "".join(map(chr, range(97, 123))) * 4, "".join(map(chr, range(97, 123))) * 4
    own, theirs = shingles(one), shingles(other)
    assert (len(own), len(theirs)) == (36, 26)
    (pair,) = pairs(asked("a", one), asked("b", other))
    assert (pair.a_in_b, pair.b_in_a) == (26 / 36, 1.0)


def test_the_order_of_the_sets_only_turns_the_pairs() -> None:
    one, other = asked("a", LONG, words(3), words(4)), asked("b", words(4), f"{LONG} {words(5)}")
    assert {Pair(b, a, y, x) for a, b, x, y in pairs(one, other)} == set(pairs(other, one))


def test_pairs_below_the_threshold_are_left_out_and_the_closest_comes_first() -> None:
    half = words(6, 40)
    one, other = asked("a", half, words(7)), asked("b", f"{half} {words(8, 40)}", words(7))
    assert [pair.a for pair in pairs(one, other, above=0.9)] == ["a1", "a0"]
    cut = asked("c", f"{half[:100]} {words(9, 60)}")
    assert pairs(asked("a", half), cut, above=0.5) == ()
    assert len(pairs(asked("a", half), cut, above=0.05)) == 1


@pytest.mark.parametrize("text", ["", " … ", "$ $"])
def test_texts_without_a_letter_share_nothing(text: str) -> None:
    assert pairs(asked("a", text), asked("b", text)) == ()


def test_a_short_text_is_only_its_equal() -> None:
    one = asked("a", "What is 2 + 2?")
    assert len(pairs(one, asked("b", "what is $2+2$"))) == 1
    assert pairs(one, asked("b", "What is 2 + 2 + 2 ?")) == ()


def test_drawings_that_open_alike_are_no_overlap() -> None:
    drawing = "[asy] import olympiad; size(150); defaultpen(linewidth(0.8)); dotfactor = 4; draw((0,0)--(1,1)); [/asy]"
    assert pairs(asked("a", f"Find $x$. {drawing}"), asked("b", f"How large is the angle? {drawing}")) == ()
