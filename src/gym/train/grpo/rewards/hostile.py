r"""What would keep an algebra system busy for ever: towers of powers, huge factorials, deep nesting, code.

It is found by its look, before anything is computed. Ordinary powers pass: sums and products of them, powers of powers that
are small, an exponent with a power in it.
"""

import re

_CARET = r"(?:\^|\*\*)"
_KINDS = (
    (re.compile(r"(?:\bexp\b\W*){3}"), "power tower"),
    (re.compile(rf"{_CARET}[\s{{(+-]*\d{{5,}}|[+-][^()]{{1,200}}\)\s*{_CARET}[\s{{(]*\d{{3,}}"), "huge power"),
    (re.compile(r"\d{4,}[\s})]*!|!\s*[)}]*\s*!|\b(?:factorial|gamma|binom)\W*\d{4,}", re.IGNORECASE), "huge factorial"),
    (re.compile(r"__|[\"'`\\]\s*[\"'`]|\bimport\b|\blambda\b"), "code"),
    (re.compile(r"\d{1001,}"), "huge number"),
)
_MAX_DEPTH = 25
_MAX_TOWER = 2
_MAX_RAISED = 3
_MAX_POWER = 10_000
_TOKEN = re.compile(rf"(?P<caret>{_CARET})|(?P<open>[{{(])|(?P<close>[)}}])|\d+|\\?[A-Za-z]+|\S")
_OF_NUMBERS = re.compile(rf"{_CARET}[\s{{(]*(\d+)[\s}})]*{_CARET}[\s{{(+-]*(\d+)")


def hostile(text: str) -> str:
    r"""The name of what makes the text too much work; empty when nothing does.

    >>> hostile("9^{9^9}"), hostile("2^3\\cdot3^2"), hostile("(x^2)^3"), hostile("e^{x^2}"), hostile("x^{x^{x^x}}")
    ('power tower', '', '', '', 'power tower')
    """
    if max((text.count(char) for char in "([{"), default=0) > _MAX_DEPTH and _depth(text) > _MAX_DEPTH:
        return "too deep"
    if _is_tower(text):
        return "power tower"
    return next((name for pattern, name in _KINDS if pattern.search(text)), "")


def _is_tower(text: str) -> bool:
    """Whether exponents are too many above each other, or a number to a number, as an exponent, is large."""
    if any(_large(base, exponent) for base, exponent in _OF_NUMBERS.findall(text)):
        return True
    return len(re.findall(_CARET, text)) > _MAX_TOWER and (
        _tower(text) > _MAX_TOWER or _powers_of_powers(text) > _MAX_RAISED
    )


def _large(base: str, exponent: str) -> bool:
    return len(base) > 5 or len(exponent) > 2 or int(base) ** int(exponent) > _MAX_POWER


def _tower(text: str) -> int:
    """How many exponents stand above each other at most, in braces or as `a^b^c`."""
    groups: list[bool] = []  # of each open bracket, whether it holds an exponent
    highest = chained = 0
    is_exponent = False
    for token in _TOKEN.finditer(text):
        if token["caret"]:
            highest, is_exponent = max(highest, sum(groups) + 1 + chained), True
            continue
        if token["open"]:
            groups.append(is_exponent)
            chained = 0
        elif token["close"]:
            chained = int(bool(groups) and groups.pop())
        else:
            chained = chained + 1 if is_exponent else 0
        is_exponent = False
    return highest


def _powers_of_powers(text: str) -> int:
    """How often what was raised to a power is raised again at most, as in `((a^b)^c)^d`."""
    raised = [0]  # for each open bracket, how often what is in it was raised
    highest = inner = 0
    for token in _TOKEN.finditer(text):
        if token["open"]:
            raised.append(0)
            inner = 0
        elif token["close"]:
            inner = raised.pop() if len(raised) > 1 else 0
        elif token["caret"]:
            raised[-1] = max(raised[-1], inner + 1)
            highest, inner = max(highest, raised[-1]), 0
        else:
            inner = 0
    return highest


def _depth(text: str) -> int:
    depth = deepest = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        deepest = max(deepest, depth)
    return deepest
