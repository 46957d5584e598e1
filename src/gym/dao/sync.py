"""A node brought up to date: events read and proven, contents fetched and re-hashed, each text through the node's own gate."""

import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from gym.core.admission import Admission, estimate_tokens
from gym.core.operation import Admit, Admitted, Experience, Refused
from gym.core.text import shown
from gym.dao.accepted import Accepted, rebuilt, sources
from gym.dao.checkpoint import Checkpoint
from gym.dao.content import Content, ContentStore, Missing, fetch
from gym.dao.deployment import Community
from gym.dao.history import Past
from gym.dao.library_file import Provenance
from gym.dao.reading import Header, Read, advance
from gym.embedding import similarity
from gym.embedding.hashing import HashingEmbedder
from gym.errors import ConfigError, ConnectionFailed, ProviderError

MOST_TOKENS = 400
"""Of one experience: more than 32 words of any language take, since a word can be as long as a block of content."""


class Synced(NamedTuple):
    """A registry's library at a block."""

    at: Header
    past: Past
    accepted: Accepted
    contents: tuple[Content, ...]
    """Of everything active that was found, refused ones too."""
    read: Read

    @property
    def complete(self) -> bool:
        """Whether every content was found."""
        return not self.accepted.missing


def gate() -> Admit:
    """The gate for learned texts; its limits of size hold for each alone, as all that was accepted is alike for everybody."""
    learned = Admission(similarity=similarity(HashingEmbedder()), max_size=sys.maxsize, token_budget=sys.maxsize)

    def admit(text: str, others: Sequence[Experience], origin: Sequence[str]) -> Admitted | Refused:
        if (tokens := estimate_tokens(text)) > MOST_TOKENS:
            return Refused(reason=f"about {tokens:,} tokens, at most {MOST_TOKENS} are allowed")
        return learned(text, others, origin)

    return admit


def require_admitted(contents: Iterable[Content], admit: Admit) -> None:
    """Raise `ConfigError` for a text that nodes with this gate would refuse: nobody should be asked to vote for it."""
    for content in contents:
        if isinstance(verdict := admit(content.text, (), ()), Refused):
            raise ConfigError(f"the gate of every node would refuse {shown(content.text)}: {verdict.reason}")


def read_on(community: Community, checkpoint: Path, *, confirmations: int | None = None) -> Read:
    """Read what is new on the chain, and keep it in the file."""
    read = advance(community, Checkpoint.read(checkpoint, community.deployment), confirmations=confirmations)
    read.checkpoint.write(checkpoint)
    return read


def sync(
    community: Community,
    read: Read,
    stores: Sequence[ContentStore],
    *,
    block: int | None = None,
    admit: Admit | None = None,
) -> Synced:
    """The library at a block (None: the last that is final); raises `ConfigError` for one that was not read."""
    at = read.head if block is None else _header(community, read, block)
    entries = read.checkpoint.upto(at.number)
    past = read.checkpoint.past(at.number)
    found = sources(entries, past.active)
    fetched = fetch([source.cid for source in found], stores)
    accepted = rebuilt(entries, found, fetched.contents, fetched.missing, admit or gate())
    return Synced(at, past, accepted, tuple(fetched.contents.values()), read)


def provenance(community: Community, synced: Synced) -> Provenance:
    """What is written beside the library."""
    return Provenance.of(community.deployment, synced.at, synced.past, synced.accepted)


def pin(store: ContentStore, synced: Synced, left: Collection[str] = ()) -> tuple[Missing, ...]:
    """Have a store keep everything active that was found, and let go what has `left`; what it could not do so."""
    failed = list[Missing]()
    for content in synced.contents:
        try:
            store.put(content.data)
        except ProviderError as error:
            failed.append(Missing(content.cid, str(error)))
            if isinstance(error, ConnectionFailed):  # it will not answer for the others either
                break
    try:
        store.unpin(() if failed else left)
    except ProviderError as error:
        failed += [Missing(cid, f"not let go: {error}") for cid in left]
    return tuple(failed)


def _header(community: Community, read: Read, block: int) -> Header:
    first = max(0, community.deployment.block - 1)  # where a node starts on whose chain the contracts are not final yet
    if not first <= block <= read.head.number:
        told = f"; {read.wait}" if read.wait else ""
        raise ConfigError(f"block {block} is not among those that are final: {first} to {read.head.number}{told}")
    return Header.of(community.web3.eth.get_block(block))
