"""Text laid out in lines: paragraphs, bullets, and table rows as `a | b | c`.

A row whose cells hold headings, listings, tables or long texts is layout, not a table: its cells follow each other as blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

DEEPEST_INDENT = 8
LONGEST_CELL = 1_500
"""Characters; a longer one makes its row a layout."""


@dataclass
class Cell:
    """What stands in a table's cell, and how far it reaches."""

    columns: int = 1
    rows: int = 1
    lines: list[str] = field(default_factory=list)
    structured: bool = False
    """It has a heading, a listing or a table in it."""

    @property
    def text(self) -> str:
        """Its paragraphs in one line."""
        return " / ".join(line.strip() for line in self.lines if line.strip())


@dataclass
class Layout:
    """A column of text that grows: the page, or a cell."""

    lines: list[str] = field(default_factory=list)
    structured: bool = False
    _said: list[str] = field(default_factory=list)
    _bullet: str = ""
    _sign: str = ""
    _depth: int = 0
    _gap: bool = False

    def say(self, text: str) -> None:
        """More of the current line; runs of blanks count as one."""
        self._said.append(text)

    def said(self) -> str:
        """The last piece of the current line."""
        return self._said[-1] if self._said else ""

    def end_line(self) -> None:
        """Begin a new line, unless this one is empty."""
        line = " ".join("".join(self._said).split())
        self._said.clear()
        if line:
            self._put(f"{self._indent(less=bool(self._bullet))}{self._bullet}{self._sign}{line}")
            self._bullet = self._sign = ""

    def end_block(self) -> None:
        """Begin a new line, with an empty one before it."""
        self.end_line()
        self._gap = bool(self.lines)

    def item(self, bullet: str) -> None:
        """The next line stands behind this bullet, or behind none."""
        self.end_line()
        self._bullet = bullet

    def heading(self, sign: str) -> None:
        """The next line is a heading, or none."""
        self.end_block()
        self._sign, self.structured = sign, True

    def indent(self, by: int) -> None:
        """Room at the left from the next line on."""
        self.end_line()
        self._depth += by

    def verbatim(self, text: str) -> None:
        """A listing: its lines as they are."""
        self.end_block()
        indent = self._indent()
        listed = text.expandtabs(4).strip("\n").splitlines()
        self.structured = self.structured or len(listed) > 1
        for line in listed:
            self._put(f"{indent}{line}".rstrip())
        self.end_block()

    def row(self, cells: Sequence[Cell]) -> None:
        """A table's row, or its cells as blocks."""
        self.end_line()
        filled = [cell for cell in cells if cell.text]
        if len(filled) > 1 and not any(cell.structured or len(cell.text) > LONGEST_CELL for cell in filled):
            self._put(self._indent() + " | ".join(cell.text for cell in cells))
            return
        for cell in filled:
            self.structured = self.structured or cell.structured
            for line in cell.lines:
                self._put(f"{self._indent()}{line}".rstrip())
            self._gap = len(filled) > 1 or len(cell.lines) > 1

    def _indent(self, less: bool = False) -> str:
        """A bullet stands a step to the left of its text."""
        return "  " * min(max(self._depth - less, 0), DEEPEST_INDENT)

    def _put(self, line: str) -> None:
        if self._gap and line:
            self.lines.append("")
            self._gap = False
        self.lines.append(line)
