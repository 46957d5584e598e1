"""The library that a registry's changes give: the same for every node that has the same contents and the same gate.

An experience keeps its id for ever: G0 is the first that was ever accepted. What has left keeps its number, and one that
comes back, which has the same text, gets it back.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

from gym.core.cid import cid_of_digest
from gym.core.experience import Library
from gym.core.operation import Admit, Experience, Refused
from gym.core.value import Value
from gym.dao.checkpoint import Entry
from gym.dao.content import Content, Missing

D = TypeVar("D")
FROM = "network:"
"""Before an address, in an experience's `origin`."""


class Source(Value):
    """Where an experience of the library comes from."""

    id: str
    cid: str
    proposal: str
    """The number of the proposal by which it was last accepted."""
    version: int
    """The registry's, of that change."""
    block: int
    transaction: str


class Kept(NamedTuple):
    """An accepted experience that this node's own gate keeps out."""

    source: Source
    text: str
    reason: str


class Accepted(NamedTuple):
    """What a registry's changes come to."""

    library: Library
    sources: tuple[Source, ...]
    """Of everything active, in id order: in the library, missing or refused."""
    missing: tuple[Missing, ...]
    """What no store has."""
    refused: tuple[Kept, ...]


def ids_of(added: Iterable[Iterable[D]]) -> Mapping[D, str]:
    """By digest, the id of every experience that was ever accepted, in the order of that; `added`: by each change.

    >>> ids_of([["one", "two"], [], ["one", "three"]])
    {'one': 'G0', 'two': 'G1', 'three': 'G2'}
    """
    return {digest: f"G{number}" for number, digest in enumerate(dict.fromkeys(chain.from_iterable(added)))}


def sources(entries: Sequence[Entry], active: Iterable[bytes]) -> tuple[Source, ...]:
    """Where everything active comes from, in id order."""
    ids = ids_of(entry.added for entry in entries)
    place = {digest: number for number, digest in enumerate(ids)}
    accepted: dict[str, Entry] = {}
    for entry in entries:
        for digest in entry.added:
            if entry.proposal or digest not in accepted:  # a quarantine that ended is no new acceptance
                accepted[digest] = entry
    held = sorted((digest.hex() for digest in active), key=place.__getitem__)
    return tuple(_source(ids[digest], digest, accepted[digest]) for digest in held)


def rebuilt(
    entries: Sequence[Entry], found: Sequence[Source], contents: Mapping[str, Content], missing: Sequence[Missing],
    admit: Admit,
) -> Accepted:  # fmt: skip
    """The library of `found`, as far as contents are there and the gate lets them in, in id order."""
    kept, refused = list[Experience](), list[Kept]()
    for source in found:
        if (content := contents.get(source.cid)) is None:
            continue
        verdict = admit(content.text, kept, (_origin(source.cid),))
        if isinstance(verdict, Refused):
            refused.append(Kept(source, content.text, verdict.reason))
        else:
            kept.append(_experience(source, verdict.text, content.domain))
    return Accepted(
        Library.of(kept, len(ids_of(entry.added for entry in entries))), tuple(found), tuple(missing), tuple(refused)
    )


def _origin(cid: str) -> str:
    return f"{FROM}{cid}"


def _experience(source: Source, text: str, domain: str) -> Experience:
    origin = (_origin(source.cid),)
    return Experience(id=source.id, text=text, domain=domain, created_step=source.version, origin=origin)


def _source(id: str, digest: str, entry: Entry) -> Source:
    return Source(
        id=id,
        cid=cid_of_digest(bytes.fromhex(digest)),
        proposal=entry.proposal,
        version=entry.version,
        block=entry.block,
        transaction=f"0x{entry.transaction}",
    )
