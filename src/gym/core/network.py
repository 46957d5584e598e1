"""`Network`, where a node's experiences go and others' come from (SPEC 3.9): all that a federation and a chain have in common."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypedDict


class Compressed(TypedDict):
    """One experience as it travels: its text, the code of its unit vector, and how sure its owner is."""

    text: str
    signs: bytes
    """48 bytes: the sign of each of 384 coordinates."""
    scale: float
    """The mean of the coordinates without their signs."""
    confidence: float


class Shared(Protocol):
    """One text of a network's library."""

    @property
    def id(self) -> str:
        """Never reused."""
        ...

    @property
    def text(self) -> str: ...

    @property
    def cid(self) -> str:
        """The address of its content."""
        ...

    @property
    def domain(self) -> str: ...


class Network(Protocol):
    """Where experiences are shared."""

    def submit_experiences(self, batch: Mapping[str, Compressed]) -> Sequence[str]:
        """Offer experiences to the others; the addresses by which the offer can be asked for."""
        ...

    def fetch_accepted_experiences(self) -> Sequence[Shared]:
        """What is accepted now, without what was removed again; asking twice gives the same."""
        ...
