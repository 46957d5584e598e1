"""Rows of figures: printed while a bench runs, kept below output/bench, and written into bench/README.md by a program.

python -m bench.report --write        put the rows of all benches that ran here between the markers of bench/README.md, where
                                      the tables of the others stay as they are
"""

import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NoReturn

from gym.errors import GymError

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "output" / "bench"
README = ROOT / "bench" / "README.md"
BEGIN, END = "<!-- figures: written by `python -m bench.report --write` -->", "<!-- end of figures -->"
HEADINGS = ("what", "measured", "reference, same run", "target", "")
WIDTHS = (46, 30, 42, 12, 3)


@dataclass(frozen=True)
class Row:
    """One claim."""

    what: str
    measured: str
    reference: str = ""
    """What it is compared with, measured in the same run."""
    target: str = ""
    ok: bool | None = None
    """None: for information."""

    @property
    def verdict(self) -> str:
        """ok, NOT, or nothing."""
        return "" if self.ok is None else "ok" if self.ok else "NOT"

    @property
    def cells(self) -> tuple[str, ...]:
        """As they are printed."""
        return (self.what, self.measured, self.reference, self.target, self.verdict)


class Table:
    """The rows of one bench, each printed as soon as it is known."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title, self.rows = name, title, list[Row]()
        print(f"\n{title}\n{_line(HEADINGS)}", flush=True)

    def add(self, what: str, measured: str, reference: str = "", target: str = "", ok: bool | None = None) -> None:
        """Print and keep a row."""
        self.rows.append(Row(what, measured, reference, target, ok))
        print(_line(self.rows[-1].cells), flush=True)

    def close(self) -> int:
        """Keep the rows for the report; the exit code: 1 when a target was missed."""
        kept = {"title": self.title, "measured": machine(), "rows": [asdict(row) for row in self.rows]}
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{self.name}.json").write_text(json.dumps(kept, indent=2), encoding="utf-8")
        return int(any(row.ok is False for row in self.rows))


def share(part: float) -> str:
    """
    >>> share(0.978)
    '97.8 %'
    """
    return f"{100 * part:.1f} %"


def machine() -> str:
    """Where and when the figures were measured."""
    try:
        loop = f"uvloop {version('uvloop')}"
    except PackageNotFoundError:
        loop = "asyncio"
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores "
        f"({platform.system()} {platform.machine()}), aiohttp {version('aiohttp')}, {loop}"
    )


def written(before: str = "") -> str:
    """Markdown of everything kept, in place of the same headings of `before`: a table for each bench, the text of any other."""
    parts = _sections(before)
    for path in sorted({file.with_suffix("") for file in KEPT.glob("bench_*")}):
        table = path.with_suffix(".json")
        text = markdown(json.loads(table.read_text(encoding="utf-8"))) if table.exists() else _verbatim(path)
        parts |= _sections(text)
    return "\n\n".join(parts.values())


def _sections(page: str) -> dict[str, str]:
    """Heading -> the section under it."""
    found = [f"### {part.strip()}" for part in f"\n{page}".split("\n### ")[1:]]
    return {part.partition("\n")[0]: part for part in found}


def filled(page: str, figures: str, begin: str = BEGIN, end: str = END) -> str:
    """The page with `figures` between its markers, in place of what stood there."""
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{figures}\n\n{end}{rest.split(end, 1)[1]}"


def ended(main: Callable[[], int]) -> NoReturn:
    """Run a bench and end the process: what the user must mend is one line, and Ctrl-C is no fault."""
    try:
        sys.exit(main())
    except GymError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def missed() -> list[str]:
    """Every claim whose target the last run missed, in words."""
    tables = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(KEPT.glob("bench_*.json"))]
    rows = [(table["title"], Row(**row)) for table in tables for row in table["rows"]]
    return [f"{title}: {row.what.strip()}: {row.measured}, not {row.target}" for title, row in rows if row.ok is False]


def markdown(kept: dict[str, object]) -> str:
    """A kept table under its heading."""
    rows = kept["rows"]
    assert isinstance(rows, list)
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(Row(**row).cells for row in rows)]
    when = f"Measured {kept['measured']}.\n\n" if "measured" in kept else ""
    return f"### {kept['title']}\n\n{when}" + "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _verbatim(path: Path) -> str:
    when = (KEPT / "machine.txt").read_text(encoding="utf-8").strip()
    return f"### {path.name}\n\nMeasured {when}.\n\n```\n{path.with_suffix('.txt').read_text(encoding='utf-8').strip()}\n```"


def _line(cells: tuple[str, ...]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def main() -> None:
    """Print the report, or write it into the README."""
    if "--write" not in sys.argv:
        print(written())
        return
    page = README.read_text(encoding="utf-8")
    old = page.partition(BEGIN)[2].partition(END)[0]
    README.write_text(filled(page, written(old)), encoding="utf-8")


if __name__ == "__main__":
    main()
