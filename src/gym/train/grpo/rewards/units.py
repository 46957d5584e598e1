"""Numbers with units of measure or money, and with words that are part of the number."""

import re
from fractions import Fraction
from typing import NamedTuple

from gym.train.grpo.rewards.exactly import value

_UNIT = re.compile(
    r"(?P<number>.*(?:[\d})\]]|\\pi))\s*(?P<unit>\^\\circ(?:\s*\\?(?:text\{\s*[CF]\s*\}|[CF]))?"
    r"|(?:\\text\{[^{}]*[A-Za-z][^{}]*\}|(?<![\\A-Za-z])(?:[cmk]m|[km]g|ft|in|mi|yd|oz|lb|hr|m[lL]|[A-Za-z]{3,}(?:\s+(?:of|per|[A-Za-z]{3,}))*))"
    r"(?:\s*\^\{?\d\}?)?)"
)
_CURRENCY = re.compile(r"(\\\$|[$€£¥])\s*(.+)|(.+?)\s*(\\\$|[€£¥])")
_CURRENCIES = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}
_NAMES = {
    "degree": "deg ^\\circ", "dollar": "dollars", "inch": "inches in", "foot": "feet ft", "yard": "yd", "mile": "mi",
    "m": "meter metre", "cm": "centimeter centimetre", "mm": "millimeter millimetre", "km": "kilometer kilometre",
    "s": "second sec", "minute": "min", "hour": "h hr", "g": "gram", "kg": "kilogram kilo", "mg": "milligram",
    "l": "liter litre", "ml": "milliliter millilitre", "pound": "lb", "ounce": "oz", "mile/hour": "mph",
    "km/hour": "kph kmh",
}  # fmt: skip
"""A unit -> its other spellings; the plural with "s" is understood."""
_SAME_UNIT = {spelling: name for name, spellings in _NAMES.items() for spelling in (name, *spellings.split())}
_POWERS = {"square": 2, "sq": 2, r"sq\.": 2, "cubic": 3, "cu": 3}
_SCALES = {
    "dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
}  # fmt: skip
_NO_UNIT = frozenset({
    "and", "or", "not", "nor", "but", "to", "if", "when", "than", "at", "more", "less", "most", "least", "plus", "minus", "times",
    "over", "choose", "mod", "modulo", "squared", "cubed", "factorial", "half", "halves", "third", "thirds", "quarter",
    "quarters", "fifth", "fifths", "tenth", "tenths", "hundredth", "hundredths", "root", "power", "percent", "raised",
})  # fmt: skip
"""Words that make another number, or another statement, of the number in front of them."""


class Measure(NamedTuple):
    """A number as written, and its unit in one spelling ("" for none)."""

    number: str
    unit: str


def measure(text: str) -> Measure:
    r"""The number and its unit, in one spelling; `units` is none, and a text that is no number with a unit has none.

    >>> [tuple(measure(text)) for text in (r"15\text{ square centimeters}", r"\$18.90", r"30^\circ", "5x")]
    [('15', 'cm^2'), ('18.90', 'dollar'), ('30', 'degree'), ('5x', '')]
    >>> [tuple(measure(text)) for text in (r"5\text{ million}", r"\$1.2 million", "12 miles per hour", "5 squared")]
    [('5000000', ''), ('1200000', 'dollar'), ('12', 'mile/hour'), ('5 squared', '')]
    """
    if money := _CURRENCY.fullmatch(text):
        symbol = (money[1] or money[4]).removeprefix("\\")
        return Measure(measure((money[2] or money[3]).strip()).number, _CURRENCIES[symbol])
    match = _UNIT.fullmatch(text)
    if match is None:
        return Measure(text, "")
    unit = re.sub(r"\\text\{([^{}]*)\}", r"\1", match["unit"])
    words = re.sub(r"[\s{}]+", " ", unit).lower().replace(" ^", "^").split()
    if _NO_UNIT.intersection(words) or (value(match["number"]) is None and not _is_known(words)):
        return Measure(text, "")
    if words[0] in _SCALES:
        return Measure(_scaled(match["number"], _SCALES[words[0]]), _name(" ".join(words[1:])))
    return Measure(match["number"].strip(), _name(" ".join(words)))


def _is_known(words: list[str]) -> bool:
    """Whether it is a unit by its name: behind a formula any other word may mean anything."""
    names = re.split(r"/|\^", _name(" ".join(words)))
    return {name for name in names if not name.isdigit()} <= _NAMES.keys() | {"hour"}


def _scaled(number: str, scale: int) -> str:
    found = value(number)
    assert found is not None
    return str(Fraction(found * scale))


def _name(unit: str) -> str:
    """The unit in one spelling; "" for none and for "units"."""
    unit = re.sub(r"\bsquare units?\b|\bcubic units?\b|\bunits?(?:\s*\^\d)?$", "", unit).strip()
    for word, power in _POWERS.items():
        unit = re.sub(rf"^{word} (.+)$", rf"\1^{power}", unit)
    unit = re.sub(r"\s*\bper\b\s*|\s*/\s*", "/", unit)
    name, caret, exponent = (unit, "", "") if unit.startswith("^") else unit.partition("^")
    name = "/".join(map(_singular, name.strip().split("/")))
    return f"{_SAME_UNIT.get(name, name)}{caret}{exponent}" if name else ""


def _singular(name: str) -> str:
    for form in (name, name.removesuffix("s")):
        if form in _SAME_UNIT:
            return _SAME_UNIT[form]
    return name.removesuffix("s")
