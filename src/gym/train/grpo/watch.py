"""What a run tells while it works; the command line draws it, a program may ignore it."""

from typing import Protocol

from gym.llm.meter import Meter


class Watch(Protocol):
    """Told of every phase and every finished unit of work. Calls are cheap and come from the event loop."""

    def phase(self, name: str, total: int, meter: Meter) -> None:
        """A phase of `total` units starts; `meter` keeps counting money and tokens."""
        ...

    def expect(self, count: int) -> None:
        """`count` more units of the phase have turned up."""
        ...

    def advance(self, count: int = 1) -> None:
        """`count` more units of the phase are done."""
        ...

    def say(self, text: str) -> None:
        """One line worth reading."""
        ...


class Silent:
    """A watch that looks away."""

    def phase(self, name: str, total: int, meter: Meter) -> None:
        return

    def expect(self, count: int) -> None:
        return

    def advance(self, count: int = 1) -> None:
        return

    def say(self, text: str) -> None:
        return
