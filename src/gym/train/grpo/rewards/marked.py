r"""Numbers that carry a mark: percent, a time of day, the base they are written in, a modulus.

Percent is two numbers. `25\%` equals `0.25`. It equals a bare `25` when the question asks for a percentage, or when
there is no question to ask; else not. A base or a modulus that one side leaves out is taken from the other; two must be
the same (FAULTS G16).
"""

import re
from typing import NamedTuple

from gym.train.grpo.rewards.exactly import number_word, value
from gym.train.grpo.rewards.ruling import UNDECIDED, Ruling

_PERCENT = re.compile(r"(.+?)\s*(?:\\?%|\\text\{\s*(?:\\?%|percent)\s*\}|\bpercent)")


def percent(gold: str, answer: str, question: str) -> Ruling:
    """A number with a percent sign, on either side."""
    sides = [(match[1] if (match := _PERCENT.fullmatch(text)) else text, match is not None) for text in (gold, answer)]
    (gold_text, gold_marked), (answer_text, answer_marked) = sides
    if not (gold_marked or answer_marked):
        return UNDECIDED
    wanted, given = value(gold_text), value(answer_text)
    if wanted is None or given is None:
        return UNDECIDED
    if gold_marked == answer_marked:
        return Ruling(wanted == given, "percent")
    asked = not question or re.search(r"percent|\\?%", question, re.IGNORECASE) is not None
    share = wanted / 100 == given if gold_marked else wanted == given / 100
    return Ruling(share or (asked and wanted == given), "percent")


_CLOCK = re.compile(r"0?(\d{1,2}):(\d{2})\s*(?:\\text\{\s*)?(?:([ap])\.?\s*m\.?)?\s*\}?", re.IGNORECASE)


def clock(gold: str, answer: str) -> Ruling:
    """Two times of day, to the minute; half a day that one side leaves out is the other's."""
    wanted, given = _CLOCK.fullmatch(gold), _CLOCK.fullmatch(answer)
    if wanted is None or given is None:
        return UNDECIDED
    halves = {match[3].lower() for match in (wanted, given) if match[3]}
    return Ruling(wanted.groups()[:2] == given.groups()[:2] and len(halves) < 2, "time")


_BASE = re.compile(r"([0-9A-Za-z]+)_(?:\{\s*(?:\\text\s*\{)?\s*(\d+|[A-Za-z]+)\s*\}?\s*\}|(\d+)|\\text\{\s*(\w+)\s*\})")

_DIGITS = re.compile(r"^(?:\(([0-9A-Za-z]+)\)|\\text\{([0-9A-Za-z]+)\})(?=_)")


def base(gold: str, answer: str) -> Ruling:
    """Digits with the base they are written in."""
    gold, answer = _DIGITS.sub(r"\1\2", gold), _DIGITS.sub(r"\1\2", answer)
    wanted, given = _BASE.fullmatch(gold), _BASE.fullmatch(answer)
    if wanted and given and re.search(r"\d", wanted[1]):
        return Ruling((wanted[1], _radix(wanted)) == (given[1], _radix(given)), "base")
    one, other = (wanted, answer) if wanted else (given, gold)
    if one and one[1].isdigit() and re.fullmatch(r"[0-9A-Za-z]+", other):
        return Ruling(one[1] == other, "base")
    return UNDECIDED


def _radix(match: re.Match[str]) -> str:
    name = match[2] or match[3] or match[4]
    word = number_word(name)
    return name if word is None else str(word)


_MODULUS = re.compile(
    r"(?:[^=<>,]*?(?:\\equiv|≡)\s*)?(?P<residue>[+-]?\d+)\s*"
    r"(?:\\(?P<operator>b?)mod|\(?\s*\\?(?:text\{\s*)?mod(?:ulo)?\s*\}?|\\p?mod|,?\s*\\text\{\s*mod(?:ulo)?\s*\})"
    r"[\s{(]*(?P<modulus>\d+)[\s})]*"
)


class _Residue(NamedTuple):
    residue: int
    modulus: int | None
    computed: bool
    r"""Written with `\bmod`, which is an operation and has a value."""


def modulus(gold: str, answer: str) -> Ruling:
    r"""A residue: 3, `3 \pmod 7`, `x \equiv 3 \pmod 7` and `10 \bmod 7` are one; a bare 10 is another number."""
    wanted, given = _residue(gold), _residue(answer)
    if wanted is None or given is None or not (wanted.modulus or given.modulus):
        return UNDECIDED
    if wanted.modulus and given.modulus:
        same = wanted.modulus == given.modulus and (wanted.residue - given.residue) % wanted.modulus == 0
        return Ruling(same, "modulus")
    return Ruling(_worth(wanted) == _worth(given), "modulus")


def _residue(text: str) -> _Residue | None:
    if re.fullmatch(r"[+-]?\d{1,100}", text):
        return _Residue(int(text), None, False)
    match = _MODULUS.fullmatch(text) if "mod" in text and len(text) < 200 else None
    if match is None or not int(match["modulus"]):
        return None
    return _Residue(int(match["residue"]), int(match["modulus"]), match["operator"] == "b")


def _worth(found: _Residue) -> int:
    return found.residue % found.modulus if found.computed and found.modulus else found.residue
