"""How a report writes figures: always with their interval; what is not known is said to be unknown, never 0."""

from collections.abc import Mapping

from gym.core.problem import ToolUse
from gym.core.text import count as count
from gym.core.text import shown
from gym.evaluation.metrics import Interval, Paired

UNKNOWN = "unknown"
NONE = "–"
"""In the place of what there is none of."""


def number(value: float | None) -> str:
    """A mean to three decimals.

    >>> number(0.5), number(None)
    ('0.500', 'unknown')
    """
    return UNKNOWN if value is None else f"{value:.3f}"


def interval(value: float | None, around: Interval | None) -> str:
    """A mean with its interval.

    >>> interval(0.5, Interval(0.4, 0.6))
    '0.500 [0.400, 0.600]'
    """
    return number(value) + (f" [{around.low:.3f}, {around.high:.3f}]" if around else "")


def difference(gain: Paired) -> str:
    """A difference with its sign and interval; what rounds to nothing has no minus sign."""
    if gain.difference is None:
        return UNKNOWN
    reach = f" [{gain.interval.low:+z.3f}, {gain.interval.high:+z.3f}]" if gain.interval else ""
    return f"{gain.difference:+z.3f}{reach}"


def dollars(usd: float | None) -> str:
    """Dollars; what costs nothing is free, what has no price is unknown (SPEC 5.1).

    >>> dollars(None), dollars(0.0), dollars(0.01234), dollars(12.5)
    ('unknown', 'free', '$0.0123', '$12.50')
    """
    if usd is None:
        return UNKNOWN
    return "free" if usd == 0 else f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}"


def duration(seconds: float) -> str:
    """Seconds as people read them.

    >>> duration(8.24), duration(125), duration(7380)
    ('8.2 s', '2 min 5 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def size(octets: float) -> str:
    """Bytes as people read them, in powers of ten.

    >>> size(52), size(98_362_432), size(14e9)
    ('52 B', '98.4 MB', '14.0 GB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if octets >= factor:
            return f"{octets / factor:.1f} {unit}"
    return f"{octets:.0f} B"


def errors(used: ToolUse) -> str:
    """Errors of a tool, and what they were where it has a word for them.

    >>> errors(ToolUse(calls=9, errors=3, labels={"exception": 2, "wall": 1})), errors(ToolUse(calls=1))
    ('3 (2 exception, 1 wall)', '0')
    """
    kinds = ", ".join(f"{times:,} {label}" for label, times in used.labels.items())
    return f"{used.errors:,}" + (f" ({kinds})" if kinds else "")


def tools(used: Mapping[str, ToolUse]) -> str:
    """Tool use in one line; a name may be a model's invention, so it is quoted unless it is plain.

    >>> tools({"python": ToolUse(calls=12, errors=1, labels={"wall": 1}), "search": ToolUse(calls=1)})
    'python 12 calls, errors 1 (1 wall); search 1 call, errors 0'
    """
    return "; ".join(
        f"{name if name.isprintable() else shown(name)} {count(one.calls, 'call')}, errors {errors(one)}"
        + (f", {count(one.visits, 'page')} fetched" if one.visits else "")
        for name, one in used.items()
    )
