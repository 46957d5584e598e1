r"""Inequalities of one variable in the form of intervals, so that both can be compared (FAULTS G14).

>>> interval("1 < x \\le 3"), interval("2 \\le x"), interval("x<2 \\text{ or } x>3"), interval("x+1")
('(1,3]', '[2,\\infty)', '(-\\infty,2)\\cup(3,\\infty)', 'x+1')
"""

import re

from gym.train.grpo.rewards.latex import split_top

_ORDER = r"\s*(<|>|\\le(?![a-z])|\\ge(?![a-z])|\\lt(?![a-z])|\\gt(?![a-z]))\s*"
_END = r"([^<>=\\]+|[^<>=\\]*\\(?:frac|sqrt|pi|infty)[^<>=]*?)"
_BETWEEN = re.compile(rf"{_END}{_ORDER}([a-z]){_ORDER}{_END}")
_ONE_SIDED = re.compile(rf"([a-z]){_ORDER}{_END}")
_TURNED = re.compile(rf"{_END}{_ORDER}([a-z])")
_OR = r"\\text\{\s*or\s*\}|\bor\b|\\lor(?![a-z])|\\vee(?![a-z])|\\cup(?![a-z])"
_INTERVAL = re.compile(r"[(\[][^()\[\]]*,[^()\[\]]*[)\]]")
_ALL_REALS = frozenset({r"\mathbb{R}", r"\mathbf{R}", r"\R", "all real numbers"})
_BUILDER = re.compile(
    r"\\\{\s*[a-z](?:\s*\\in\s*\\mathbb\{R\})?\s*(?:\\mid(?![a-z])|\||:)\s*([^{}|:]*[<>\\][^{}|:]*)\\\}"
)
_POSITIVE_REALS = re.compile(r"\\mathbb\{R\}(?:\^\{?\+\}?|_\{?\+\}?|_\{>\s*0\})")
_REAL = re.compile(r",\s*[a-z]\s*\\in\s*(?:\\mathbb\{R\}|\\mathbf\{R\}|\\R)\s*$")
_TURNED_BRACKETS = re.compile(
    r"([\[\](])\s*([^\[\](),;]*[^\[\](),;\s])\s*[,;]\s*([^\[\](),;]*[^\[\](),;\s])\s*([\[\])])"
)
_AND = r"\\text\{\s*and\s*\}|\band\b|\\land(?![a-z])|\\wedge(?![a-z])"
_ABSOLUTE = re.compile(rf"(?:\||\\[lr]?vert)\s*([a-z])\s*(?:\||\\[lr]?vert){_ORDER}{_END}")
_APART = re.compile(rf"[a-z]\s*\\ne(?![a-z])\s*{_END}")
_RISING = {"<": "<", r"\lt": "<", r"\le": r"\le"}
_FALLING = {">": "<", r"\gt": "<", r"\ge": r"\le"}


def interval(text: str) -> str:
    """An inequality, or several joined by "or" or two by "and", as an interval or a union; what is none as it stands."""
    text = _REAL.sub("", re.sub(r"\+\s*\\infty", r"\\infty", text))
    text = _TURNED_BRACKETS.sub(_usual_brackets, text)
    text = r"(-\infty,\infty)" if text in _ALL_REALS else text
    text = r"(0,\infty)" if _POSITIVE_REALS.fullmatch(text) else text
    if builder := _BUILDER.fullmatch(text):
        text = builder[1]
    if len(both := split_top(text, _AND)) == 2 and (common := _common(*map(_one, both))):
        return common
    pieces = split_top(text, _OR)
    found = [_one(piece) for piece in pieces]
    if len(pieces) > 1 and all(_INTERVAL.fullmatch(piece) for piece in found):
        return r"\cup".join(found)
    return found[0] if len(pieces) == 1 else text


def union(text: str) -> list[str]:
    """The intervals of a union in the form that `interval` gives; a text that is none, alone."""
    pieces = split_top(text, r"\\cup(?![a-z])")
    return pieces if all(_INTERVAL.fullmatch(piece) for piece in pieces) else [text]


def _usual_brackets(match: re.Match[str]) -> str:
    """`]a,b[` is (a,b)."""
    opening, low, high, closing = match.groups()
    if opening != "]" and closing != "[":
        return match[0]
    return f"{'[' if opening == '[' else '('}{low},{high}{']' if closing == ']' else ')'}"


def _common(one: str, other: str) -> str:
    """What two half-lines that point at each other have in common; empty for anything else."""
    ends = sorted((one, other), key=lambda text: text.startswith(r"(-\infty,"))
    if not (ends[0].endswith(r",\infty)") and ends[1].startswith(r"(-\infty,")):
        return ""
    return ends[0].removesuffix(r"\infty)") + ends[1].removeprefix(r"(-\infty,")


def _one(text: str) -> str:
    if match := _ABSOLUTE.fullmatch(text):
        return _around_zero(match[2], match[3].strip())
    if match := _APART.fullmatch(text):
        return rf"(-\infty,{match[1].strip()})\cup({match[1].strip()},\infty)"
    if match := _BETWEEN.fullmatch(text):
        low, first, _, second, high = match.groups()
        if first in _RISING and second in _RISING:
            return _between(low, _RISING[first], _RISING[second], high)
        if first in _FALLING and second in _FALLING:
            return _between(high, _FALLING[second], _FALLING[first], low)
    elif match := _ONE_SIDED.fullmatch(text):
        return _from_bound(match[2], match[3])
    elif match := _TURNED.fullmatch(text):
        return _from_bound(_turned(match[2]), match[1])
    return text


def _between(low: str, first: str, second: str, high: str) -> str:
    return f"{'[' if first != '<' else '('}{low.strip()},{high.strip()}{']' if second != '<' else ')'}"


def _around_zero(order: str, bound: str) -> str:
    if order in _RISING:
        return _between(f"-{bound}", _RISING[order], _RISING[order], bound)
    below = _between(r"-\infty", "<", _FALLING[order], f"-{bound}")
    return rf"{below}\cup" + _between(bound, _FALLING[order], "<", r"\infty")


def _from_bound(order: str, bound: str) -> str:
    if order in _RISING:
        return _between(r"-\infty", "<", _RISING[order], bound)
    return _between(bound, _FALLING[order], "<", r"\infty")


def _turned(order: str) -> str:
    return {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le", r"\lt": r"\gt", r"\gt": r"\lt"}[order]
