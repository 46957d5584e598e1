"""A round: who takes part and by what rules, fixed before anyone speaks; its digest stands in every message."""

from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from gym.core.value import Value, digest

NODE_CHARACTERS = 80

Name = Annotated[str, StringConstraints(min_length=1, max_length=NODE_CHARACTERS, pattern=r"^[^\x00-\x1f\x7f]+$")]
Hex32 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""A digest as text."""
PublicKey = Annotated[str, StringConstraints(pattern=r"^ed25519:[0-9a-f]{64}$")]


class Member(Value):
    """A registered node."""

    address: Name
    key: PublicKey
    """What its messages are checked with."""
    stake: int = Field(default=0, ge=0)
    domains: tuple[str, ...] = ()
    """Of the problems it can measure on; none named: of every domain."""

    def measures(self, domain: str) -> bool:
        """Whether its own problems say something of a text of this domain."""
        return not self.domains or domain in self.domains


class Round(Value):
    """What all nodes must agree on to reach the same decision."""

    number: int = Field(ge=0)
    members: tuple[Member, ...] = Field(min_length=1)
    encoder: Name
    """The name of the encoder of every code."""
    model: Name | None = None
    """The one base model, or None where nodes may differ."""
    aggregator: str = "median"
    standard_errors: float = Field(default=1.0, ge=0.0)
    """Of its own, that a node's gain must exceed to count: at 0 a useless text would help every second node."""
    tried: tuple[Hex32, ...] = ()
    """Digests of the texts that were measured in earlier rounds: none is measured again."""

    @model_validator(mode="after")
    def _members_differ(self) -> Self:
        if (
            len({member.address for member in self.members}) < self.n
            or len({member.key for member in self.members}) < self.n
        ):
            raise ValueError("two members have one address or one key: each would have two votes")
        return self

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything above: a message of another round, or of another federation, does not fit."""
        return digest(self.model_dump(mode="json"))

    @property
    def n(self) -> int:
        """Members at the start, present or not."""
        return len(self.members)

    @property
    def f(self) -> int:
        """Liars that are allowed for: the largest number below n / 3."""
        return tolerated(self.n)

    def member(self, address: str) -> Member | None:
        """The member of that address."""
        return self._by_address.get(address)

    def electors(self, domain: str) -> tuple[Member, ...]:
        """Members whose own problems can show a gain by a text of this domain."""
        return tuple(member for member in self.members if member.measures(domain))

    @cached_property
    def _by_address(self) -> dict[str, Member]:
        return {member.address: member for member in self.members}


def tolerated(n: int) -> int:
    """
    >>> [tolerated(n) for n in (1, 3, 4, 15)]
    [0, 0, 1, 4]
    """
    return (n - 1) // 3


def two_thirds(n: int) -> int:
    """The least number that is at least two thirds of n.

    >>> [two_thirds(n) for n in (1, 2, 3, 4, 15)]
    [1, 2, 2, 3, 10]
    """
    return -(-2 * n // 3)
