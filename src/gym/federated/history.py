"""What the closed rounds of a board came to, each computed once from its packets, and the library they make."""

from collections.abc import Iterable

from gym.core.value import Value, digest
from gym.federated.boards import Board
from gym.federated.decision import Decision
from gym.federated.messages import text_digest


class AcceptedExperience(Value):
    """One text that a round published."""

    id: str
    """`N0`, `N1` … in the order of acceptance; never reused."""
    text: str
    cid: str
    domain: str = ""


class History:
    """Of one board; raises `RunFailed` where a written decision is not what its packets give."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._known: dict[str, Decision] = {}

    def decisions(self) -> tuple[Decision, ...]:
        """Of the closed rounds, up to the first that is open."""
        found = list[Decision]()
        for round in self._board.rounds():
            decision = self._known.get(round.digest) or self._board.decision(round)
            if decision is None:
                break
            found.append(self._known.setdefault(round.digest, decision))
        return tuple(found)

    def library(self) -> tuple[AcceptedExperience, ...]:
        """What is accepted now."""
        return accepted(self.decisions())


def accepted(decisions: Iterable[Decision]) -> tuple[AcceptedExperience, ...]:
    """What rounds published, without what they removed again."""
    told = tuple(decisions)
    gone = {text for decision in told for text in decision.removed}
    published = [one for decision in told for one in decision.published]
    return tuple(
        AcceptedExperience(id=f"N{place}", text=one.text, cid=one.cid, domain=one.domain)
        for place, one in enumerate(published)
        if text_digest(one.text) not in gone
    )


def library_digest(library: Iterable[AcceptedExperience]) -> str:
    """By which nodes see that their libraries are one."""
    return digest([entry.model_dump(mode="json") for entry in library])
