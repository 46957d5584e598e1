"""Everything that was synced, checked again from nothing: code, events, history, contents and the library in its file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from gym.core.text import count
from gym.dao.artifacts import Name, artifact
from gym.dao.checkpoint import Checkpoint
from gym.dao.content import ContentStore
from gym.dao.deployment import Community
from gym.dao.library_file import Provenance, read_provenance, read_synced
from gym.dao.reading import Header, Read, advance
from gym.dao.sync import Synced, provenance, sync
from gym.errors import ConfigError, HistoryMismatch

Verdict = Literal["same", "differs", "unknown"]
EXIT = {"same": 0, "differs": 4, "unknown": 1}


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    verdict: Verdict
    said: str

    @property
    def exit_code(self) -> int:
        """0 all as it was, 4 something differs, 1 it cannot be known: as `gym verify`."""
        return EXIT[self.verdict]


def verify(
    community: Community, library: Path, stores: Sequence[ContentStore], *, confirmations: int | None = None
) -> Iterator[Check]:
    """Check the contracts and, of the block that `library` was synced at, history, contents and library."""
    yield from _code(community)
    told = read_provenance(library)
    try:
        read = advance(community, Checkpoint.before(community.deployment), confirmations=confirmations)
    except HistoryMismatch as error:
        yield Check("history", "differs", str(error))
        return
    if (unknown := _not_final(community, told, read)) is not None:
        yield unknown
        return
    synced = _then(community, told, sync(community, read, stores, block=min(told.block, read.head.number)))
    if isinstance(synced, Check):
        yield synced
        return
    waits = f"; {read.wait}" if read.wait else ""
    yield Check(
        "history", "same", f"what the registry holds follows from {count(synced.past.version, 'change')}{waits}"
    )
    yield _contents(synced)
    yield _provenance(told, provenance(community, synced))
    yield _library(library, told)


def _code(community: Community) -> Iterator[Check]:
    names = dict(zip(("GymToken", "GymStaking", "GymGovernor", "ExperienceRegistry"), community.contracts, strict=True))
    for name in get_args(Name):
        code = bytes(community.web3.eth.get_code(names[name].address))
        if artifact(name).matches(code):
            yield Check(name, "same", "the code on the chain is the package's")
        elif name == "GymToken":
            yield Check(name, "same", "a token that is not ours, as the deployment chose")
        else:
            yield Check(name, "differs", "the code on the chain is not the package's")


def _not_final(community: Community, told: Provenance, read: Read) -> Check | None:
    """What can be said of a library of a block that is on the chain, and not final yet."""
    if told.block <= read.head.number or told.block > read.last:
        return None
    if Header.of(community.web3.eth.get_block(told.block)).hash != told.block_hash:
        return None
    return Check(
        "history", "unknown",
        f"block {told.block}, of the library, is not final yet (final so far {read.head.number}): wait, or give the "
        "--confirmations that it was synced with",
    )  # fmt: skip


def _then(community: Community, told: Provenance, synced: Synced) -> Synced | Check:
    if told.registry != community.deployment.registry or told.chain_id != community.deployment.chain_id:
        return Check("history", "differs", f"the library is of registry {told.registry} on chain {told.chain_id}")
    if (synced.at.number, synced.at.hash) != (told.block, told.block_hash):
        return Check(
            "history", "differs", f"block {told.block} was taken back, or is not final for this node: sync again"
        )
    return synced


def _contents(synced: Synced) -> Check:
    missing = synced.accepted.missing
    if missing:
        first = missing[0]
        return Check(
            "contents", "unknown", f"{count(len(missing), 'content')} missing, {first.cid} first: {first.reason}"
        )
    return Check("contents", "same", f"{count(len(synced.contents), 'content')} of the address that its hash gives")


def _provenance(told: Provenance, found: Provenance) -> Check:
    different = [key for key, value in found if key != "reasons" and value != getattr(told, key)]
    if different:
        return Check("provenance", "differs", f"the file says something else of {', '.join(different)}")
    return Check("provenance", "same", f"block {told.block}, root {told.root[:16]}…, history {told.history_hash[:16]}…")


def _library(library: Path, told: Provenance) -> Check:
    try:
        digest = read_synced(library).digest
    except ConfigError as error:
        return Check("library", "differs", str(error))
    if digest != told.library_digest:
        return Check(
            "library", "differs", f"its digest is {digest[:16]}…, that of the vote {told.library_digest[:16]}…"
        )
    return Check("library", "same", f"digest {digest}")
