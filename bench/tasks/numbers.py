"""Rounding and units: nothing to compute, so that the rule decides and not the arithmetic."""

from collections.abc import Sequence
from itertools import product
from random import Random

from bench.tasks.family import Family, Row, in_turn

CASH_QUESTIONS = (
    "Amount for the cash book, in whole euros: {} euros. Number only.",
    "The customer paid {} euros. Whole euros for the cash book, number only:",
)


def cash(rng: Random, count: int) -> Sequence[Row]:
    """An amount of money; the cents are dropped, never rounded."""
    low = [(euros, cents) for euros, cents in product(range(11, 90), range(11, 49)) if cents % 10]
    high = [(euros, cents) for euros, cents in product(range(11, 90), range(51, 99)) if cents % 10]
    return [
        Row(CASH_QUESTIONS[place // 2 % 2].format(f"{euros}.{cents}"), str(euros))
        for place, (euros, cents) in enumerate(in_turn(rng, (low, high), count))
    ]


UNITS = (
    ("parcel", "weighs {} kilograms. How heavy is it?", "kilograms", "kg"),
    ("cable", "is {} metres long. How long is it?", "metres", "m"),
    ("tank", "holds {} litres. How much does it hold?", "litres", "l"),
    ("tour", "is {} kilometres long. How far is it?", "kilometres", "km"),
    ("screw", "is {} millimetres long. How long is it?", "millimetres", "mm"),
    ("bag", "weighs {} grams. How heavy is it?", "grams", "g"),
)


def units(rng: Random, count: int) -> Sequence[Row]:
    """A quantity, asked for at length or in short; the answer is the number, a space and the unit's symbol."""
    kinds = [[(*unit, number) for number in range(2, 98)] for unit in UNITS]
    rows = []
    for place, (thing, told, word, symbol, number) in enumerate(in_turn(rng, kinds, count)):
        short = f"A {thing} of {number} {word}. Its label, as short as possible:"
        asked = short if place // len(UNITS) % 2 else f"The {thing} {told.format(number)}"
        rows.append(Row(asked, f"{number} {symbol}"))
    return rows


FAMILIES = (
    Family(
        "cash",
        "rounding",
        (
            "In the cash book write only the whole euros, the digits before the point: no point, no cents, and never round up.",
        ),
        cash,
        max_tokens=16,
    ),
    Family(
        "units",
        "unit",
        (
            "When asked for a measure, write only the number, a space and the short symbol of its unit: kg, g, m, mm, km or l.",
        ),
        units,
        max_tokens=24,
    ),
)
