"""A synced library on the disk: `experiences.json`, its journal, and beside them `provenance.json`: where each comes from.

The library and its journal are those that every command reads. Each sync that changes something is one event of the journal.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from pydantic import Field, ValidationError

from gym.core import journal
from gym.core.experience import Library
from gym.core.value import Value
from gym.dao.accepted import FROM, Accepted, Source
from gym.dao.deployment import Deployment
from gym.dao.history import Past
from gym.dao.reading import Header
from gym.errors import ConfigError, LibraryError
from gym.files import beside, write_atomic

JOURNAL, ACTOR = "journal.jsonl", "vote"


class Provenance(Value):
    """What a synced library is: of which registry and block, and where each experience comes from."""

    chain_id: int
    governor: str
    registry: str
    block: int
    block_hash: str
    version: int
    """The registry's changes up to then."""
    root: str
    """The Merkle root over everything active, in hex."""
    history_hash: str
    library_digest: str
    entries: tuple[Source, ...]
    """In the library."""
    missing: tuple[Source, ...] = ()
    """Active, and no store had the content."""
    refused: tuple[Source, ...] = ()
    """Active, and this node's gate keeps it out."""
    reasons: Mapping[str, str] = Field(default_factory=dict)
    """By id, why something is missing or refused."""

    @classmethod
    def of(cls, deployment: Deployment, at: Header, past: Past, accepted: Accepted) -> "Provenance":
        """Of what a sync found."""
        reasons = {one.cid: one.reason for one in accepted.missing}
        missing = tuple(source for source in accepted.sources if source.cid in reasons)
        told = {source.id: reasons[source.cid] for source in missing}
        return cls(
            chain_id=deployment.chain_id,
            governor=deployment.governor,
            registry=deployment.registry,
            block=at.number,
            block_hash=at.hash,
            version=past.version,
            root=past.root.hex(),
            history_hash=past.history_hash.hex(),
            library_digest=accepted.library.digest,
            entries=tuple(source for source in accepted.sources if source.id in accepted.library),
            missing=missing,
            refused=tuple(one.source for one in accepted.refused),
            reasons=told | {one.source.id: one.reason for one in accepted.refused},
        )


def provenance_path(library: Path) -> Path:
    """Where it is told beside a library."""
    return beside(library, "provenance.json")


def read_provenance(library: Path) -> Provenance:
    """Of the library at this path; raises `ConfigError` where it has none."""
    file = provenance_path(library)
    try:
        return Provenance.model_validate_json(file.read_bytes())
    except OSError as error:
        raise ConfigError(
            f"{str(library)!r} was not synced: there is no {file.name} beside it (gym dao sync)"
        ) from error
    except ValidationError as error:
        raise ConfigError(f"{str(file)!r} is damaged: sync again") from error


def left(library: Path, now: Provenance) -> frozenset[str]:
    """Addresses of what was active when the library at this path was last synced, and is no more."""
    if not provenance_path(library).exists():
        return frozenset()
    return _active(read_provenance(library)) - _active(now)


def read_synced(library: Path) -> Library:
    """The library at this path; raises `LibraryError`."""
    try:
        return Library.from_json(library.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise LibraryError(f"there is no readable library {str(library)!r}: {error}") from error


def require_synced(library: Path, deployment: Deployment) -> None:
    """Raise `ConfigError` where a library of one's own, or of another registry, would be overwritten."""
    if not library.exists() and not beside(library, JOURNAL).exists():
        return
    if not provenance_path(library).exists():
        raise ConfigError(
            f"{str(library)!r} is a library of your own: give --library another file for what is voted on"
        )
    if (found := read_provenance(library)).registry != deployment.registry:
        raise ConfigError(f"{str(library)!r} is the library of registry {found.registry}: give --library another file")


def set_aside(library: Path, new: Library) -> Path | None:
    """Keep a copy of a synced library that somebody has edited since, which `new` would overwrite; where it is.

    A sync that was killed leaves what some sync wrote, which is nobody's edit.
    """
    if not library.exists():
        return None
    data = library.read_bytes()
    try:
        digest = Library.from_json(data.decode()).digest
    except (UnicodeDecodeError, LibraryError):
        digest = ""
    if digest in (
        new.digest,
        read_provenance(library).library_digest,
        *_last_synced(_events(beside(library, JOURNAL))),
    ):
        return None
    copy = next(file for n in count(1) if not (file := library.with_name(f"{library.stem}.edited-{n}.json")).exists())
    write_atomic(copy, data)
    return copy


def _last_synced(events: Sequence[journal.Event]) -> Iterator[str]:
    """Digests of what the last two syncs wrote, by the journal."""
    for event in [event for event in events if event.actor == ACTOR][-2:]:
        yield journal.replay(events, event.seq).digest


def write_synced(library: Path, accepted: Accepted, provenance: Provenance, at: Header) -> tuple[str, ...]:
    """Write all three; the ids of what somebody had added to the library by hand, which leaves.

    The provenance comes first: where a kill leaves it alone, the next sync knows that the rest is its own.
    """
    file = beside(library, JOURNAL)
    events = _events(file)
    before = journal.replay(events)
    time = datetime.fromtimestamp(at.time, UTC).isoformat(timespec="seconds")
    told = f"change {provenance.version} of registry {provenance.registry} at block {at.number}"
    new = journal.record_import(events, accepted.library, actor=ACTOR, at=time, reason=told)
    write_atomic(provenance_path(library), provenance.model_dump_json(indent=2) + "\n")
    write_atomic(file, "".join(event.to_line() for event in (*events, *new)))
    write_atomic(library, accepted.library.to_json())
    return tuple(entry.id for entry in before if not any(name.startswith(FROM) for name in entry.origin))


def _active(told: Provenance) -> frozenset[str]:
    return frozenset(source.cid for source in (*told.entries, *told.missing, *told.refused))


def _events(file: Path) -> Sequence[journal.Event]:
    try:
        return journal.from_text(file.read_text(encoding="utf-8")).events
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise LibraryError(f"journal {str(file)!r} cannot be read: {error}") from error
