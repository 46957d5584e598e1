"""What one session of a model's code may use, and what kept it apart from the host."""

from typing import Literal

from pydantic import Field

from gym.core.value import Value

Mode = Literal["bubblewrap", "namespaces", "limits only"]
Outcome = Literal["done", "wall", "cpu", "memory", "processes", "files", "output", "died", "garbled", "broken"]
Protection = Literal["files", "environment", "signals", "network", "processes", "process count", "folder size"]

_LAYERS: dict[Protection, tuple[str, ...]] = {
    "files": ("mnt", "landlock"),
    "environment": ("pid", "landlock", "own user"),
    "signals": ("pid", "own user", "landlock signals", "seccomp"),
    "network": ("net", "seccomp"),
    "processes": ("pid", "seccomp"),
    "process count": ("own count",),
    "folder size": ("mnt",),
}
"""Any one of these layers gives the protection."""

_WITHOUT: dict[Protection, str] = {
    "files": "code can read and write what this user can",
    "environment": "code can read other processes' environment, keys included",
    "signals": "code can end other processes of this user",
    "network": "code can open connections",
    "processes": "a process that leaves its group may outlive the session",
    "process count": "processes are counted now and then, or together with all others of this user",
    "folder size": "files are limited one by one, not in sum",
}


class Limits(Value):
    """Of one call (time) and of one session (the rest)."""

    wall_s: float = Field(default=60.0, gt=0)
    """Waiting included; `cpu_s` is the fair limit when many run at once."""
    cpu_s: float = Field(default=20.0, gt=0)
    """Of all the session's processes together."""
    memory_mb: int = Field(default=1024, ge=64)
    """Address space of each process, and what all of them hold together."""
    folder_mb: int = Field(default=64, ge=1)
    file_mb: int = Field(default=32, ge=1)
    processes: int = Field(default=32, ge=1)
    """Threads count."""
    open_files: int = Field(default=128, ge=16)
    output_chars: int = Field(default=10_000, ge=100)
    """Longer output comes back without its middle."""
    output_mb: int = Field(default=16, ge=1)
    """More output ends the call."""


class Answer(Value):
    """What came of one call, as the supervisor tells it."""

    outcome: Outcome
    exit: int | None = None
    """The interpreter's exit code when it ended, below 0 for a signal."""
    output: str = ""
    value: str = ""
    error: str = ""


class Isolation(Value):
    """How sessions are kept apart from the host on this system, as a session that was started has found it."""

    mode: Mode
    layers: tuple[str, ...]
    """What is in force: namespaces by their kernel names, "landlock", "seccomp", "own user" and the like."""
    refused: tuple[str, ...] = ()
    """Why a better mode does not work here."""

    @property
    def missing(self) -> tuple[Protection, ...]:
        """What is not contained."""
        return tuple(name for name, layers in _LAYERS.items() if not set(layers) & set(self.layers))

    @property
    def text(self) -> str:
        """For a person, one line."""
        lacks = "; ".join(f"no protection of {name}: {_WITHOUT[name]}" for name in self.missing)
        why = f" ({'; '.join(self.refused)})" if self.refused else ""
        return f"the model's Python code runs in mode {self.mode!r}{why}" + (f"; {lacks}" if lacks else "")
