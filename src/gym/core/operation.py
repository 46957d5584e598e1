"""Experiences, what may be done to them, and what became of it (arXiv:2510.08191 §3.2; SPEC 2)."""

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol

from pydantic import Field

from gym.core.value import Value

MAX_WORDS = 32


class Effect(Value):
    """What showing an experience did to the reward, measured by showing it to some rollouts and not to others."""

    mean: float
    """Mean reward with it minus without it, in [-1, 1]."""
    low: float
    high: float
    """The 95 % interval, over problems."""
    rollouts: int
    """Those in groups where some were shown it and some were not."""
    problems: int
    """Of those groups."""

    @property
    def figures(self) -> str:
        """The mean with its interval, as far as a difference of rewards can reach."""
        return f"{self.mean:+.3f} [{max(self.low, -1.0):+.3f}, {min(self.high, 1.0):+.3f}]"

    def __str__(self) -> str:
        return f"{self.figures}, {self.rollouts} rollouts of {self.problems} problems"


class Experience(Value):
    """One natural-language strategy of at most 32 words, with what is known of it."""

    id: str
    text: str
    confidence: float = Field(default=0.5, ge=0.0, le=1.0)
    created_step: int = 0
    origin: tuple[str, ...] = ()
    """Ids of the problems whose groups taught it."""
    uses: int = 0
    """Rollouts that cited it."""
    helpful: int = 0
    """Cited by a rollout that did better than its group's mean."""
    harmful: int = 0
    """Cited by a rollout that did worse than its group's mean."""
    domain: str = ""
    effect: Effect | None = Field(default=None, exclude_if=lambda effect: effect is None)
    """Of its present text; None where none was measured."""

    @property
    def number(self) -> int:
        """The id without its letter: the order of minting."""
        return int(self.id[1:])

    @property
    def line(self) -> str:
        """As a prompt shows it: `[G0]. text`."""
        return f"[{self.id}]. {self.text}"


class Evidence(Value):
    """Where an operation comes from and how strongly the rewards spoke for it."""

    origin: tuple[str, ...] = ()
    separation: float = 0.0
    """Largest minus smallest reward of the group, in [0, 1]."""
    rollouts: int = 0
    effect: Effect | None = Field(default=None, exclude_if=lambda effect: effect is None)
    """Of the entry that a measured removal concerns."""


class Add(Value):
    """A new experience."""

    option: Literal["add"] = "add"
    experience: str
    evidence: Evidence = Evidence()


class Modify(Value):
    """A better text for a known experience; its id stays."""

    option: Literal["modify"] = "modify"
    id: str
    experience: str
    evidence: Evidence = Evidence()


class Delete(Value):
    """A known experience leaves."""

    option: Literal["delete"] = "delete"
    id: str
    evidence: Evidence = Evidence()


class Merge(Value):
    """Several known experiences become one new one."""

    option: Literal["merge"] = "merge"
    ids: tuple[str, ...]
    experience: str
    evidence: Evidence = Evidence()


class Keep(Value):
    """Nothing changes; of one entry, or (id None) of all."""

    option: Literal["keep"] = "keep"
    id: str | None = None
    evidence: Evidence = Evidence()


Operation = Annotated[Add | Modify | Delete | Merge | Keep, Field(discriminator="option")]


class Rejected(Value):
    """A proposal that changed nothing, and why. `operation` is as proposed, read or not."""

    operation: Operation | dict[str, object] | str
    reason: str
    echo_of: str | None = None
    """The id of the injected experience that was only learned again (FAULTS M12): a use of it, not news."""
    contradicts: str | None = None
    """The id of the entry that says the opposite; a modify or delete decides between them (FAULTS M15)."""
    duplicate_of: str | None = None
    """The id of the entry that says the same already."""


class Accepted(Value):
    """An operation that took effect: `after - before` is what it changed."""

    operation: Operation
    before: tuple[Experience, ...] = ()
    """The entries it touched, as they were."""
    after: tuple[Experience, ...] = ()
    """The same entries (and new ones), as they are; those missing here are gone."""
    warnings: tuple[str, ...] = ()


class Admitted(Value):
    """The gate lets a text in, in its one-line form."""

    text: str
    warnings: tuple[str, ...] = ()


class Refused(Value):
    """The gate keeps a text out."""

    reason: str
    echo_of: str | None = None
    contradicts: str | None = None
    duplicate_of: str | None = None


class Admit(Protocol):
    """The gate of SPEC 2.3, as `Library.apply` sees it."""

    def __call__(self, text: str, others: Sequence[Experience], origin: Sequence[str]) -> Admitted | Refused:
        """Whether `text`, learned from the problems `origin`, may stand beside `others` (without what it replaces)."""
        ...
