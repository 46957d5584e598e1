"""The live display of a run: a bar with rate, cost and time left; plain lines where there is no terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from gym.cli.common import console
from gym.llm.meter import Meter

LINE_EVERY_S = 10.0
DRAW_EVERY_S = 0.1


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error that is told how many of how many are done, and goes in the end; none without a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


@contextmanager
def steps() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on standard error that is told a step, how many are done and of how many; none without a terminal."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda step, done, of: bar.update(task, description=step, completed=done, total=of)


class Display:
    """A `Watch` (gym.train.grpo.watch) on standard error; use as a context manager."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.live = console.is_terminal and not quiet
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:<12}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[cost]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not self.live,
        )
        self._task: TaskID | None = None
        self._name, self._total, self._done = "", 0, 0
        self._began = self._spoke = time.monotonic()
        self._meter: Meter | None = None

    def __enter__(self) -> "Display":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_phase()
        self._bar.stop()

    def phase(self, name: str, total: int, meter: Meter) -> None:
        """Start a bar of `total` units."""
        self._close_phase()
        self._name, self._total, self._done, self._meter = name, total, 0, meter
        self._began = self._spoke = time.monotonic()
        self._task = self._bar.add_task(name, total=total, rate="", cost="")

    def expect(self, count: int) -> None:
        """Make the bar longer."""
        self._total += count
        if self._task is not None:
            self._bar.update(self._task, total=self._total)

    def advance(self, count: int = 1) -> None:
        """Move the bar; without a terminal, a line every ten seconds."""
        self._done += count
        now = time.monotonic()
        if self.live and self._task is not None and now - self._spoke >= DRAW_EVERY_S:
            self._spoke = now
            self._bar.update(self._task, completed=self._done, rate=self._rate(), cost=self._cost())
        if not self.live and not self.quiet and now - self._spoke >= LINE_EVERY_S:
            self._spoke = now
            console.print(f"  {self._name}: {self._done}/{self._total}  {self._rate()}  {self._cost()}  {self._left()}")

    def say(self, text: str) -> None:
        """One line above the bar."""
        if not self.quiet:
            console.print(text, markup=False)

    def _close_phase(self) -> None:
        if self._task is None:
            return
        self._bar.update(self._task, completed=self._done, visible=False)
        self._task = None
        if self._done:
            self.say(
                f"  {self._name}: {self._done}/{self._total} in {time.monotonic() - self._began:.0f} s, {self._cost()} so far"
            )

    def _rate(self) -> str:
        return f"{self._done / max(time.monotonic() - self._began, 1e-9):.1f}/s"

    def _left(self) -> str:
        rate = self._done / max(time.monotonic() - self._began, 1e-9)
        return f"about {(self._total - self._done) / rate:.0f} s left" if rate and self._total > self._done else ""

    def _cost(self) -> str:
        if self._meter is None:
            return ""
        usd, tokens = self._meter.usd, self._meter.usage.total
        dollars = "cost unknown" if usd is None else "free" if usd == 0 else f"${usd:.4f}"
        return f"{tokens:,} tokens, {dollars}"
