"""What the validation gate decided on a step's library, with the figures that it decided on (SPEC 2.11)."""

from typing import Literal

from pydantic import Field

from gym.core.value import Value

_ENDED = {
    "futile": "; the rest would hardly have shown it better",
    "budget": "; the budget paid for no more",
}


class Decision(Value):
    """One decision; its difference is optimistic, for what is kept was chosen by it."""

    verdict: Literal["better", "worse", "unclear"]
    kept: bool
    """Whether the new library stays."""
    ended: Literal["decided", "all answered", "futile", "budget"]
    """Why no more problems were answered."""
    problems: int = Field(ge=0)
    """With a scored answer on both sides."""
    planned: int = Field(ge=1)
    """Validation problems that there are."""
    answers: int = Field(ge=0)
    """Scored, of both sides together."""
    failed: int = Field(default=0, ge=0)
    """Rollouts that failed in the world; they speak for neither side."""
    difference: float | None
    """Mean over those problems of new minus old, in [-1, 1]; None when there is none."""
    p_value: float
    """One-sided, adjusted for the looks: of "worse" against no harm, else of "better" against no gain."""

    def answered(self, k: int) -> int:
        """Problems that were answered `k` times on either side, whether scored or not."""
        return (self.answers + self.failed) // (2 * k)

    @property
    def reason(self) -> str:
        """The decision in words."""
        if self.difference is None:
            return "unclear: no validation problem was scored on both sides"
        told = (
            f"{self.verdict}: {self.difference:+.3f} on {self.problems} of {self.planned} validation problems, "
            f"p = {self.p_value:.4f}{f'; {self.failed} answers failed' if self.failed else ''}{_ENDED.get(self.ended, '')}"
        )
        return f"{told}; kept by gate_margin" if self.kept and self.verdict == "unclear" else told
