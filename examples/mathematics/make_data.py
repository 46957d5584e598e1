"""Make the mathematics example: 48 problems of six kinds and three levels, each with one integer for its answer.

All wording is our own. Answers come from counting through, never from a formula; the tests check them by formulas.
Standard library only, seeded: the same files, byte for byte, on every run.

    python examples/mathematics/make_data.py [FOLDER]
"""

import json
import random
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

SEED = 20264
LEVELS = (1, 1, 2, 2, 2, 2, 3, 3)
"""Of the problems of one kind, in turn for `train` and for `test`."""


class Made(NamedTuple):
    """One problem before it has an id."""

    question: str
    answer: int


def shopping(level: int, rng: random.Random) -> Made:
    """Two, three or four steps with whole numbers."""
    price, count, paid = rng.randint(3, 9), rng.randint(4, 12), 200
    thing = rng.choice(("notebooks", "lamps", "tickets", "plants", "cups", "towels", "maps", "kites"))
    who = rng.choice(("Mira", "Jonas", "Aylin", "Tom", "Ruth", "Pavel", "Ines", "Olu"))
    if level == 1:
        return Made(f"{who} buys {count} {thing} at ${price} each and pays with ${paid}. How many dollars are the change?",
                    paid - price * count)  # fmt: skip
    extra, more = rng.randint(2, 4), rng.randint(6, 15)
    if level == 2:
        return Made(f"{who} packs {count} {thing} in bags of two, the last bag perhaps half full. Each of the {thing} costs "
                    f"${price} and a bag ${extra}. How many dollars is that?",
                    price * count + extra * len(range(0, count, 2)))  # fmt: skip
    return Made(f"{count} boxes hold {more} {thing} each. {extra} a box are broken, the rest sell for ${price}, every tenth "
                f"of them is free. How many dollars come in?",
                sum(price for sold in range(1, count * (more - extra) + 1) if sold % 10))  # fmt: skip


def remainder(level: int, rng: random.Random) -> Made:
    """Modular arithmetic."""
    modulus, a, b = rng.choice((7, 9, 11, 13)), rng.randint(21, 89), rng.randint(12, 79)
    if level == 1:
        return Made(f"What is the remainder when ${a} \\cdot {b}$ is divided by ${modulus}$?", (a * b) % modulus)
    if level == 2:
        power = rng.randint(15, 40)
        base = rng.randint(2, 6)
        return Made(f"Find the remainder when ${base}^{{{power}}}$ is divided by ${modulus}$.", base**power % modulus)
    one, other = rng.sample((5, 7, 8, 9, 11), 2)
    r, s = rng.randint(1, one - 1), rng.randint(1, other - 1)
    return Made(f"A positive integer leaves the remainder ${r}$ when divided by ${one}$, and ${s}$ when divided by ${other}$. "
                f"What is the smallest such integer?",
                next(n for n in range(1, one * other + 1) if n % one == r and n % other == s))  # fmt: skip


def divisors(level: int, rng: random.Random) -> Made:
    """Greatest common divisor, least common multiple, number of divisors."""
    factor = rng.randint(4, 12)
    a, b = factor * rng.randint(5, 14), factor * rng.randint(5, 14) + factor
    if level == 1:
        return Made(f"What is the greatest common divisor of ${a}$ and ${b}$?", _divisors(a, b)[-1])
    if level == 2:
        p, q = sorted(rng.sample((12, 15, 16, 18, 20, 24, 28, 30), 2))
        return Made(f"Two lights flash together now, then one every ${p}$ seconds and one every ${q}$. How many seconds is it "
                    f"until they flash together again?", next(n for n in range(p, p * q + 1, p) if n % q == 0))  # fmt: skip
    n = rng.choice((360, 420, 504, 540, 600, 630, 720, 756, 840, 900))
    return Made(f"How many positive divisors of ${n}$ are even?", len([d for d in _divisors(n) if d % 2 == 0]))


def _divisors(*numbers: int) -> list[int]:
    return [d for d in range(1, min(numbers) + 1) if all(number % d == 0 for number in numbers)]


def sums(level: int, rng: random.Random) -> Made:
    """Sums of sequences."""
    first, step, last = rng.randint(2, 9), rng.randint(3, 8), rng.randint(12, 25)
    terms = range(first, first + step * last, step)
    if level == 1:
        return Made(f"Compute ${terms[0]} + {terms[1]} + {terms[2]} + \\cdots + {terms[-1]}$, where neighbours differ by "
                    f"${step}$.", sum(terms))  # fmt: skip
    if level == 2:
        low, high, by = rng.randint(20, 60), rng.randint(150, 250), rng.choice((6, 7, 8, 9))
        return Made(f"What is the sum of all multiples of ${by}$ from ${low}$ to ${high}$?",
                    sum(n for n in range(low, high + 1) if n % by == 0))  # fmt: skip
    count = rng.randint(12, 20)
    return Made(f"Let $a_1 = {first}$ and $a_{{n+1}} = a_n + 2n$ for every positive integer $n$. Find "
                f"$a_1 + a_2 + \\cdots + a_{{{count}}}$.", sum(_growing(first, count)))  # fmt: skip


def _growing(value: int, count: int) -> Iterator[int]:
    for n in range(1, count + 1):
        yield value
        value += 2 * n


def counting(level: int, rng: random.Random) -> Made:
    """How many there are."""
    limit, (a, b) = rng.randint(80, 200), rng.sample((3, 4, 5, 7), 2)
    if level == 1:
        return Made(f"How many of the integers $1, 2, \\ldots, {limit}$ are divisible by ${a}$ or by ${b}$?",
                    len([n for n in range(1, limit + 1) if n % a == 0 or n % b == 0]))  # fmt: skip
    digits = rng.sample(range(1, 10), rng.choice((4, 5)))
    shown = ", ".join(map(str, sorted(digits)))
    if level == 2:
        return Made(f"How many even three-digit numbers have only digits from the list {shown}, if a digit may be used "
                    f"again?", len([n for n in product(digits, repeat=3) if n[2] % 2 == 0]))  # fmt: skip
    total = rng.randint(9, 17)
    return Made(f"In how many ways can a red, a green and a blue die show ${total}$ in all?",
                len([dice for dice in product(range(1, 7), repeat=3) if sum(dice) == total]))  # fmt: skip


def digits(level: int, rng: random.Random) -> Made:
    """Digits of numbers."""
    if level == 1:
        base, power = rng.choice((2, 3, 5)), rng.randint(6, 10)
        return Made(f"What is the sum of the digits of ${base}^{{{power}}}$?", sum(map(int, str(base**power))))
    digit, limit = rng.randint(1, 9), rng.randint(120, 320)
    if level == 2:
        return Made(f"All integers from $1$ to ${limit}$ are written down. How often is the digit ${digit}$ written?",
                    sum(str(n).count(str(digit)) for n in range(1, limit + 1)))  # fmt: skip
    total = rng.randint(5, 14)
    return Made(f"How many integers from $10$ to $999$ have the digit sum ${total}$?",
                len([n for n in range(10, 1000) if sum(map(int, str(n))) == total]))  # fmt: skip


FAMILIES: dict[str, Callable[[int, random.Random], Made]] = {
    "shopping": shopping,
    "remainder": remainder,
    "divisors": divisors,
    "sums": sums,
    "counting": counting,
    "digits": digits,
}


def rows() -> dict[str, list[dict[str, object]]]:
    """The rows of `train` and `test`; both begin with one easy problem of each kind."""
    rng = random.Random(SEED)
    found: dict[str, list[dict[str, object]]] = {"train": [], "test": []}
    asked: set[str] = set()
    for place, level in enumerate(LEVELS):
        split = "train" if place % 2 == 0 else "test"
        for name, make in FAMILIES.items():
            made = next(made for made in iter(lambda: make(level, rng), None) if made.question not in asked)  # noqa: B023
            asked.add(made.question)
            row = {"family": name, "level": level, "question": made.question, "answer": str(made.answer)}
            found[split].append({"id": f"{split}-{len(found[split]):02d}", **row})
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for split, items in rows().items():
        text = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)
        (folder / f"{split}.jsonl").write_text(text, encoding="utf-8", newline="\n")
