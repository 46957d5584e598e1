"""Rows of a data file with their line numbers: JSONL, JSON, CSV, TSV, Parquet, or a Hugging Face data set.

Malformed rows do not stop the reading; they are collected, so that one error can name them all.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from gym.errors import DataError, MissingExtra
from gym.train.grpo.domains import hub

SHOWN = 5
"""Malformed rows named in one error."""

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(?::[\w.-]+){0,2}")
"""`owner/name`, `owner/name:split` or `owner/name:config:split`."""


class Row(NamedTuple):
    """One record; `line` is where it starts in its file, from 1 (of Parquet and the hub: its number)."""

    line: int
    fields: Mapping[str, Any]


class Malformed(NamedTuple):
    """A line that is no record."""

    line: int
    reason: str


def locate(source: str, data_dir: str = "") -> Path | None:
    """The file a source names, as given or below `data_dir`; None when there is none."""
    candidates = [Path(source).expanduser(), *([Path(data_dir).expanduser() / source] if data_dir else [])]
    return next((path for path in candidates if path.is_file()), None)


def read(source: str, data_dir: str = "") -> tuple[Row, ...]:
    """Every row of a file or a hub data set.

    Raises `DataError` for a missing, unreadable or empty file and for malformed rows, naming the first of them.
    """
    path = locate(source, data_dir)
    if path is None:
        if _looks_like_hub_id(source):
            return tuple(_numbered(hub.records(source)))
        raise DataError(_missing(source, data_dir))
    found = list(_READERS.get(path.suffix.lower(), _unknown_format)(path))
    malformed = [item for item in found if isinstance(item, Malformed)]
    if malformed:
        raise DataError(f"{path}: {describe(malformed)}")
    rows = tuple(item for item in found if isinstance(item, Row))
    if not rows:
        raise DataError(f"{path}: no rows")
    return rows


def describe(malformed: Sequence[Malformed]) -> str:
    """How many rows are malformed, and the first of them with line and reason."""
    shown = "; ".join(f"line {item.line}: {item.reason}" for item in malformed[:SHOWN])
    more = f"; and {len(malformed) - SHOWN} more" if len(malformed) > SHOWN else ""
    return f"{len(malformed)} malformed row{'s' if len(malformed) > 1 else ''}: {shown}{more}"


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DataError(f"{path}: line {line} is not UTF-8: save the file as UTF-8") from error
    if not text.strip():
        raise DataError(f"{path}: the file is empty")
    return text


def _jsonl(path: Path) -> Iterator[Row | Malformed]:
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if line.strip():
            yield _json_row(number, line)


def _json_row(number: int, line: str) -> Row | Malformed:
    try:
        value = json.loads(line, parse_constant=_no_constant)
    except RecursionError:
        return Malformed(number, "nested too deeply")
    except ValueError as error:
        return Malformed(number, f"not JSON ({str(error).removesuffix(' (char 0)')})")
    return (
        Row(number, value)
        if isinstance(value, dict)
        else Malformed(number, f"expected an object, found {_kind(value)}")
    )


def _json(path: Path) -> Iterator[Row | Malformed]:
    """A JSON list of objects (numbered from 1), or a file that is really JSONL."""
    try:
        value = json.loads(_text(path), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        yield from _jsonl(path)
        return
    for number, item in enumerate(value if isinstance(value, list) else [value], start=1):
        yield (
            Row(number, item)
            if isinstance(item, dict)
            else Malformed(number, f"expected an object, found {_kind(item)}")
        )


def _csv(path: Path) -> Iterator[Row | Malformed]:
    text = _text(path)
    header = text.split("\n", 1)[0]
    delimiter = "\t" if "\t" in header else ";" if ";" in header and "," not in header else ","
    csv.field_size_limit(max(csv.field_size_limit(), 10_000_000))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns: list[str] = []
    start = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Malformed(start, f"not CSV ({error})")
            return
        if not columns:
            columns = [cell.strip() for cell in cells]
        elif cells:
            yield _csv_row(start, columns, cells)
        start = reader.line_num + 1


def _csv_row(line: int, columns: Sequence[str], cells: Sequence[str]) -> Row | Malformed:
    if len(cells) != len(columns):
        return Malformed(line, f"{len(cells)} cells under {len(columns)} columns")
    return Row(line, dict(zip(columns, cells, strict=True)))


def _parquet(path: Path) -> Iterator[Row | Malformed]:
    try:
        from pyarrow import lib, parquet
    except ImportError as error:
        raise MissingExtra(f"reading {path.name!r}", "data") from error
    try:
        table = parquet.read_table(path)  # type: ignore[no-untyped-call]
    except (lib.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a Parquet file: {str(error).splitlines()[0]}") from error
    return _numbered(table.to_pylist())


def _numbered(records: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    for number, record in enumerate(records, start=1):
        yield Row(number, {str(key): _plain(value) for key, value in record.items()})


def _plain(value: Any) -> Any:
    """A value as JSON could hold it; what JSON has no word for becomes text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _looks_like_hub_id(source: str) -> bool:
    return HUB_ID.fullmatch(source) is not None and Path(source).suffix.lower() not in _READERS


def _unknown_format(path: Path) -> Iterator[Row | Malformed]:
    raise DataError(f"{path}: unknown format {path.suffix!r}: expected {', '.join(_READERS)}")


def _missing(source: str, data_dir: str) -> str:
    if Path(source).expanduser().is_dir():
        return f"{source!r} is a folder: name a file"
    folder = Path(source).expanduser().parent
    names = [item.name for item in folder.iterdir() if item.is_file()] if folder.is_dir() else []
    near = get_close_matches(Path(source).name, names, n=1)
    where = f", nor below {data_dir!r}" if data_dir else ""
    return f"data file {source!r} does not exist{where}" + (f"; did you mean {near[0]!r}?" if near else "")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _kind(value: Any) -> str:
    kinds = {list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number", type(None): "null"}
    return kinds.get(type(value), type(value).__name__)


_READERS = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _json,
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
}
