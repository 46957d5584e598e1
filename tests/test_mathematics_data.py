"""The shipped mathematics problems: reproducible, balanced, disjoint, and right by formulas (they were made by counting)."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from math import comb, gcd, lcm
from pathlib import Path

import pytest

from gym.core.problem import Problem
from gym.train.grpo.domains.shingles import pairs

FOLDER = Path(__file__).parents[1] / "examples" / "mathematics"
SPLITS = ("train", "test")
Row = dict[str, str]


def rows(split: str) -> list[Row]:
    return [json.loads(line) for line in (FOLDER / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()]


def problems(split: str) -> list[Problem]:
    return [Problem(id=row["id"], query=row["question"]) for row in rows(split)]


EVERYTHING = [row for split in SPLITS for row in rows(split)]


def test_making_the_data_again_gives_the_same_bytes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(FOLDER / "make_data.py"), str(tmp_path)], check=True)
    for split in SPLITS:
        assert (tmp_path / f"{split}.jsonl").read_bytes() == (FOLDER / f"{split}.jsonl").read_bytes()


@pytest.mark.parametrize("split", SPLITS)
def test_every_split_has_all_families_and_levels_and_begins_with_one_easy_problem_of_each(split: str) -> None:
    found = rows(split)
    assert set(Counter(row["family"] for row in found).values()) == {4}
    assert Counter(row["level"] for row in found) == {1: 6, 2: 12, 3: 6}
    assert len({row["family"] for row in found[:6]}) == 6
    assert all(re.fullmatch(r"\d+", row["answer"]) for row in found)


def test_no_text_is_in_both_splits_and_no_problem_occurs_twice() -> None:
    assert pairs(problems("train"), problems("test")) == ()
    assert len({row["question"] for row in EVERYTHING}) == len({row["id"] for row in EVERYTHING}) == 48


@pytest.mark.parametrize("row", EVERYTHING, ids=lambda row: row["id"])
def test_every_answer_is_right_by_a_formula(row: Row) -> None:
    found = [int(number) for number in re.findall(r"\d+", row["question"])]
    assert int(row["answer"]) == FORMULAS[row["family"], int(row["level"])](*found)


def power_remainder(base: int, power: int, modulus: int) -> int:
    return int(pow(base, power, modulus))


def congruences(r: int, one: int, s: int, other: int) -> int:
    return int((r * other * pow(other, -1, one) + s * one * pow(one, -1, other)) % (one * other))


def even_divisors(n: int) -> int:
    twos = (n & -n).bit_length() - 1
    exponents, left, p = 1, n >> twos, 3
    while left > 1:
        power = 0
        while left % p == 0:
            left, power = left // p, power + 1
        exponents *= power + 1
        p += 2
    return twos * exponents


def multiples(by: int, low: int, high: int) -> int:
    a, b = -(-low // by), high // by
    return by * (a + b) * (b - a + 1) // 2


def growing(_first_index: int, first: int, *rest: int) -> int:
    """a_n = first + n(n-1), and the sum of n(n-1) up to m is (m-1)m(m+1)/3."""
    m = rest[-1]
    return first * m + (m - 1) * m * (m + 1) // 3


def either(*numbers: int) -> int:
    limit, a, b = numbers[-3:]
    return limit // a + limit // b - limit // lcm(a, b)


def even_numbers(*digits: int) -> int:
    return len(digits) ** 2 * sum(digit % 2 == 0 for digit in digits)


def dice(total: int) -> int:
    """Inclusion and exclusion over dice above six."""
    return int(sum((-1) ** k * comb(3, k) * comb(total - 6 * k - 1, 2) for k in range(4) if total - 6 * k >= 3))


def digit_count(_low: int, limit: int, digit: int) -> int:
    """Place by place: full cycles, and what is left of the last."""
    count = 0
    for place in (1, 10, 100):
        cycles, rest = divmod(limit, place * 10)
        count += cycles * place + min(max(rest - digit * place + 1, 0), place)
    return count


def digit_sum(_low: int, _high: int, total: int) -> int:
    """Of the numbers from 0 to 999, less those of one digit."""
    every = int(sum((-1) ** k * comb(3, k) * comb(total - 10 * k + 2, 2) for k in range(4) if total >= 10 * k))
    return every - (total <= 9)


FORMULAS: dict[tuple[str, int], Callable[..., int]] = {
    ("shopping", 1): lambda count, price, paid: paid - count * price,
    ("shopping", 2): lambda count, price, extra: count * price + (count + 1) // 2 * extra,
    ("shopping", 3): lambda boxes, each, broken, price: price * (sold := boxes * (each - broken)) - price * (sold // 10),
    ("remainder", 1): lambda a, b, modulus: (a % modulus) * (b % modulus) % modulus,
    ("remainder", 2): power_remainder,
    ("remainder", 3): congruences,
    ("divisors", 1): gcd,
    ("divisors", 2): lcm,
    ("divisors", 3): even_divisors,
    ("sums", 1): lambda first, _second, _third, last, step: (first + last) * ((last - first) // step + 1) // 2,
    ("sums", 2): multiples,
    ("sums", 3): growing,
    ("counting", 1): either,
    ("counting", 2): even_numbers,
    ("counting", 3): dice,
    ("digits", 1): lambda base, power: sum(map(int, str(base**power))),
    ("digits", 2): digit_count,
    ("digits", 3): digit_sum,
}  # fmt: skip
