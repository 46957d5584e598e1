"""Reading an operation from whatever a model, a file or a person wrote (SPEC 2.4, FAULTS M9 and M10)."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from gym.core.operation import Add, Delete, Evidence, Keep, Merge, Modify, Operation, Rejected
from gym.core.text import normalise_text, whole_characters

OPTIONS = {name: name for name in ("add", "modify", "delete", "merge", "keep")} | {"update": "modify", "none": "keep"}
TEXT_KEYS = ("experience", "new_experience", "new_text", "text")
ID_KEYS = ("id", "modified_from", "old_id", "delete_id", "exp_id", "experience_id")
IDS_KEYS = ("ids", "merged_from", "exp_ids", "experience_ids")

_ID = re.compile(r"(?<![^\W_])([GC])([0-9]{1,15})(?![^\W_])", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,15}")


def parse_operation(raw: object, evidence: Evidence | None = None) -> Operation | Rejected:
    """The operation that `raw` means, under any alias and letter case, carrying `evidence`; or why it means none.

    Never raises. Without `evidence`, an `Evidence` value under that key counts; a model's own numbers never do. Ids
    come back as `G0` (or `C0` for a candidate); what looks like no id comes back as it is.

    >>> parse_operation({"option": "DELETE", "id": "[G2].", "experience": None}).id
    'G2'
    """
    if isinstance(raw, Add | Modify | Delete | Merge | Keep):
        return raw if evidence is None else raw.model_copy(update={"evidence": evidence})
    if not isinstance(raw, Mapping):
        return Rejected(operation=_as_proposed(raw), reason="an operation is an object with the key 'option'")
    fields = {str(key).strip().lower(): value for key, value in raw.items()}
    carried = fields.get("evidence")
    read = _read(fields, evidence or (carried if isinstance(carried, Evidence) else Evidence()))
    return Rejected(operation=_as_proposed(raw), reason=read) if isinstance(read, str) else read


def parse_ids(value: object) -> tuple[str, ...]:
    """The distinct ids in a string (`"G0, [g1]."`), a number or a list of them, in order."""
    return tuple(dict.fromkeys(_ids(value)))


def _read(fields: Mapping[str, object], evidence: Evidence) -> Operation | str:
    """The operation, or the reason there is none."""
    option = fields.get("option")
    known = OPTIONS.get(option.strip().lower()) if isinstance(option, str) else None
    text = _text(fields)
    ids = _first(fields, (*ID_KEYS, *IDS_KEYS) if known != "merge" else (*IDS_KEYS, *ID_KEYS))
    match known:
        case None:
            return f"unknown option {normalise_text(str(option))[:40]!r}: use add, modify, delete, merge or keep"
        case "keep":
            return Keep(id=ids[0] if len(ids) == 1 else None, evidence=evidence)
        case "delete":
            return Delete(id=ids[0], evidence=evidence) if len(ids) == 1 else _one_id("delete", ids)
        case _ if not text:
            return f"{known} without a text"
        case "add":
            return Add(experience=text, evidence=evidence)
        case "modify":
            if len(ids) > 1:
                return _one_id("modify", ids)
            return Modify(id=ids[0] if ids else "", experience=text, evidence=evidence)
        case _:
            if len(ids) < 2:
                return f"merge needs at least two ids, found {', '.join(ids) or 'none'}"
            return Merge(ids=ids, experience=text, evidence=evidence)


def _one_id(option: str, ids: tuple[str, ...]) -> str:
    return f"{option} needs one id, found {', '.join(ids) or 'none'}"


def _text(fields: Mapping[str, object]) -> str:
    texts = (normalise_text(value) for key in TEXT_KEYS if isinstance(value := fields.get(key), str))
    return next(filter(None, texts), "")


def _first(fields: Mapping[str, object], keys: Iterable[str]) -> tuple[str, ...]:
    """The ids under the first of `keys` that holds any."""
    return next(filter(None, (parse_ids(fields.get(key)) for key in keys)), ())


def _ids(value: object) -> Iterable[str]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        if 0 <= value < 10**15:
            yield f"G{value}"
    elif isinstance(value, str):
        yield from _ids_in_text(value)
    elif isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, str | int):
                yield from _ids(item)


def _ids_in_text(text: str) -> Iterable[str]:
    if found := _ID.findall(text):
        yield from (f"{letter.upper()}{int(number)}" for letter, number in found)
        return
    for part in re.split(r"[,;]", normalise_text(text)):
        bare = part.strip(" []().#\"'")
        if bare:
            yield f"G{int(bare)}" if _NUMBER.fullmatch(bare) else bare[:40]


def _as_proposed(raw: object) -> dict[str, object] | str:
    """`raw` as JSON that any file can hold."""
    try:
        text = whole_characters(json.dumps(raw, ensure_ascii=False, default=str))
        value: Any = json.loads(text, parse_constant=str)
    except (ValueError, TypeError, RecursionError):
        return f"(a {type(raw).__name__} that JSON cannot hold)"
    return value if isinstance(value, dict) else text
