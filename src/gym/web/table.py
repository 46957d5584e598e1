"""The rows of a table as they come. A cell that spans rows is said again in each, so that no row loses what it is about."""

from collections.abc import Iterator
from itertools import count

from gym.web.layout import Cell

WIDEST, TALLEST = 40, 200
"""Columns and rows that one cell may span."""
LONGEST_AGAIN = 200
"""Characters of a cell that is said again."""
MOST_AGAIN = 1_000_000
"""Characters said again in all tables of a page."""


class Again:
    """What the tables of one page say again, as long as there is room for it."""

    def __init__(self) -> None:
        self._room = MOST_AGAIN

    def cell(self, text: str) -> Cell:
        """A cell that says the text, or nothing."""
        self._room -= len(text)
        return Cell(lines=[text] if self._room >= 0 else [])


class Table:
    """Cells of the open row, and what reaches into it from the rows above."""

    def __init__(self, again: Again) -> None:
        self._cells: list[Cell] = []
        self._above: dict[int, tuple[str, int]] = {}
        self._again = again

    def add(self, cell: Cell) -> None:
        """One more cell of the open row."""
        self._cells.append(cell)

    def end_row(self) -> list[Cell]:
        """The open row, column by column; the next one is open then."""
        cells, self._cells = self._cells, []
        return list(self._columns(cells)) if cells else []

    def _columns(self, cells: list[Cell]) -> Iterator[Cell]:
        left = iter(cells)
        columns = count()
        for column in columns:
            if column in self._above:
                yield self._from_above(column)
                continue
            if (cell := next(left, None)) is None:
                if not any(other > column for other in self._above):
                    return
                yield Cell()
                continue
            yield cell
            self._reach_down(column, cell)
            for _ in range(1, min(cell.columns, WIDEST)):
                next(columns)
                yield Cell()

    def _reach_down(self, column: int, cell: Cell) -> None:
        if cell.rows > 1 and column < WIDEST:
            text = cell.text if len(cell.text) <= LONGEST_AGAIN else ""
            self._above[column] = (text, min(cell.rows, TALLEST) - 1)

    def _from_above(self, column: int) -> Cell:
        text, left = self._above.pop(column)
        if left > 1:
            self._above[column] = (text, left - 1)
        return self._again.cell(text)
