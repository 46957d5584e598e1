"""The report's charts as inline SVG, drawn by matplotlib without a display.

Every colour is a CSS variable of the page and every label is text, so a chart follows light and dark mode and can be read
out. No chart refers to anything outside itself. Matplotlib is loaded by the first drawing: commands that read no chart
stay quick.
"""

import re
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from gym.evaluation.metrics import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, ACCENT, QUIET = "#010101", "#020202", "#030303"
"""Stand-ins while drawing; `_inline` turns them into the page's variables."""

_VARIABLES = {INK: "var(--ink)", ACCENT: "var(--accent)", QUIET: "var(--quiet)"}
_NAME = 26
"""Characters of a bar's name; the table beside the chart has it whole."""

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 11,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class Bar(NamedTuple):
    """A named value, with its interval where there is one."""

    name: str
    value: float
    interval: Interval | None = None
    strong: bool = False
    """Drawn in the accent colour."""


def accuracy(bars: Sequence[Bar], name: str) -> str:
    """Mean rewards in [0, 1] as horizontal bars with their 95 % intervals, first bar on top."""
    with _style(name):
        figure, axes = _axes(height=0.6 + 0.5 * len(bars))
        _bars(axes, bars, [f"{bar.value:.2f}" for bar in bars])
        for place, bar in enumerate(bars):
            if bar.interval:
                axes.plot(bar.interval, (place, place), color=INK, linewidth=1.5, marker="|", markersize=8)
        axes.set_xlim(0, 1.12)
        axes.set_xticks((0, 0.25, 0.5, 0.75, 1.0))
        return _inline(figure)


def amounts(bars: Sequence[Bar], name: str, form: str = "{:,.0f}") -> str:
    """Amounts as horizontal bars, each written as `form` says, first bar on top."""
    with _style(name):
        figure, axes = _axes(height=0.6 + 0.5 * len(bars))
        _bars(axes, bars, [form.format(bar.value).replace("$", r"\$") for bar in bars])
        axes.set_xlim(0, max((bar.value for bar in bars), default=1) * 1.35 or 1)
        axes.xaxis.set_visible(False)
        axes.spines["bottom"].set_visible(False)
        return _inline(figure)


def growth(sizes: Sequence[int], name: str) -> str:
    """Entries of the library before the first step and after each one."""
    with _style(name):
        figure, axes = _axes(height=2.2)
        axes.step(range(len(sizes)), sizes, where="post", color=ACCENT, linewidth=2)
        axes.plot(range(len(sizes)), sizes, linestyle="", marker="o", color=ACCENT, markersize=5)
        axes.set_ylim(0, max([*sizes, 1]) * 1.2)
        axes.set_xlabel("steps done")
        axes.locator_params(integer=True, nbins=6)
        return _inline(figure)


def course(means: Sequence[tuple[int, float]], name: str) -> str:
    """(step, mean reward in [0, 1]) as points on a line."""
    with _style(name):
        figure, axes = _axes(height=2.2)
        axes.plot(*zip(*means, strict=True), color=ACCENT, linewidth=2, marker="o", markersize=5)
        axes.set_ylim(0, 1.05)
        axes.set_xlabel("step")
        axes.locator_params(axis="x", integer=True, nbins=6)
        return _inline(figure)


def _style(name: str) -> AbstractContextManager[None]:
    """Our settings for one drawing; the chart's name keeps its ids unlike those of the others on the page."""
    from matplotlib import rc_context

    settings: Any = {**_STYLE, "svg.hashsalt": name}
    return rc_context(settings)


def _axes(height: float) -> "tuple[Figure, Axes]":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, height), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    return figure, axes


def _bars(axes: "Axes", bars: Sequence[Bar], labels: Sequence[str]) -> None:
    places = range(len(bars))
    axes.barh(places, [bar.value for bar in bars], height=0.55, color=[ACCENT if bar.strong else QUIET for bar in bars])
    for place, bar, label in zip(places, bars, labels, strict=True):
        end = max(bar.value, min(bar.interval.high, 1.0)) if bar.interval else bar.value
        axes.annotate(label, (end, place), xytext=(6, 0), textcoords="offset points", va="center")
    axes.set_yticks(places, [_short(bar.name).replace("$", r"\$") for bar in bars])
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
    axes.invert_yaxis()


def _short(name: str) -> str:
    """At most `_NAME` characters, all printable: the end says before or after, so the middle is cut."""
    name = "".join(character if character.isprintable() else "\ufffd" for character in name)
    return name if len(name) <= _NAME else f"{name[: _NAME - 9]}…{name[-8:]}"


def _inline(figure: "Figure") -> str:
    """The drawing as an `<svg>` element: no prolog, metadata, name spaces or ids that several charts would share."""
    text = StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Glyph .* missing from font"
        )  # labels stay text: the reader's fonts draw them
        figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()[text.getvalue().index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r' id="[\w.]+_\d+"', "", svg)
    svg = re.sub(r"<svg ", '<svg role="img" ', svg, count=1)
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    return svg.replace("xlink:href", "href").strip()
