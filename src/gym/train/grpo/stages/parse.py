"""Find the JSON a model meant, in whatever it wrote around it (FAULTS M1 to M5).

The last value that validates wins: models draft first and decide last. Repair is left to a library, and never closes
what a cut reply left open: half a sentence is not an experience.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from json_repair import repair_json

T = TypeVar("T")

_DECODER = json.JSONDecoder(strict=False)
_OPENERS = re.compile(r"[\[{]")
_JOINS = re.compile(r"[\s,;`~*\d.)#:-]*(?:json)?\s*", re.IGNORECASE)
"""What may stand between objects that form one list: blanks, commas, fences, numbering."""
_LIST_KEYS = ("operations", "experiences", "updates", "result", "results")
_MAX_STARTS = 2_000
_MAX_CHARS = 200_000


def after_thought(text: str) -> str:
    """The text after the last closed thought, and before one that was never closed: drafts are not decisions."""
    return text.rpartition("</think>")[2].partition("<think>")[0]


def last_valid(text: str, validate: Callable[[object], T | None], *, complete: bool = True) -> T | None:
    """The last JSON value in `text` for which `validate` gives something, as `validate` gives it.

    `complete=False` (the reply was cut at its token limit) forbids repair.
    """
    text = after_thought(text)[-_MAX_CHARS:]
    for value in reversed(list(_strict_values(text))):
        if (found := validate(value)) is not None:
            return found
    if complete:
        for value in _repaired_values(text):
            if (found := validate(value)) is not None:
                return found
    return None


def operation_dicts(value: object) -> Sequence[dict[str, object]] | None:
    """Raw operations in a parsed value: a list of objects, one object, or an object that wraps the list."""
    if isinstance(value, dict):
        wrapped = next((value[key] for key in _LIST_KEYS if isinstance(value.get(key), list)), None)
        value = wrapped if wrapped is not None else [value] if "option" in _lower_keys(value) else None
    if isinstance(value, list) and all(isinstance(item, dict) and "option" in _lower_keys(item) for item in value):
        return value
    return None


def parse_operations(text: str, *, complete: bool = True) -> Sequence[dict[str, object]] | None:
    """The raw operations of a critique or consolidation; None when the reply holds no such list."""
    return last_valid(text, operation_dicts, complete=complete)


def _lower_keys(value: dict[str, object]) -> set[str]:
    return {str(key).strip().lower() for key in value}


def _strict_values(text: str) -> Iterator[object]:
    """Every outermost JSON list or object, left to right; objects that follow each other directly form one list."""
    row: list[object] = []
    row_end = position = 0
    for _ in range(_MAX_STARTS):
        start = _OPENERS.search(text, position)
        if start is None:
            break
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            if _was_cut(error, text):
                break
            position = start.end()
            continue
        if row and not _JOINS.fullmatch(text[row_end : start.start()]):
            yield from _row(row)
            row = []
        row.append(value)
        row_end = position = end
    yield from _row(row)


def _was_cut(error: Exception, text: str) -> bool:
    """Whether the value ran into the end of the text: all that follows its opener belongs to it."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip())


def _row(row: list[object]) -> Iterator[object]:
    yield from row
    if len(row) > 1 and all(isinstance(item, dict) for item in row):
        yield list(row)


def _repaired_values(text: str) -> Iterator[object]:
    """Repaired readings of every span from an opener to the last closer of its kind, outermost first."""
    for start in list(_OPENERS.finditer(text))[:20]:
        closer = text.rfind("]" if start[0] == "[" else "}")
        if closer < start.start():
            break
        try:
            yield repair_json(text[start.start() : closer + 1], return_objects=True, skip_json_loads=True)
        except (ValueError, RecursionError):
            continue
