"""The bench's data set: counting questions from which the mock server can read the right answer."""

import json
import re
from pathlib import Path

_CASE = re.compile(r"Case (\d+)\.")


def question(number: int) -> str:
    """The question of one problem; its number stands in it, so that every prompt about it can be recognised."""
    return (
        f"Case {number}. A depot receives {number} crates with {_lamps(number)} lamps each, finds 100000 more in a side "
        "hall, and sends everything out on one train. How many lamps leave the depot? Reply with the number alone."
    )


def answer(number: int) -> str:
    """Its ground truth."""
    return str(number * _lamps(number) + 100_000)


def case(text: str) -> int | None:
    """The number of the first problem that a text speaks of."""
    found = _CASE.search(text)
    return int(found[1]) if found else None


def write(path: Path, count: int) -> Path:
    """A JSONL file with the first `count` problems; their ids are p0, p1 …"""
    rows = ({"id": f"p{n}", "question": question(n), "answer": answer(n)} for n in range(count))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _lamps(number: int) -> int:
    return 12 + number % 7
