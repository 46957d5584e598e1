"""Finished results as one file of the repository: a table can be measured on several machines, and looked into by anybody.

A line is a finished JSON file, its place below the folder of results and what is in it; whether it still counts is for its
reader to say, by the digests inside.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.report import ROOT
from gym.errors import DataError
from gym.files import write_atomic

RECORDS = ROOT / "bench" / "records"


def unpack(record: Path, root: Path) -> None:
    """Write the recorded files that are not below `root` yet."""
    for place, content in _read(record).items():
        if not (root / place).exists():
            write_atomic(root / place, json.dumps(content, indent=2) + "\n")


def pack(record: Path, root: Path, files: Iterable[Path]) -> None:
    """Put `files` from below `root` into the record; what it holds of others stays."""
    found = _read(record)
    for path in files:
        found[path.relative_to(root).as_posix()] = json.loads(path.read_text(encoding="utf-8"))
    lines = (json.dumps({"file": place, "content": found[place]}) for place in sorted(found))
    write_atomic(record, "".join(f"{line}\n" for line in lines))


def _read(record: Path) -> dict[str, Any]:
    """Place -> content; empty when there is no record. Raises `DataError` naming a damaged line."""
    found = {}
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            found[entry["file"]] = entry["content"]
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(f"{record}:{number}: no recorded result; restore the file or delete this line") from error
    return found
