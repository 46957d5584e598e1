"""Problem sets of competition mathematics, repaired: what is damaged, contradictory or doubled is put right or left out.

Every change is named in the notes, and in the problem's `metadata["repaired"]`. `metadata["needs_figure"]` says whether
a text model may lack a drawing.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gym.core.problem import Problem
from gym.core.text import count
from gym.errors import DataError, MissingExtra
from gym.train.grpo.domains import columns, rows
from gym.train.grpo.domains.base import Loaded
from gym.train.grpo.domains.doubles import few
from gym.train.grpo.domains.math import repair
from gym.train.grpo.domains.math.choose import choose
from gym.train.grpo.domains.math.figures import needs_figure
from gym.train.grpo.domains.math.repair import Repaired
from gym.train.grpo.domains.math.sets import Source, Wanted, local_file, wanted
from gym.train.grpo.domains.rows import Row

_SETTING = re.compile(
    r"\\(?:left|right|displaystyle|quad)(?![a-z])|\\[,;!: ()\[\]]|[$~]|(?<!\d)[.,;:?]|[.;:?](?!\d)|,(?=\s)"
)
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\s,]+(?=\d)")


def load(source: str, *, data_dir: str, input_key: str, answer_key: str, truncate: int | None) -> Loaded:
    """The problems of a named set with its options, a file, a hub data set, or several joined by `+`.

    Raises `DataError` with the nearest name for an unknown set, and with both ways to get it for one that is nowhere.
    """
    parts = [source] if rows.locate(source, data_dir) else [part.strip() for part in source.split("+")]
    found = [_one(wanted(part, data_dir), data_dir, input_key, answer_key) for part in parts]
    whole = found[0] if len(found) == 1 else _union(parts, found)
    return Loaded(whole.problems[:truncate], whole.notes)


def same_question(text: str) -> str:
    r"""The form in which two mathematical questions are one: how a formula is set and spaced aside.

    >>> same_question(r"Find \( m+n \).") == same_question("Find $m + n$")
    True
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    for style in ("\\dfrac", "\\tfrac", "\\dbinom", "\\tbinom"):
        text = text.replace(style, "\\" + style[2:])
    return "".join(_BETWEEN_DIGITS.sub("_", _SETTING.sub("", text)).split())


class _Raw(NamedTuple):
    rows: Sequence[Row]
    path: str
    input_key: str = ""
    answer_key: str = ""


def _one(want: Wanted, data_dir: str, input_key: str, answer_key: str) -> Loaded:
    raw = _named(want, data_dir) if want.source else _Raw(rows.read(want.name, data_dir), want.name)
    read = [_plain(row) for row in raw.rows]
    found = columns.columns(
        read, raw.path, input_key=input_key or raw.input_key, answer_key=answer_key or raw.answer_key
    )
    integers = want.source is not None and want.source.integers
    mended = [_mended(row, found, integers=integers) for row in read]
    same = cache(same_question)
    agreed, notes = _agreed(mended, found, same)
    loaded = columns.problems(
        agreed, raw.path, domain="math", input_key=found.question, answer_key=found.answer or "", same=same
    )
    notes += _repairs(loaded.problems, integers=integers)
    kept = choose(loaded.problems, want, notes)
    here = Path(raw.path).name
    return Loaded(kept, (*loaded.notes, *(f"{here}: {note}" for note in notes)))


def _named(want: Wanted, data_dir: str) -> _Raw:
    assert want.source is not None
    if path := local_file(want, data_dir):
        return _Raw(rows.read(str(path)), str(path))
    where = want.source
    try:
        return _Raw(rows.read(where.hub), want.name, where.input_key, where.answer_key)
    except MissingExtra as error:
        absent = _absent(want, where, data_dir)
        raise DataError(f"{absent}, or pip install 'zoo-gym[data]' where there is internet") from error
    except DataError as error:
        raise DataError(f"{_absent(want, where, data_dir)}; {error}") from error


def _absent(want: Wanted, where: Source, data_dir: str) -> str:
    stem = where.wordings.get(want.options.wording, where.stems)[0]
    if where.years and want.options.years:
        stem = f"aime_{str(want.options.years).replace('-', '_')}"
    folder = f"in {data_dir!r}" if data_dir else "here or in data/"
    looked = folder if not data_dir or Path(data_dir).expanduser().is_dir() else f"{folder}, which is no folder"
    return f"problem set {want.name!r} is not {looked}: put {stem}.jsonl into a folder and give --data-dir FOLDER"


def _plain(row: Row) -> Row:
    """Chat messages as their last user text, a reward model's label as `answer`, GSM8K's answer without its working."""
    fields: dict[str, Any] = {key: _said(value) for key, value in row.fields.items()}
    label = fields.get("reward_model")
    if isinstance(label, Mapping) and not any(name.lower() in (*columns.ANSWERS, "solution") for name in fields):
        fields["answer"] = label.get("ground_truth")
    return Row(row.line, fields)


def _said(value: Any) -> Any:
    if isinstance(value, list):
        asked = [item.get("content") for item in value if isinstance(item, dict) and item.get("role") == "user"]
        return asked[-1] if asked else value
    return value.rpartition("#### ")[2].strip() if isinstance(value, str) and "\n#### " in value else value


def _mended(row: Row, found: columns.Columns, *, integers: bool) -> Row:
    asked = repair.question(_text(row, found.question))
    fields = {**row.fields, found.question: asked.text}
    damage = list(asked.damage)
    if found.answer and (answer := _text(row, found.answer)):
        mended = repair.latex(answer, formula=True)
        plain = repair.integer(mended.text) if integers else Repaired(mended.text)
        fields[found.answer] = plain.text
        damage += [*mended.damage, *plain.damage]
    fields["needs_figure"] = needs_figure(asked.text) or _is_set(row, "needs_figure")
    return Row(row.line, fields | ({"repaired": list(dict.fromkeys(damage))} if damage else {}))


def _text(row: Row, column: str) -> str:
    """As it is read: at the ends, too, what looks like white space may be the head of a command."""
    value = row.fields.get(column)
    return value if isinstance(value, str) else columns.answer_text(value) or ""


def _is_set(row: Row, flag: str) -> bool:
    return str(row.fields.get(flag)).lower() == "true"


def _agreed(found: Sequence[Row], known: columns.Columns, same: Callable[[str], str]) -> tuple[list[Row], list[str]]:
    """Without questions that the file itself marks as having had two answers, and without their twins."""
    marked = [row for row in found if _is_set(row, "answer_conflict")]
    if not marked:
        return list(found), []
    forms = {same(_text(row, known.question)) for row in marked}
    gone = {row.line for row in found if same(_text(row, known.question)) in forms}
    names = ", ".join(f"{row.fields.get(known.id or '') or f'line {row.line}'}" for row in found if row.line in gone)
    note = f"{count(len(gone), 'problem')} whose source gives the text two answers: dropped ({names})"
    return [row for row in found if row.line not in gone], [note]


def _repairs(found: Sequence[Problem], *, integers: bool) -> list[str]:
    by_kind: dict[str, list[str]] = {}
    for problem in found:
        for kind in problem.metadata.get("repaired", ()):
            by_kind.setdefault(kind, []).append(problem.id)
    notes = [f"{kind}: repaired in {count(len(ids), 'problem')} ({few(ids)})" for kind, ids in by_kind.items()]
    odd = [item.id for item in found if item.ground_truth and not re.fullmatch(r"-?\d+", item.ground_truth)]
    if integers and odd:
        notes.append(f"{count(len(odd), 'answer', verb='is/are')} no integer ({few(odd)})")
    return notes


def _union(parts: Sequence[str], found: Sequence[Loaded]) -> Loaded:
    """All sets in order, each problem's `family` the set it came from; what an earlier set asked is not asked again."""
    asked: set[str] = set()
    taken: set[str] = set()
    kept: list[Problem] = []
    for part, loaded in zip(parts, found, strict=True):
        for problem in loaded.problems:
            if (form := same_question(problem.query)) not in asked:
                name = f"{part}/{problem.id}" if problem.id in taken else problem.id
                update = {"id": name, "metadata": {**problem.metadata, "family": part}}
                kept.append(problem.model_copy(update=update))
                asked.add(form)
                taken.add(name)
    notes = [note for loaded in found for note in loaded.notes]
    if gone := sum(len(loaded.problems) for loaded in found) - len(kept):
        notes.append(
            f"{' + '.join(parts)}: {count(gone, 'problem', verb='repeats/repeat')} one of an earlier set: dropped"
        )
    return Loaded(tuple(kept), tuple(notes))
