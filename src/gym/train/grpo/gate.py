"""The gate: a step's library replaces the accepted one only when validation problems speak for it (SPEC 2.11)."""

from typing import NamedTuple

from gym.core.experience import Applied, Library, Rejected
from gym.evaluation.metrics import Paired


class Decision(NamedTuple):
    """Whether the new library stays, and why in words."""

    accepted: bool
    reason: str


def decide(difference: Paired, margin: float | None = None) -> Decision:
    """Better stays, worse goes, unclear keeps the older library unless its mean difference reaches `margin`.

    "Better" and "worse" mean that the 95 % interval of the paired difference excludes 0.
    """
    if difference.difference is None:
        return Decision(False, "unclear: no validation problem was scored on both sides")
    told = f"{difference.difference:+.3f} on validation, {difference.verdict}"
    if difference.verdict == "gain":
        return Decision(True, told)
    if difference.verdict == "loss":
        return Decision(False, f"worse: {told}")
    if margin is not None and difference.difference >= margin:
        return Decision(True, f"{told}, within gate_margin {margin:g}")
    return Decision(False, f"unclear: {told}")


def reverted(applied: Applied, before: Library, reason: str) -> Applied:
    """The step without its changes: every operation rejected with the gate's reason; ids it minted stay used."""
    turned_down = tuple(Rejected(operation=item.operation, reason=f"gate: {reason}") for item in applied.accepted)
    library = before.model_copy(update={"next_id": applied.library.next_id})
    return Applied(library=library, accepted=(), rejected=(*applied.rejected, *turned_down))
