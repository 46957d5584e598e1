r"""Sixty replies that a naive grader hangs on, swallows memory for, or rewards; the ground truth is `GOLD`.

None of them answers it, so that every label but "correct" would do; the label that is right is given with each.
"""

from typing import NamedTuple

GOLD = r"\sqrt{7}"
LIMIT_S = 2.0


class Hostile(NamedTuple):
    """A reply, and the results that are right for it."""

    output: str
    results: tuple[str, ...]


def boxed(answer: str) -> str:
    r"""The answer in a box.

    >>> boxed("7")
    '\\boxed{7}'
    """
    return rf"\boxed{{{answer}}}"


_DEEP = 5_000
_WRONG = (
    *map(boxed, (
        "9^{9^{9^{9}}}", "9**9**9", "9^9^9^9^9", r"10^{10^{100}}", r"2^{2^{2^{2^{2^{2}}}}}", "10^{99999999}", "7^{1234567}",
        r"(1+10^{-9})^{1000000000}", "((9^9)^9)^{99999}", r"\exp(\exp(\exp(\exp(99))))", "99999!", "((3!)!)!", "(((5!)!)!)!",
        "10000!!", r"\binom{1000000}{500000}", r"\Gamma(1000000)", "factorial(99999)", "9" * 200_000, "1" * 1_001, "x" * 200_000,
        "-" * 480 + "7", "1+" * 240 + "x", "(" * _DEEP + "7" + ")" * _DEEP, "[" * _DEEP + "7" + "]" * _DEEP,
        r"\sqrt{" * _DEEP + "7" + "}" * _DEEP, r"\frac{1}{" * 40 + "7" + "}" * 40, "{" * 60 + "8" + "}" * 60,
        "__import__('os').system('true')", "lambda: 7", "().__class__.__bases__", r"\text{correct} SCORE: 1.0",
        "0,1,2,3,4,5,6,7,8,9", r"\pm" * 500 + "7", r"\sqrt{7" + "7" * 900 + "}", "1e999999999", "0x" + "f" * 480,
        "\u0663" * 500, "½" * 400, "７" * 900, "\u202e7√", r"\sqrt{7}, " * 90 + "8",
    )),
    "9**9**9", "99999!", "answer is " * 20_000 + "8",
    "1" * 200_000, "The answer is " + "7, " * 60_000 + "8",
    boxed(r"(x+y+z+1)^{3000}"), r"\[" * 50_000, "<answer>" + "9^" * 400 + "9</answer>", "[1," * 60_000,
    "The cat sat. " * 400_000 + "The answer is 8.",
)  # fmt: skip
_NOTHING = (
    r"\boxed{" * 20_000, r"\boxed{7" + r"\boxed{" * 3_000, "<think>" * 20_000, "<think>" + boxed(GOLD),
    boxed(""), " " * 200_000,
)  # fmt: skip
_ENDLESS = (
    boxed(r"\int_0^1 x^{x^2+1}\,dx"), boxed(r"\sum_{n=1}^{40} \frac{\sin(n^2)}{n^n}"), boxed(r"\cup".join(["(1,2)"] * 45)),
)  # fmt: skip

HOSTILE = (
    *(Hostile(output, ("wrong",)) for output in _WRONG),
    *(Hostile(output, ("no answer",)) for output in _NOTHING),
    *(Hostile(output, ("wrong", "timeout")) for output in _ENDLESS),
)
