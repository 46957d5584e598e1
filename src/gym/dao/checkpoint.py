"""Every change of the registry that a node has read, kept in a file: the next read goes on from there.

The hash of each block is kept with it, so that a chain that was reorganised below what was read is noticed.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from gym.core.value import Value
from gym.dao.deployment import Deployment
from gym.dao.history import Cause, Change, Past, beginning, replay
from gym.errors import ConfigError, HistoryMismatch
from gym.files import write_atomic

Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Entry(Value):
    """One change as the file keeps it; hashes in hex."""

    version: int = Field(ge=1)
    cause: Cause
    added: tuple[Hash, ...]
    removed: tuple[Hash, ...]
    root: Hash
    history_hash: Hash
    block: int
    block_hash: Hash
    transaction: Hash
    proposal: str = ""
    """The number of the proposal that was carried out; empty for what the guardian or time did."""

    @property
    def change(self) -> Change:
        """As it is replayed."""
        added, removed = (tuple(map(bytes.fromhex, digests)) for digests in (self.added, self.removed))
        hashes = bytes.fromhex(self.root), bytes.fromhex(self.history_hash)
        return Change(self.version, self.cause, added, removed, *hashes, self.block)


class Checkpoint(Value):
    """All changes up to and including a block that counts as final."""

    chain_id: int
    registry: str
    block: int
    block_hash: Hash | None = None
    """None before the first read."""
    entries: tuple[Entry, ...] = ()

    @classmethod
    def before(cls, deployment: Deployment) -> "Checkpoint":
        """Where reading begins."""
        return cls(chain_id=deployment.chain_id, registry=deployment.registry, block=deployment.block - 1)

    @classmethod
    def read(cls, path: Path, deployment: Deployment) -> "Checkpoint":
        """The file's; the beginning where there is no file. Raises `ConfigError` for a file of another registry."""
        try:
            found = cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return cls.before(deployment)
        except (OSError, ValidationError) as error:
            raise _unreadable(path) from error
        if (found.chain_id, found.registry) != (deployment.chain_id, deployment.registry):
            raise ConfigError(f"{str(path)!r} is the checkpoint of another registry: give another --checkpoint")
        try:
            found.past()
        except HistoryMismatch as error:  # it was proven when it was written, so the file was altered since
            raise _unreadable(path) from error
        return found

    def write(self, path: Path) -> None:
        """Keep it; raises `StorageError`."""
        write_atomic(path, self.model_dump_json(indent=1) + "\n")

    def upto(self, block: int) -> tuple[Entry, ...]:
        """The changes up to and including a block."""
        return tuple(entry for entry in self.entries if entry.block <= block)

    def past(self, block: int | None = None) -> Past:
        """What the registry held at a block that was read (None: the last), proven; raises `HistoryMismatch`."""
        entries = self.entries if block is None else self.upto(block)
        return replay(beginning(self.chain_id, self.registry), (entry.change for entry in entries))

    def back_to(self, block: int, block_hash: str | None) -> "Checkpoint":
        """As it was when it had read up to that block."""
        return self.model_copy(update={"block": block, "block_hash": block_hash, "entries": self.upto(block)})


def _unreadable(path: Path) -> ConfigError:
    return ConfigError(f"{str(path)!r} cannot be read as a checkpoint: delete it, and all is read again")
