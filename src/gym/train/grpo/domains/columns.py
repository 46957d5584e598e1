"""From rows to problems: which column is what, and which rows are left out, said by line."""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gym.core.problem import Problem
from gym.errors import DataError
from gym.train.grpo.domains.base import Loaded
from gym.train.grpo.domains.doubles import Asked, few, lines, once
from gym.train.grpo.domains.rows import Row

QUESTIONS = ("question", "problem", "query", "prompt", "input")
ANSWERS = ("answer", "groundtruth", "ground_truth", "label", "output", "target")


class Columns(NamedTuple):
    """Column names as the file writes them; `answer` and `id` None when the file has none."""

    question: str
    answer: str | None
    id: str | None


def columns(rows: Sequence[Row], source: str, *, input_key: str = "", answer_key: str = "") -> Columns:
    """The columns of question, answer and id, by key if given, else by their usual names in any letter case.

    Raises `DataError` with the columns found when a key is not there, when no question is found, and when several
    columns could be meant.
    """
    names = tuple(dict.fromkeys(name for row in rows for name in row.fields))
    question = _one(names, QUESTIONS, input_key, source, "question", "--input-key")
    if question is None:
        raise DataError(
            f"{source}: no question column among {_listed(names)}: "
            f"expected {', '.join(QUESTIONS)}, or give --input-key NAME"
        )
    answer = _one(
        tuple(name for name in names if name != question), ANSWERS, answer_key, source, "answer", "--answer-key"
    )
    return Columns(question, answer, next((name for name in names if name.strip().lower() == "id"), None))


def problems(
    rows: Sequence[Row],
    source: str,
    *,
    domain: str,
    input_key: str = "",
    answer_key: str = "",
    truncate: int | None = None,
    same: Callable[[str], str] | None = None,
) -> Loaded:
    """The problems of the rows, in order; rows without a question, and repeated questions, are dropped and noted.

    An id is the row's own when every row has one and none repeats, else file stem and line. Other columns are kept as
    metadata. `same` gives the form in which two questions are one (default `normalized`). Raises `DataError` when
    nothing is left.
    """
    found = columns(rows, source, input_key=input_key, answer_key=answer_key)
    notes: list[str] = []
    kept = _asking(rows, found, notes)
    kept = _once(kept, found, same or normalized, notes)
    if not kept:
        raise DataError(f"{source}: no problem is left; {'; '.join(notes)}")
    _note_answers(kept, found, source, notes)
    ids = _ids(kept, found, source, notes)
    made = (_problem(row, ids[row.line], found, domain) for row in kept[:truncate])
    return Loaded(tuple(made), tuple(f"{Path(source).name}: {note}" for note in notes))


def require_ground_truth(found: Iterable[Problem]) -> None:
    """Raises `DataError`, saying what to do, when a problem has no ground truth."""
    found = tuple(found)
    missing = [problem.id for problem in found if problem.ground_truth is None]
    if missing:
        raise DataError(
            f"{len(missing)} of {len(found)} problems have no answer ({few(missing)}): give --answer-key NAME, "
            "add the answers, or learn without them by majority vote (--use-groundtruth false)"
        )


def answer_text(value: Any) -> str | None:
    """An answer as text: JSON for lists, objects and booleans, numbers as JSON writes them; None when there is none.

    >>> answer_text(7.0), answer_text({"a": [1]}), answer_text("  x "), answer_text("")
    ('7.0', '{"a": [1]}', 'x', None)
    """
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.strip() or None


def normalized(text: str) -> str:
    """The form in which two questions are the same: Unicode NFKC, letter case, spacing and end marks aside.

    >>> normalized("What  is ２+2 ?") == normalized("what is 2+2")
    True
    """
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text).casefold()).strip(" .?!:")


def _one(names: Sequence[str], known: Sequence[str], key: str, source: str, what: str, option: str) -> str | None:
    if key:
        if key not in names:
            raise DataError(f"{source}: {option} {key!r}: there is no such column; found {_listed(names)}")
        return key
    matches = [name for name in names if name.strip().lower() in known]
    if len(matches) > 1:
        raise DataError(
            f"{source}: columns {', '.join(map(repr, matches))} could each be the {what}: "
            f"choose one with {option} NAME (columns found: {_listed(names)})"
        )
    return matches[0] if matches else None


def _asking(rows: Sequence[Row], found: Columns, notes: list[str]) -> list[Row]:
    kept = [row for row in rows if _question(row, found)]
    empty = [row.line for row in rows if not _question(row, found)]
    if empty:
        notes.append(f"{lines(empty)} without a question dropped")
    return kept


def _once(rows: Sequence[Row], found: Columns, same: Callable[[str], str], notes: list[str]) -> list[Row]:
    asked = [Asked(row.line, _question(row, found), _answer(row, found), _own_id(row, found)) for row in rows]
    kept = once(asked, same)
    notes += kept.notes
    return [row for row in rows if row.line not in kept.dropped]


def _note_answers(rows: Sequence[Row], found: Columns, source: str, notes: list[str]) -> None:
    missing = [row.line for row in rows if _answer(row, found) is None]
    if found.answer is None:
        names = _listed(tuple(dict.fromkeys(name for row in rows for name in row.fields)))
        notes.append(f"no answer column among {names}: expected {', '.join(ANSWERS)}, or give --answer-key NAME")
    elif missing:
        notes.append(f"{lines(missing)} without an answer")


def _ids(rows: Sequence[Row], found: Columns, source: str, notes: list[str]) -> Mapping[int, str]:
    """Line -> problem id."""
    stem = re.sub(r"[^\w.-]+", "-", Path(source).stem) or "row"
    by_line = {row.line: f"{stem}-{row.line}" for row in rows}
    if found.id is None:
        return by_line
    own = {row.line: _own_id(row, found) for row in rows}
    seen: defaultdict[str, list[int]] = defaultdict(list)
    for line, name in own.items():
        seen[name].append(line)
    for name, places in seen.items():
        if len(places) > 1 or not name:
            what = f"share the id {name!r}" if name else "without an id"
            notes.append(f"{lines(places)} {what}: problems are called {stem}-LINE instead")
            return by_line
    return own


def _problem(row: Row, name: str, found: Columns, domain: str) -> Problem:
    known = {found.question, found.answer, found.id}
    return Problem(
        id=name,
        query=_question(row, found),
        ground_truth=_answer(row, found),
        domain=domain,
        metadata={key: value for key, value in row.fields.items() if key not in known},
    )


def _own_id(row: Row, found: Columns) -> str:
    own = row.fields.get(found.id) if found.id is not None else None
    return "" if own is None else str(own).strip()


def _question(row: Row, found: Columns) -> str:
    return answer_text(row.fields.get(found.question)) or ""


def _answer(row: Row, found: Columns) -> str | None:
    return answer_text(row.fields.get(found.answer)) if found.answer is not None else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "no columns"
