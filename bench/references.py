"""Reference answers of public sets against themselves, dressed as models write them, and near misses of each."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.report import ROOT

SHARED = ROOT.parent / "shared" / "data"
"""Where the sets are, when they are there."""
SETS = {"math500": "math500.jsonl", "aime_2000_2023": "aime_2000_2023.jsonl"}
DRESSINGS = {
    "boxed": r"Adding both, we get \boxed{%s}",
    "boxed, with a full stop": r"Hence the result is $\boxed{%s.}$",
    "in a sentence": "Both cases agree. The answer is $%s$.",
    "after a thought with another box": r"<think>Perhaps \boxed{17}? No, I forgot a case.</think>So it is \boxed{%s}.",
}
"""How an answer may stand in a reply."""


class Reference(NamedTuple):
    """A problem's answer, and its text, by which units and percent are judged."""

    answer: str
    question: str


def references(folder: Path = SHARED) -> list[Reference]:
    """The answers of MATH-500 and of AIME 2000 to 2023."""
    lines = [line for name in SETS.values() for line in (folder / name).read_text(encoding="utf-8").splitlines()]
    return [Reference(row["answer"], row["problem"]) for row in map(json.loads, lines)]


class Miss(NamedTuple):
    """A wrong answer to a reference."""

    reference: Reference
    answer: str


def near_misses(found: Sequence[Reference]) -> Iterator[Miss]:
    """Every number in an answer one more and one less, and, of an answer that is no integer, another problem's."""
    symbolic = [item for item in found if not item.answer.isdecimal()]
    for item in found:
        for number in re.finditer(r"\d+", item.answer):
            for near in (int(number[0]) + 1, int(number[0]) - 1):
                yield Miss(item, f"{item.answer[: number.start()]}{near}{item.answer[number.end() :]}")
    for item, other in zip(symbolic, [*symbolic[1:], symbolic[0]], strict=True):
        if item.answer != other.answer:
            yield Miss(item, other.answer)
