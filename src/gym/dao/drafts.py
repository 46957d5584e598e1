"""A removal proposal with its figures, as a file: `gym dao watch` writes it, and nothing is sent before a person says so."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from gym.core.value import Value
from gym.dao.accepted import Source
from gym.dao.deployment import Deployment
from gym.errors import ConfigError
from gym.files import write_atomic


class Draft(Value):
    """What would be proposed, and why."""

    format: Literal["zoo-gym/removal-draft/1"] = "zoo-gym/removal-draft/1"
    chain_id: int
    registry: str
    block: int
    """Of the library that was measured."""
    library_digest: str
    entries: tuple[Source, ...] = Field(min_length=1, max_length=100)
    """What would leave."""
    reason: str
    """As those who vote read it."""
    difference: float
    """Mean reward with the entries minus without them, over problems."""
    interval: tuple[float, float]
    """95 %."""
    p_value: float
    """Of the paired test, before the correction for several tests."""
    p_corrected: float
    """After it (Holm 1979)."""
    problems: int
    model: str
    folder: str
    """Of the evaluations, at the node that made it."""

    @classmethod
    def read(cls, path: Path, deployment: Deployment) -> "Draft":
        """The draft in a file; raises `ConfigError` for another file, or one of another registry."""
        try:
            found = cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError) as error:
            told = error.strerror if isinstance(error, OSError) else error.errors()[0]["msg"]
            raise ConfigError(f"{str(path)!r} is no draft of a removal: {told}") from error
        if (found.chain_id, found.registry) != (deployment.chain_id, deployment.registry):
            raise ConfigError(f"{str(path)!r} is about registry {found.registry} on chain {found.chain_id}")
        return found

    def write(self, path: Path) -> None:
        """Keep it; raises `StorageError`."""
        write_atomic(path, self.model_dump_json(indent=2) + "\n")
