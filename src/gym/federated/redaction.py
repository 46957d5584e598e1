"""What may leave a node: of domains that were opted in, redacted, and only what its owner saw in a preview (SPEC 6.5).

Patterns find what has a form: addresses, numbers, keys, paths, and the names the owner lists. They do not find a
customer who is described in plain words; that is what the preview is for.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple
from unicodedata import normalize

from pydantic import Field

from gym.core.experience import Experience, Library
from gym.core.text import normalise_text
from gym.core.value import Value, digest
from gym.errors import ConfigError
from gym.federated.messages import DOMAIN_CHARACTERS, MAX_TEXT_BYTES, text_digest

_PATTERNS = {
    "key": r"\b(?:sk|pk|ghp|gho|xox[abp]|AKIA|AIza)[-_A-Za-z0-9]{12,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+|\b[0-9a-fA-F]{32,}\b",
    "address": r"\b(?:https?|ftp|file|s3)://\S+|\bwww\.\S+",
    "e-mail": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "host": r"\b(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{1,4}\b",
    "account": r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b",
    "path": r"(?<![\w/])(?:/(?:home|Users|root|srv|mnt|data|var|tmp|opt)/[\w.~/-]+|[A-Za-z]:\\\S+|~/[\w./-]+)",
    "number": r"(?<![\w.,])\+?\d(?:[ ()/-]{0,3}\d){6,}(?![\w.,]?\d)",
}
_COMPILED = {kind: re.compile(pattern) for kind, pattern in _PATTERNS.items()}


class Consent(Value):
    """What a node's owner allows. By default nothing leaves."""

    domains: frozenset[str] = frozenset()
    """Opted in; experiences without a domain are under the empty name."""
    names: tuple[str, ...] = ()
    """Words to take out wherever they stand: people, customers, projects."""
    min_confidence: float = Field(default=0.7, ge=0.0, le=1.0)
    label: str | None = None
    """The domain that texts leave under; None: the library's own, which is often the name of a data format."""


class Redacted(NamedTuple):
    """A text without what was found in it."""

    text: str
    found: tuple[str, ...]
    """Kinds, each once."""


class Row(Value):
    """One experience in the preview."""

    id: str
    domain: str
    text: str
    sent: str | None
    """As it would leave; None when it stays, and `reason` says why."""
    found: tuple[str, ...] = ()
    reason: str = ""


class Preview(Value):
    """What would leave, for the owner to see."""

    rows: tuple[Row, ...]

    @cached_property
    def digest(self) -> str:
        """Stands for everything that the owner saw."""
        return digest([[row.id, row.domain, row.sent] for row in self.rows if row.sent is not None])

    @property
    def sent(self) -> tuple[Row, ...]:
        """Those that would leave."""
        return tuple(row for row in self.rows if row.sent is not None)


def redacted(text: str, names: Iterable[str] = ()) -> Redacted:
    """The text with each find replaced by its kind.

    >>> redacted("When mail to jo@example.org bounces, call +49 30 1234567.")
    Redacted(text='When mail to <e-mail> bounces, call <number>.', found=('e-mail', 'number'))
    """
    found = list[str]()
    for kind, pattern in _COMPILED.items():
        text, times = pattern.subn(f"<{kind}>", text)
        found += [kind] if times else []
    for name in sorted({normalize("NFC", name.strip()) for name in names} - {""}, key=lambda name: (-len(name), name)):
        text, times = re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", "<name>", text, flags=re.IGNORECASE)
        found += ["name"] if times and "name" not in found else []
    return Redacted(text, tuple(found))


def preview(library: Library, consent: Consent) -> Preview:
    """Every experience, as it would leave or why it stays, in id order; what redaction makes alike leaves once."""
    rows, first = list[Row](), dict[str, str]()
    for entry in library:
        row = _row(entry, consent)
        if row.sent is not None and (known := first.setdefault(text_digest(row.sent), row.id)) != row.id:
            row = row.model_copy(update={"sent": None, "reason": f"it says what {known} says"})
        rows.append(row)
    return Preview(rows=tuple(rows))


def approved(seen: Preview, now: Preview) -> tuple[Row, ...]:
    """What may leave now; raises `ConfigError` when it is not what the owner saw."""
    if seen.digest == now.digest:
        return now.sent
    fresh = sorted({row.id for row in now.sent} - {row.id for row in seen.sent if row in now.sent})
    raise ConfigError(
        f"what would leave changed since its owner saw it ({', '.join(fresh) or 'less leaves'}): preview it again"
    )


def _row(entry: Experience, consent: Consent) -> Row:
    short = redacted(normalise_text(entry.text), consent.names)
    sent, reason = normalise_text(short.text), _stays(entry, consent)
    if not reason and len(sent.encode()) > MAX_TEXT_BYTES:
        reason = f"{len(sent.encode()):,} bytes of text, at most {MAX_TEXT_BYTES:,} are taken"
    told = {"id": entry.id, "domain": _domain(entry, consent), "text": entry.text}
    return Row(**told, sent=None, reason=reason) if reason else Row(**told, sent=sent, found=short.found)


def _domain(entry: Experience, consent: Consent) -> str:
    return entry.domain if consent.label is None else consent.label


def _stays(entry: Experience, consent: Consent) -> str:
    """Why its owner does not let it go."""
    if entry.domain not in consent.domains:
        return f"the domain {entry.domain or '(none)'} is not opted in"
    if (length := len(_domain(entry, consent))) > DOMAIN_CHARACTERS:
        return f"a domain of {length} characters, at most {DOMAIN_CHARACTERS} are taken"
    if entry.confidence < consent.min_confidence:
        return f"confidence {entry.confidence:.2f}, below {consent.min_confidence:g}"
    return ""
