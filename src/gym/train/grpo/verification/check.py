"""What `gym verify` answers, and where the weights are that it reads."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal

from pydantic import Field

from gym.core.value import Value
from gym.errors import ConfigError, WeightsChanged
from gym.train.grpo.frozen import Record, differences, fingerprint, size_of, weights_at, whole_digest
from gym.train.grpo.frozen.sections import Progress, unheard

Reading = Callable[[str, int], AbstractContextManager[Progress]]
"""Shows that a file of so many bytes is read: name, bytes → what is told of each piece."""

NOT_TOLD = "which tensor it is cannot be told: the run kept no digests of single tensors"


class Check(Value):
    """One answer, with its reasons in sentences."""

    subject: str
    """The manifest or library that was checked."""
    verdict: Literal["unchanged", "changed", "unknown"]
    model: str = ""
    file: str = ""
    """The weights that were read."""
    sha256: dict[str, str | None] = Field(default_factory=dict)
    """The whole digests that were compared."""
    said: str
    """What the verdict means here."""
    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0: unchanged; 4: changed; 1: it cannot be known."""
        return {"unchanged": 0, "changed": WeightsChanged.exit_code, "unknown": 1}[self.verdict]


def silent(name: str, size: int) -> AbstractContextManager[Progress]:
    """A reading that nobody looks at."""
    return nullcontext(unheard)


def weights_of(model: str) -> Path:
    """The file or folder that a model id or a path names; raises `ConfigError` when it is not here."""
    if not model:
        raise ConfigError("where the run's weights are is not known: give --model PATH")
    if (path := Path(model).expanduser()).exists():
        return path
    try:
        found = weights_at(model)
    except ConfigError as error:
        raise ConfigError(f"{error}; or give --model PATH") from error
    if found is None or not found.exists():
        raise ConfigError(f"there are no weights at {str(found or model)!r}: give --model PATH")
    return found


def digest_now(path: Path, reading: Reading) -> str:
    """The whole digest of the weights at `path` as they are now."""
    with reading(path.name, size_of(path)) as progress:
        return whole_digest(path, progress)


def changed_since(before: str, now: str, path: Path, record: Record | None, reading: Reading) -> Sequence[str]:
    """What is not as the run began with it."""
    if now == before:
        return ()
    if record is None or record.files.before.whole != before:
        return [f"SHA-256 is {now}, not {before}; {NOT_TOLD}"]
    with reading(path.name, size_of(path)) as progress:
        return [str(part) for part in differences(record.files.before, fingerprint(path, progress))]
