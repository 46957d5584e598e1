"""Small teams for tests: nodes with texts of their own, in which advice to check helps and anything else does harm."""

from collections.abc import Callable, Sequence

from gym.embedding import Embedder
from gym.federated import bitdelta
from gym.federated.boards import Board
from gym.federated.history import AcceptedExperience
from gym.federated.messages import Evidence, Gain, Item, exact_digest
from gym.federated.node import Node, Trial
from gym.federated.team import Card, Team
from tests.federated.house import MODEL, Topical, key, member

NAMES = ("n00", "n01", "n02")
FOUR = (*NAMES, "n03")
LINK = "ecdsa-sha2-nistp384 AAAA"


def team_of(names: Sequence[str]) -> Team:
    cards = tuple(Card(member=member(name), link=f"{LINK}{place:04}") for place, name in enumerate(names))
    return Team(cards=cards, encoder=Topical.name, model=MODEL)


def offers(*texts: str, domain: str = "") -> Callable[[Embedder], Sequence[Item]]:
    def coded(encoder: Embedder) -> Sequence[Item]:
        codes = bitdelta.encode(encoder(texts))
        return [
            Item(text=text, code=code.tobytes(), domain=domain, evidence=Evidence(confidence=0.8))
            for text, code in zip(texts, codes, strict=True)
        ]

    return coded


def helps(round: int, trials: Sequence[Trial], library: Sequence[AcceptedExperience]) -> Sequence[Gain]:
    """What every node measures here: advice to check helps where nothing accepted says it, anything else does harm."""
    known = {entry.text.split(",")[0] for entry in library}
    gains = [0.0 if one.text.split(",")[0] in known else 0.1 if "check" in one.text else -0.1 for one in trials]
    return [
        Gain(text=exact_digest(one.text), mean=gain, error=0.01, problems=50)
        for one, gain in zip(trials, gains, strict=True)
    ]


def node_of(name: str, team: Team, board: Board, *texts: str) -> Node:
    said = texts or (f"When adding units, {name} says check.",)
    return Node(name, key(name), team, board, Topical(), MODEL, offers(*said), helps)
