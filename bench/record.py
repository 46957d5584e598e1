"""Finished results as one file of the repository: a table can be measured on several machines, and looked into by anybody.

A line is a finished JSON file, its place below the folder of results and what is in it; whether it still counts is for its
reader to say, by the digests inside.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.report import ROOT
from gym.core.value import canonical_json
from gym.files import write_atomic

RECORDS = ROOT / "bench" / "records"


def unpack(record: Path, root: Path) -> None:
    """Write the recorded files that are not below `root` yet."""
    for place, content in _read(record).items():
        if not (root / place).exists():
            write_atomic(root / place, canonical_json(content) + "\n")


def pack(record: Path, root: Path, files: Iterable[Path]) -> None:
    """Put `files` from below `root` into the record; what it holds of others stays."""
    found = _read(record)
    for path in files:
        found[path.relative_to(root).as_posix()] = json.loads(path.read_text(encoding="utf-8"))
    lines = (canonical_json({"file": place, "content": found[place]}) for place in sorted(found))
    write_atomic(record, "".join(f"{line}\n" for line in lines))


def _read(record: Path) -> dict[str, Any]:
    """Place -> content; empty when there is no record."""
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    return {line["file"]: line["content"] for line in map(json.loads, lines)}
