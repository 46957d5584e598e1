r"""What says something else than a value, though a value stands in it: a bound, a remark, an unknown constant.

An algebra system takes the number out of `\ge 9`, `9\text{ if }x>0` and `9 + c`, and calls it equal to 9.
"""

import re

from gym.train.grpo.rewards.exactly import value
from gym.train.grpo.rewards.ruling import UNDECIDED, Ruling

_RELATION = re.compile(r"[<>]|\\(?:le|ge|ne|lt|gt)(?![a-z])")
_NOT_ONE_VALUE = re.compile(r"[<>=,;\[{]|\\(?:le|ge|ne|cup|cap|in|emptyset|mathbb|text|setminus|pm)(?![a-z])")
_REMARK = re.compile(r"\S\s*\\text\s*\{[^{}]*[A-Za-z][^{}]*\}(?!\s*\^)(?P<rest>.*)", re.DOTALL)
_WORDS_OR_COMMAND = re.compile(r"\\text\s*\{[^{}]*\}(?:\s*\^\{?\d\}?)?|\\[A-Za-z]+")
_CONSTANT = re.compile(r"\+\s*[cCkK]$")

SEVERAL_EQUATIONS = re.compile(
    r"[,;]|\b(?:or|and)\b|\\(?:lor|land|vee|wedge)(?![a-z])|\\\\\s*&?\s*[^\s&=]|[\d})]\s+[A-Za-z](?:_\{?\w+\}?)?\s*="
)
"""More than one equation, where the last value would be taken for that of a chain `a = b = c`."""


def statement(gold: str, answer: str) -> Ruling:
    """A gold that is one value, and an answer that bounds it, puts more mathematics behind words, or adds a constant."""
    if not _NOT_ONE_VALUE.search(re.sub(r"\\frac\{|\\sqrt\{|\^\{|_\{|\}\{", "", gold)):
        if _RELATION.search(answer):
            return Ruling(False, "relation")
        if answer.count("=") > 1 and SEVERAL_EQUATIONS.search(answer):
            return Ruling(False, "several equations")
    if _CONSTANT.search(answer) and not re.search(r"[cCkK]", gold):
        return Ruling(False, "constant")
    if value(gold) is not None and (remark := _REMARK.search(answer)):
        behind = _WORDS_OR_COMMAND.sub("", remark["rest"])
        return Ruling(False, "remark") if re.search(r"[0-9A-Za-z]", behind) else UNDECIDED
    return UNDECIDED


def same_constant(gold: str, answer: str) -> tuple[str, str]:
    """Both with one name for the constant of integration, when both end with one."""
    if _CONSTANT.search(gold) and _CONSTANT.search(answer):
        return _CONSTANT.sub("+C", gold), _CONSTANT.sub("+C", answer)
    return gold, answer
