r"""Exact rational values of answers, without a computer algebra system: AIME, DAPO and GSM8K need nothing more.

>>> value("025"), value("1,234.50"), value("5\\frac{2}{3}"), value("5 2/3"), value("6.02\\times10^5"), value("seven")
(Fraction(25, 1), Fraction(2469, 2), Fraction(17, 3), Fraction(17, 3), Fraction(602000, 1), Fraction(7, 1))
>>> value("0.1\\overline{6}"), value("1 2")
(Fraction(1, 6), None)
"""

import re
from fractions import Fraction

from gym.train.grpo.rewards.latex import unwrapped

MAX_DIGITS = 4_000
_MAX_BITS = 20_000

_DECIMAL = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)"
_FOREIGN = re.compile(
    r"([+-]?)(?:(\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})+(?=,))(?:,(\d+))?|(\d{1,3}(?:[_']\d{3})+|\d{1,2}(?:,\d{2})+,\d{3})(?:\.(\d+))?)"
)
"""Digits in groups as in Germany (1.234.567,8), Switzerland (1'234.5), India (12,34,567) and programs (1_234_567)."""
_PLAIN = re.compile(rf"[+-]?{_DECIMAL}(?:[eE][+-]?\d{{1,3}})?")
_SCIENTIFIC = re.compile(rf"([+-]?{_DECIMAL})(?:\\times|\\cdot|\*)10(?:\^|\*\*)\{{?\(?([+-]?\d{{1,3}})\)?\}}?")
_POWER = re.compile(r"([+-]?)(\d{1,20})(?:\^|\*\*)(?:\{([+-]?\d{1,5})\}|(\d{1,5}))")
_FRAC = re.compile(r"([+-]?)\\frac\{([^{}]+)\}\{([^{}]+)\}")
_MIXED = re.compile(r"([+-]?)(\d{1,9})\\frac\{(\d{1,9})\}\{(\d{1,9})\}")
_MIXED_SLASH = re.compile(r"\s*([+-]?)(\d{1,9})\s+(\d{1,9})\s*/\s*(\d{1,9})\s*")
_DOTTED = re.compile(r"\\dot\{?(\d)\}?(?:(\d{0,18})\\dot\{?(\d)\}?)?$")
_ELLIPSIS = re.compile(r"([+-]?\d{0,20}\.\d{0,20}?)(\d{1,20}?)\2+(?:\.{3}|\\[lc]?dots)")
_REPEATING = re.compile(r"([+-]?)(\d{0,20})\.(\d{0,20})\\(?:overline|bar)\{(\d{1,20})\}")
_RATIO = re.compile(r"([^/:]+)[/:]([^/:]+)")
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS = {word: place for place, word in enumerate(_ONES)} | {word: 10 * place for place, word in enumerate(_TENS, 2)}


def value(text: str) -> Fraction | None:
    """The number that a text in the spelling of `latex.plain` writes; None when it is no plain rational number."""
    if match := _MIXED_SLASH.fullmatch(text):
        text = rf"{match[1]}{match[2]}\frac{{{match[3]}}}{{{match[4]}}}"
    if re.search(r"\d,?\s+\d", text):  # a list, not groups of digits
        return None
    bare = unwrapped("".join(text.split())).replace("\\$", "")
    if not bare or len(bare) > MAX_DIGITS:
        return number_word(text)
    try:
        return _number(bare) if any(char.isdigit() for char in bare) else number_word(text)
    except (ZeroDivisionError, ValueError, OverflowError):
        return None


def _number(text: str) -> Fraction | None:
    text = _DOTTED.sub(r"\\overline{\1\2\3}", text)
    text = _ELLIPSIS.sub(r"\1\\overline{\2}", text)
    if match := _FOREIGN.fullmatch(text):
        digits = re.sub(r"[.,_']", "", match[2] or match[4])
        return Fraction(f"{match[1]}{digits}.{match[3] or match[5] or 0}")
    if _PLAIN.fullmatch(text):
        return Fraction(text.replace(",", ""))
    if match := _SCIENTIFIC.fullmatch(text):
        return Fraction(match[1].replace(",", "")) * Fraction(10) ** int(match[2])
    if match := _MIXED.fullmatch(text):
        whole = Fraction(match[2]) + Fraction(int(match[3]), int(match[4]))
        return -whole if match[1] == "-" else whole
    if match := _REPEATING.fullmatch(text):
        shift, period = 10 ** len(match[3]), 10 ** len(match[4]) - 1
        found = Fraction(int((match[2] + match[3]) or "0") * period + int(match[4]), shift * period)
        return -found if match[1] == "-" else found
    if match := _FRAC.fullmatch(text):
        return _divided(match[2], match[3], negative=match[1] == "-")
    if match := _POWER.fullmatch(text):
        return _power(int(match[2]), int(match[3] or match[4]), negative=match[1] == "-")
    if (match := _RATIO.fullmatch(text)) and not re.fullmatch(r"\d{1,2}:\d{2}", text):
        return _divided(match[1], match[2], negative=False)
    return None


def _divided(top: str, bottom: str, *, negative: bool) -> Fraction | None:
    if any(re.search(r"[/:]|\\frac", part) for part in (top, bottom)):
        return None
    above, below = value(top), value(bottom)
    if above is None or not below:
        return None
    return -above / below if negative else above / below


def _power(base: int, exponent: int, *, negative: bool) -> Fraction | None:
    if base.bit_length() * abs(exponent) > _MAX_BITS:
        return None
    result = Fraction(base) ** exponent
    return -result if negative else result


def number_word(text: str) -> Fraction | None:
    """Zero to nine hundred and ninety-nine in English words."""
    parts = text.strip().lower().replace("-", " ").split()
    numbers = [_WORDS.get(part) for part in parts]
    if len(parts) > 1 and parts[1] == "hundred" and 0 < (numbers[0] or 0) < 10:
        rest = number_word(" ".join(parts[2:]).removeprefix("and ")) if parts[2:] else Fraction(0)
        return None if rest is None else 100 * Fraction(numbers[0] or 0) + rest
    match numbers:
        case [int(one)]:
            return Fraction(one)
        case [int(tens), int(ones)] if tens >= 20 and 0 < ones < 10:
            return Fraction(tens + ones)
    return None
