"""What a program sees of two short answers and a model may not: how they differ in letters, and what was taken from the task.

A language model reads tokens, so a small one that compares answers often misses a capital letter or a space. Two lines tell a
critic: where one answer is nearly the other, in what they differ; where it is far from it, the form of the right one, with
what it takes from its task as slots. Either is made from what the critic sees anyway, so it tells no label.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import combinations

SHORT = 100
"""Characters up to which an answer has a form, on one line; a longer one is a text."""
QUOTED = 40
"""Characters told of what a rejected answer has too much."""

_LETTERS = re.compile(r"[^\W\d_]+")
_PIECE = re.compile(r"[^\W\d_]+|\d+|[\W_]+")
_NORMAL: Mapping[str, Callable[[str], str]] = {
    "capital letters": str.casefold,
    "spaces": lambda text: re.sub(r"\s+", "", text),
    "punctuation": lambda text: re.sub(r"[^\w\s]|_", "", text),
}
"""What is taken from both, and how, to see whether they differ in that alone."""


def difference(right: str, wrong: str) -> str:
    """In what a wrong answer differs from a right one, where it is nearly the same; else empty.

    >>> difference("Shed / upper shelf", "shed/upper shelf")
    'only capital letters and spaces'
    >>> difference("31", "31.81 euros")
    'the rejected one has ".81 euros" after it'
    >>> difference("31", "32")
    ''
    """
    if right == wrong or not right:
        return ""
    for count in range(1, len(_NORMAL) + 1):
        for names in combinations(_NORMAL, count):
            one, other = right, wrong
            for name in names:
                one, other = _NORMAL[name](one), _NORMAL[name](other)
            if one == other:
                return f"only {' and '.join(names)}"
    return _more(right, wrong)


def form(query: str, right: str) -> str:
    """A right answer with what it takes from its task as slots; empty where it takes nothing, or is a longer text.

    >>> form("How heavy is a parcel of 12 kilograms?", "12 kg")
    '<number> kg'
    >>> form("Which comes first, sand or paint?", "Sand > Paint")
    '<Word> > <Word>, with a capital letter'
    >>> form("Is it open?", "Yes")
    ''
    """
    if len(right) > SHORT or "\n" in right:
        return ""
    words = set(_LETTERS.findall(query))
    known = {word.casefold() for word in words}
    numbers = {_plain(number) for number in re.findall(r"\d+", query)}
    pieces = _PIECE.findall(right)
    taken = [piece for piece in pieces if piece.casefold() in known]
    slots = [
        ("<Word>" if piece[0].isupper() else "<word>")
        if piece.casefold() in known
        else "<number>"
        if piece.isdecimal() and _plain(piece) in numbers
        else piece
        for piece in pieces
    ]
    raised = any(piece[0].isupper() and piece not in words for piece in taken)
    return "" if slots == pieces else "".join(slots) + (", with a capital letter" if raised else "")


def nearest_first(right: str, wrong: Sequence[str]) -> list[str]:
    """Wrong answers, those first that are most like a right one.

    >>> nearest_first("Shed / shelf", ["It is on the shelf.", "shed / shelf"])
    ['shed / shelf', 'It is on the shelf.']
    """
    return sorted(wrong, key=lambda text: -SequenceMatcher(None, text[: 4 * SHORT], right[: 4 * SHORT]).ratio())


def _more(right: str, wrong: str) -> str:
    """What stands around a right answer in a wrong one."""
    found = re.search(rf"(?<!\w){re.escape(right)}(?!\w)", wrong)
    if found:
        before, after = (" ".join(part.split()) for part in (wrong[: found.start()], wrong[found.end() :]))
        told = [
            f'"{text}" {place} it' for text, place in ((before[-QUOTED:], "before"), (after[:QUOTED], "after")) if text
        ]
        return f"the rejected one has {' and '.join(told)}"
    if re.search(rf"(?<!\w){re.escape(right)}(?!\w)", wrong, re.IGNORECASE):
        return "capital letters, and the rejected one has more around it"
    return ""


def _plain(number: str) -> str:
    return number.lstrip("0") or "0"
