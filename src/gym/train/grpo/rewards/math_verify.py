"""Symbolic equality through the package math-verify; runs in a worker only, where it can be killed.

Its own time limits use SIGALRM and fail in threads (FAULTS G1), so they are switched off: the pool's deadline is the
limit. The package is imported inside the functions because its parser and sympy take a second that only a worker should
pay.
"""

import logging
from functools import cache, lru_cache
from typing import Any, Literal

Outcome = Literal["equal", "different", "unreadable gold"]


class Broken(Exception):
    """This installation does not tell a right pair from a wrong one."""


_SELF_TEST = (("1/2", r"\frac{2}{4}", "equal"), (r"\sqrt{2}", "1.5", "different"))


def equality(gold: str, answer: str) -> Outcome:
    """Whether two answers are equal as mathematics, in this very process, which has passed its self-test."""
    self_test()
    return _equality(gold, answer)


@cache
def self_test() -> None:
    """Raises `Broken` unless one right and one wrong pair are told apart: a broken install must not grade."""
    for gold, answer, expected in _SELF_TEST:
        try:
            found: str = _equality(gold, answer)
        except Exception as error:  # what a broken package raises is its own affair
            found = f"{type(error).__name__}: {error}"
        if found != expected:
            raise Broken(
                f"math-verify is broken: its self-test of {gold} against {answer} gave {found!r}, not {expected!r}"
            )


def _equality(gold: str, answer: str) -> Outcome:
    from math_verify import verify

    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    wanted, given = _parsed(gold), _parsed(answer)
    if not _expressions(wanted):
        return "unreadable gold"
    same = verify(wanted, given, timeout_seconds=0) or verify(*_complex(wanted, given), timeout_seconds=0)
    return "equal" if same and _same_size(wanted, given) else "different"


@lru_cache(maxsize=512)
def _parsed(text: str) -> list[Any]:
    """Kept, for a group's answers share a ground truth, and many are the same; nobody may change the list."""
    from math_verify import parse

    return list(parse(f"${text}$", parsing_timeout=0))


def _complex(wanted: list[Any], given: list[Any]) -> tuple[list[Any], list[Any]]:
    """With the symbol i as the imaginary unit: as a symbol, `(1+i)^2` is not `2i`. Empty where there is none."""
    from sympy import I, Symbol

    sides = [[item for item in _expressions(side) if hasattr(item, "free_symbols")] for side in (wanted, given)]
    units = {symbol: I for side in sides for item in side for symbol in item.free_symbols if symbol.name == "i"}
    if not units or not all(isinstance(symbol, Symbol) for symbol in units):
        return [], []
    left, right = ([item.subs(units) for item in side] for side in sides)
    return left, right


def _expressions(parsed: list[Any]) -> list[Any]:
    return [item for item in parsed if not isinstance(item, str)]


def _same_size(wanted: list[Any], given: list[Any]) -> bool:
    """Whether two numbers agree as a ratio: math-verify rounds to six places, which makes all tiny values equal."""
    pair = [item for side in (wanted, given) for item in _expressions(side)[:1]]
    if len(pair) < 2 or not all(_is_plain_number(item) for item in pair):
        return True
    one, other = (item.evalf(30) for item in pair)
    return bool(abs(one / other - 1) < 1e-5)


def _is_plain_number(item: Any) -> bool:
    """Whether a sympy value is one finite number other than 0 (sets, matrices and relations are not)."""
    flags = ("is_number", "is_finite", "is_nonzero")
    return hasattr(item, "evalf") and all(getattr(item, flag, False) for flag in flags)
