"""What the closed rounds of a board came to, each computed once from its packets, and the library they make."""

from collections.abc import Iterable, Sequence

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


def earlier(board: Board, number: int) -> tuple[Decision, ...]:
    """Of the closed rounds before that of this number."""
    found = (board.decision(round) for round in board.rounds() if round.number < number)
    return tuple(one for one in found if one is not None)


def accepted(decisions: Sequence[Decision]) -> tuple[AcceptedExperience, ...]:
    """What rounds published, without what they removed again."""
    gone = {text for decision in decisions for text in decision.removed}
    return tuple(one for one in ever_accepted(decisions) if text_digest(one.text) not in gone)


def ever_accepted(decisions: Iterable[Decision]) -> tuple[AcceptedExperience, ...]:
    """What rounds published, whether it is still there or not."""
    published = [one for decision in decisions for one in decision.published]
    return tuple(
        AcceptedExperience(id=f"N{place}", text=one.text, cid=one.cid, domain=one.domain)
        for place, one in enumerate(published)
    )


def library_digest(library: Iterable[AcceptedExperience]) -> str:
    """By which nodes see that their libraries are one."""
    return digest([entry.model_dump(mode="json") for entry in library])
