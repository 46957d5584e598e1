"""`experiences.json`: how a library is written, and the three forms it is read from (SPEC 2.6)."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from gym.core.operation import Experience
from gym.core.text import normalise_text
from gym.errors import LibraryError

ID = re.compile(r"G(?:0|[1-9][0-9]{0,14})")
RECORD_FIELDS = ("confidence", "created_step", "origin", "uses", "helpful", "harmful", "domain", "effect")


class Contents(NamedTuple):
    """What a file holds: entries in id order and the number of the next id."""

    entries: tuple[Experience, ...]
    next_id: int


def dump(entries: Sequence[Experience], next_id: int) -> str:
    """The file's text: equal libraries give equal bytes."""
    value = {
        "experiences": {entry.id: entry.text for entry in entries},
        "next_id": next_id,
        "records": {entry.id: entry.model_dump(mode="json", include=set(RECORD_FIELDS)) for entry in entries},
    }
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def load(text: str) -> Contents:
    """The contents of any of the three forms; raises `LibraryError` that names what is wrong.

    A missing or too small `next_id` becomes the largest id plus one (FAULTS S6). Texts take their one-line form.
    """
    value = _parsed(text)
    if isinstance(value, list):
        value = {f"G{position}": item for position, item in enumerate(value)}
    if not isinstance(value, dict):
        raise LibraryError(f"an experience file holds an object or a list of texts, not {_kind(value)}")
    wrapped = isinstance(value.get("experiences"), dict | list) or not value.keys().isdisjoint({"records", "next_id"})
    if not wrapped:
        value = {"experiences": value}
    if unknown := value.keys() - {"experiences", "next_id", "records"}:
        raise LibraryError(f"unknown key {min(unknown)!r}: known are 'experiences', 'next_id', 'records'")
    texts = value.get("experiences", {})
    if isinstance(texts, list):
        texts = {f"G{position}": item for position, item in enumerate(texts)}
    entries = _entries(_mapping(texts, "experiences"), _mapping(value.get("records", {}), "records"))
    beyond = entries[-1].number + 1 if entries else 0
    return Contents(entries, max(_next_id(value.get("next_id", 0)), beyond))


def _entries(texts: Mapping[str, Any], records: Mapping[str, Any]) -> tuple[Experience, ...]:
    if orphans := sorted(records.keys() - texts.keys()):
        raise LibraryError(f"'records' describes {orphans[0]!r}, which is not among 'experiences'")
    entries = [_entry(id, text, records.get(id, {})) for id, text in texts.items()]
    return tuple(sorted(entries, key=lambda entry: entry.number))


def _entry(id: str, text: Any, record: Any) -> Experience:
    if not ID.fullmatch(id):
        raise LibraryError(f"experience id {id!r} must look like 'G0'")
    if not isinstance(text, str):
        raise LibraryError(f"the experience {id} must be a text, not {_kind(text)}")
    line = normalise_text(text)
    if not line:
        raise LibraryError(f"the experience {id} is empty")
    fields = _mapping(record, f"records of {id}")
    if unknown := sorted(fields.keys() - set(RECORD_FIELDS)):
        raise LibraryError(
            f"the record of {id} has an unknown key {unknown[0]!r}: known are {', '.join(RECORD_FIELDS)}"
        )
    try:
        return Experience(id=id, text=line, **fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise LibraryError(f"the record of {id}: {where!r} is wrong ({first['msg']})") from error


def _parsed(text: str) -> Any:
    try:
        return json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise LibraryError(f"not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from error
    except (RecursionError, ValueError) as error:
        raise LibraryError(f"not readable JSON: {error}") from error


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen:
            raise LibraryError(f"the key {key!r} stands twice")
        seen[key] = value
    return seen


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise LibraryError(f"{name!r} must be an object, not {_kind(value)}")
    return value


def _next_id(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise LibraryError(f"'next_id' must be a whole number from 0, not {value!r}")
    return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
