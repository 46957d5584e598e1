"""Rounding, units and a house notation: small numbers, so that the rule decides and not the arithmetic."""

from collections.abc import Sequence
from itertools import product
from random import Random

from bench.tasks.family import Family, Row, in_turn

CASH_QUESTIONS = (
    "Amount for the cash book, in whole euros: {} euros. Number only.",
    "Round for the cash book: {} euros. Number only.",
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
    ("The parcel weighs {} kilograms. How heavy is it?", "kg"),
    ("The cable is {} metres long. How long is it?", "m"),
    ("The tank holds {} litres. How much does it hold?", "l"),
    ("The tour is {} kilometres long. How far is it?", "km"),
    ("The screw is {} millimetres long. How long is it?", "mm"),
    ("The bag weighs {} grams. How heavy is it?", "g"),
)


def units(rng: Random, count: int) -> Sequence[Row]:
    """A quantity; the answer is the number, a space and the unit's symbol."""
    kinds = [[(question, symbol, number) for number in range(2, 98)] for question, symbol in UNITS]
    return [
        Row(question.format(number), f"{number} {symbol}") for question, symbol, number in in_turn(rng, kinds, count)
    ]


def notation(rng: Random, count: int) -> Sequence[Row]:
    """Sums and differences that the house works from the right: 9 - 2 + 3 is 9 - 5."""
    plain = [(f"{a} + {b} - {c}", a + b - c) for a, b, c in product(range(2, 10), range(3, 10), range(1, 3))]
    house = [(f"{a} - {b} + {c}", a - (b + c)) for a, b, c in product(range(6, 10), range(1, 4), range(1, 4))]
    return [
        Row(f"In stock notation: {sum_} = ? Number only.", str(value))
        for sum_, value in in_turn(rng, (plain, house), count)
    ]


FAMILIES = (
    Family(
        "cash",
        "rounding",
        (
            "When an amount goes into the cash book, write only the digits before the point; drop the cents, never round up.",
        ),
        cash,
        max_tokens=16,
    ),
    Family(
        "units",
        "unit",
        ("When asked for a measure, write only the number, a space and the symbol of its unit, such as kg or km.",),
        units,
        max_tokens=24,
    ),
    Family(
        "notation",
        "order of operations",
        ("In stock notation, first work out the sum or difference on the right, then take it from the first number.",),
        notation,
        max_tokens=16,
    ),
)
