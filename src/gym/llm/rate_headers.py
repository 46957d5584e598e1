"""What a server says of its rate limits in the headers of an answer, in requests and in tokens.

`x-ratelimit-{limit,remaining,reset}-{requests,tokens}` as OpenAI and its likes send them, and Anthropic's
`anthropic-ratelimit-{requests,tokens}-{limit,remaining,reset}`. What cannot be read is as if it were not there.
"""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Literal, NamedTuple

Kind = Literal["requests", "tokens"]
KINDS: tuple[Kind, ...] = ("requests", "tokens")
FORMS = ("x-ratelimit-{field}-{kind}", "anthropic-ratelimit-{kind}-{field}")

DEFAULT_RESET_S = 60.0
"""Limits are per minute where a server does not say."""
LONGEST_RESET_S = 86_400.0
EPOCH_S = 1e8
"""Plain numbers from here on are a time since 1970; from a thousand times that on, in milliseconds."""

_NAMES = [
    (kind, [form.format(field=field, kind=kind) for field in ("limit", "remaining", "reset")])
    for kind in KINDS
    for form in FORMS
]
_DURATION = re.compile(r"(?=.)(?:([\d.]+)d)?(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s)?(?:([\d.]+)ms)?")
_UNITS_S = (86_400.0, 3600.0, 60.0, 1.0, 0.001)


class Allowance(NamedTuple):
    """One limit of a server, as it stood when it answered."""

    kind: Kind
    limit: float
    remaining: float
    reset_s: float
    """Seconds until it is full again."""


def allowances(headers: Mapping[str, str], now_s: float) -> Iterator[Allowance]:
    """Every limit that `headers` tell whole; `now_s` is the time since 1970, for servers that send one."""
    for kind, (limit_name, remaining_name, reset_name) in _NAMES:
        if (text := headers.get(limit_name)) is None:
            continue
        limit, remaining = number(text), number(headers.get(remaining_name, ""))
        if limit is None or remaining is None or limit < 1:
            continue
        reset = seconds(headers.get(reset_name, ""), now_s)
        yield Allowance(kind, limit, min(remaining, limit), DEFAULT_RESET_S if reset is None else reset)


def seconds(text: str, now_s: float) -> float | None:
    """Seconds from now, of a duration, a number, an epoch or an ISO time; None when it is none of these.

    >>> [seconds(text, 1e9) for text in ("6m0s", "20ms", "1h2m3s", "1.5", "1000000007", "soon")]
    [360.0, 0.02, 3723.0, 1.5, 7.0, None]
    """
    text = text.strip()
    if (plain := number(text)) is not None:
        found = plain if plain < EPOCH_S else plain / (1 if plain < 1000 * EPOCH_S else 1000) - now_s
    elif match := _DURATION.fullmatch(text):
        parts = (number(part or "0") for part in match.groups())
        found = sum(math.nan if part is None else part * unit for part, unit in zip(parts, _UNITS_S, strict=True))
    else:
        found = _iso(text, now_s)
    return None if math.isnan(found) else min(max(found, 0.0), LONGEST_RESET_S)


def _iso(text: str, now_s: float) -> float:
    try:
        then = datetime.fromisoformat(text)
    except ValueError:
        return math.nan
    return (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp() - now_s


def number(text: str) -> float | None:
    """A header's number, finite and not negative; None when it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
