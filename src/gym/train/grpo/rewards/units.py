"""Numbers with units of measure or money."""

import re
from typing import NamedTuple

from gym.train.grpo.rewards.exactly import value

_UNIT = re.compile(
    r"(?P<number>.*[\d})\]])\s*(?P<unit>\^\\circ(?:\s*\\?(?:text\{\s*[CF]\s*\}|[CF]))?"
    r"|(?:\\text\{[^{}]*[A-Za-z][^{}]*\}|(?<![\\A-Za-z])(?:[cmk]m|kg|ft|in|m[lL]|[A-Za-z]{3,}(?:\s+(?:of|per|[A-Za-z]{3,}))*))"
    r"(?:\s*\^\{?\d\}?)?)"
)
_CURRENCY = re.compile(r"(\\\$|[$€£¥])\s*(.+)|(.+?)\s*(\\\$|[€£¥])")
_CURRENCIES = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}
_SAME_UNIT = {
    "degrees": "degree", "deg": "degree", "^\\circ": "degree", "dollars": "dollar", "inches": "inch", "feet": "foot",
    "ft": "foot", "in": "inch", "meters": "m", "meter": "m", "metres": "m", "centimeters": "cm", "centimeter": "cm",
    "kilometers": "km", "kilometer": "km", "minutes": "minute", "min": "minute", "hours": "hour", "seconds": "second",
}  # fmt: skip

_POWERS = {"square": 2, "sq": 2, r"sq\.": 2, "cubic": 3, "cu": 3}


class Measure(NamedTuple):
    """A number as written, and its unit in one spelling ("" for none)."""

    number: str
    unit: str


def measure(text: str) -> Measure:
    r"""The number and its unit, in one spelling; `units` is none, and a text that is no number with a unit has none.

    >>> [tuple(measure(text)) for text in (r"15\text{ square centimeters}", r"\$18.90", r"30^\circ", "5x")]
    [('15', 'cm^2'), ('18.90', 'dollar'), ('30', 'degree'), ('5x', '')]
    """
    if money := _CURRENCY.fullmatch(text):
        symbol = (money[1] or money[4]).removeprefix("\\")
        return Measure((money[2] or money[3]).strip(), _CURRENCIES[symbol])
    match = _UNIT.fullmatch(text)
    if match is None or value(match["number"]) is None:
        return Measure(text, "")
    unit = re.sub(r"\\text\{([^{}]*)\}", r"\1", match["unit"])
    unit = " ".join(re.sub(r"[\s{}]+", " ", unit).lower().split()).replace(" ^", "^")
    for word, power in _POWERS.items():
        unit = re.sub(rf"^{word} (.+)$", rf"\1^{power}", unit)
    name, caret, exponent = (unit, "", "") if unit.startswith("^") else unit.partition("^")
    name = _SAME_UNIT.get(name.strip(), name.strip().removesuffix("s"))
    return Measure(match["number"].strip(), "" if name == "unit" else f"{name}{caret}{exponent}")
