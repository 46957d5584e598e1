"""Whether an answer is the accepted one, part by part: `GIN; 4MB` is `GIN, four megabytes`.

Parts stand in the order of the question. One is right when it is an accepted form after normalisation, the same date, or
the same number; a unit that one side leaves out must stand in the question.

>>> same("gin and four megabytes", ("GIN; 4MB", "GIN, four megabytes")).equal
True
>>> same("GIN; 64 kB", ("GIN; 4MB",)).wrong
(2,)
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gym.train.grpo.domains.web.normal import normal, without_remark
from gym.train.grpo.rewards.equality import integers
from gym.train.grpo.rewards.exactly import value

LONGEST = 1_000
"""Characters of an answer, or four times its longest form, beyond which nobody compares it."""

_APART = (r"[;\n]", r"[;\n]|,(?!\d{3})", r"[;\n]|,(?!\d{3})(?:\s*and\b)?|\band\b")
"""What may stand between parts, the surest first."""
_QUANTITY = re.compile(
    r"(?:about |around |roughly |approximately |by |~)?([$€£¥]?)(-?\d[\d,.]*?|-?\.\d+)(%|[^\W\d_]+)?"
)
_SCALES = frozenset({"thousand", "million", "billion", "trillion", "hundred", "dozen", "k", "m", "bn"})
_YES_OR_NO = frozenset({"yes", "no"})
_BETWEEN = frozenset({"and", "or", "but"})


class Compared(NamedTuple):
    """What was found of an answer."""

    equal: bool
    wrong: tuple[int, ...]
    """Parts that are not right, from 1; empty when they cannot be told apart."""
    of: int
    """Parts of the reference."""


def same(given: str, accepted: Sequence[str], question: str = "") -> Compared:
    """`given` against the reference, which is the first of `accepted`, and its other forms."""
    of = len(_pieces(accepted[0], _APART[0]))
    if len(given) > max(LONGEST, 4 * max(map(len, accepted))):
        return Compared(False, (), of)
    if any(_is(form, given, question) for form in accepted):
        return Compared(True, (), of)
    found: dict[int, tuple[int, ...]] = {}
    for number, forms in _forms(accepted, of).items():
        if pieces := split(given, number):
            places = enumerate(zip(forms, pieces, strict=True), 1)
            found[number] = tuple(
                n for n, (any_of, one) in places if not any(_is(form, one, question) for form in any_of)
            )
    return Compared(() in found.values(), found.get(of, ()), of)


def split(text: str, number: int) -> tuple[str, ...]:
    """The text in exactly so many parts, by the surest separator that gives them; empty when none does."""
    if number == 1:
        return (text.strip(),)
    return next((pieces for apart in _APART if len(pieces := _pieces(text, apart)) == number), ())


def _pieces(text: str, apart: str) -> tuple[str, ...]:
    return tuple(piece.strip() for piece in re.split(apart, text) if piece.strip())


def _forms(accepted: Sequence[str], of: int) -> dict[int, list[set[str]]]:
    """Number of parts -> what each part may be; forms of as many parts lend each other theirs."""
    table: dict[int, list[set[str]]] = {}
    for form in accepted:
        for number in {of, len(_pieces(form, _APART[0]))} - {0}:
            if pieces := split(form, number):
                row = table.setdefault(number, [set() for _ in range(number)])
                for place, piece in enumerate(pieces):
                    row[place].add(piece)
    return table


def _is(form: str, given: str, question: str) -> bool:
    if (ruling := integers(form, given)) is not None:
        return bool(ruling.equal)
    wanted, said = set(_spellings(form, short=True)), set(_spellings(given))
    if wanted & said:
        return True
    if wanted & _YES_OR_NO:
        return _says(normal(given).split(), wanted)
    return any(_equal(_quantity(one), _quantity(other), question) for one in wanted for other in said)


def _says(words: Sequence[str], wanted: set[str]) -> bool:
    """Whether an answer begins with the wanted yes or no, and does not take it back at once (`yes or no`)."""
    after = next((word for word in words[1:] if word not in _BETWEEN), "")
    return bool(words) and words[0] in wanted and after not in _YES_OR_NO - wanted


def _spellings(text: str, *, short: bool = False) -> Iterator[str]:
    """The normal form with and without a remark in brackets; `short`: and the short name that the remark gives."""
    yield normal(text)
    rest, remark = without_remark(text)
    if remark and not _another(normal(rest), normal(remark)):
        yield normal(rest)
    if short and remark.isupper() and " " not in remark:
        yield normal(remark)


def _another(text: str, remark: str) -> bool:
    """Whether a remark is no remark but a second number: 4MB (64MB)."""
    one, other = _quantity(text), _quantity(remark)
    if one is None or other is None or one.unit != other.unit:
        return False
    return value(one.digits) != value(other.digits)


class _Quantity(NamedTuple):
    digits: str
    unit: str


def _quantity(text: str) -> _Quantity | None:
    """A number in figures or words with its unit, of a text in normal form; None of anything else."""
    if match := _QUANTITY.fullmatch(text):
        return _Quantity(match[2], _unit(match[1] or match[3] or ""))
    if value(text) is not None:
        return _Quantity(text, "")
    head, _, unit = text.rpartition(" ")
    return _Quantity(head, _unit(unit)) if head and value(head) is not None else None


_SIGNS = {"percent": "%", "$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}


def _unit(word: str) -> str:
    return _SIGNS.get(word, word.removesuffix("s"))


def _equal(one: _Quantity | None, other: _Quantity | None, question: str) -> bool:
    if one is None or other is None or value(one.digits) is None or value(one.digits) != value(other.digits):
        return False
    if not (one.unit or other.unit):
        return not _version(one.digits, other.digits)
    if one.unit and other.unit:
        return one.unit == other.unit
    unit = one.unit or other.unit
    return unit not in _SCALES and (unit in normal(question) or (unit == "%" and "percent" in question.casefold()))


def _version(one: str, other: str) -> bool:
    """Whether two decimals could be different versions: 3.1 and 3.10."""
    return one != other and "." in one and "." in other and "0" in (one[-1], other[-1])
