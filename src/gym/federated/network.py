"""A node's side of a federation of signed rounds that anyone recomputes, in memory or in a folder that a team shares.

`FederatedNetwork` is a `gym.core.network.Network` over a `Board`, which holds the packets of rounds and is not trusted.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from struct import pack
from typing import Protocol

from gym.core.network import Compressed
from gym.core.value import Value
from gym.errors import ConfigError, RunFailed
from gym.federated.decision import Decision
from gym.federated.inbox import Collected, collect
from gym.federated.merge import decide
from gym.federated.messages import Bundle, Evidence, Item, Message, text_digest
from gym.federated.packet import Received, Refusal, seal, unseal
from gym.federated.round import Round
from gym.federated.round_dir import RoundDir
from gym.signing import NodeKey


class AcceptedExperience(Value):
    """One text that a round published."""

    id: str
    """`N0`, `N1` … in the order of acceptance; never reused."""
    text: str
    cid: str
    domain: str = ""


class Board(Protocol):
    """Where the packets of rounds lie. It is not trusted: it can lose packets, and that shows."""

    def rounds(self) -> Sequence[Round]:
        """All rounds, the oldest first."""
        ...

    def post(self, round: Round, packet: bytes) -> Refusal | None:
        """Keep a packet that fits its round; why not, otherwise."""
        ...

    def collected(self, round: Round) -> Collected:
        """What nodes have said in a round."""
        ...

    def decision(self, round: Round) -> Decision | None:
        """Of a closed round, computed from its packets; raises `RunFailed` when another one is written down."""
        ...


class MemoryBoard:
    """A board in this process."""

    def __init__(self) -> None:
        self._rounds: list[Round] = []
        self._packets: dict[str, list[bytes]] = {}
        self._closed: dict[str, Decision] = {}

    def open(self, round: Round) -> None:
        """Begin a round."""
        self._rounds.append(round)

    def close(self, round: Round) -> Decision:
        """End a round: what comes later is late."""
        self._closed[round.digest] = decide(self.collected(round))
        return self._closed[round.digest]

    def rounds(self) -> Sequence[Round]:
        return tuple(self._rounds)

    def post(self, round: Round, packet: bytes) -> Refusal | None:
        received = unseal(packet, round)
        if isinstance(received, Received):
            self._packets.setdefault(round.digest, []).append(packet)
            return None
        return received

    def collected(self, round: Round) -> Collected:
        return collect(round, self._packets.get(round.digest, ()))

    def decision(self, round: Round) -> Decision | None:
        return self._closed.get(round.digest)


class FolderBoard:
    """A board in a folder that all nodes can write to: `round-0/`, `round-1/` … (`gym.federated.round_dir`)."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def open(self, round: Round) -> None:
        """Begin a round, or find it begun; raises `ConfigError` where another one has its number."""
        RoundDir.create(self._place(round), round)

    def close(self, round: Round) -> Decision:
        """End a round: what comes later is late."""
        return self._dir(round).close()

    def rounds(self) -> Sequence[Round]:
        found = [RoundDir(file.parent).round for file in self.path.glob("round-*/round.json")]
        return tuple(sorted(found, key=lambda round: round.number))

    def post(self, round: Round, packet: bytes) -> Refusal | None:
        return self._dir(round).post(packet)

    def collected(self, round: Round) -> Collected:
        return self._dir(round).collected()

    def decision(self, round: Round) -> Decision | None:
        folder = self._dir(round)
        return None if folder.told() is None else folder.decision()

    def _dir(self, round: Round) -> RoundDir:
        return RoundDir(self._place(round))

    def _place(self, round: Round) -> Path:
        return self.path / f"round-{round.number}"


class FederatedNetwork:
    """A node's side of the rounds on a board."""

    def __init__(
        self,
        board: Board,
        *,
        node: str,
        key: NodeKey,
        model: str,
        domain: str = "",
        released: Collection[str] = (),
    ) -> None:
        """`released` are the texts that their owner saw in a preview (`gym.federated.redaction`): no other leaves."""
        self._board, self._node, self._key = board, node, key
        self._model, self._domain, self._released = model, domain, frozenset(released)

    def submit_experiences(self, batch: Mapping[str, Compressed]) -> Sequence[str]:
        """The CID of the node's bundle in the newest round.

        Raises `ConfigError` for a text that its owner did not see in a preview, and when no round is open; `RunFailed`
        when the board refuses.
        """
        unseen = [id for id, entry in batch.items() if entry["text"] not in self._released]
        if unseen:
            raise ConfigError(
                f"{', '.join(unseen)} would leave unseen: show their owner a preview and release what it shows"
            )
        if not (rounds := self._board.rounds()):
            raise ConfigError("no round is open: nothing can be submitted")
        items = tuple(_item(entry, self._domain) for entry in batch.values())
        newest = rounds[-1]
        bundle = Bundle(round=newest.digest, node=self._node, encoder=newest.encoder, model=self._model, items=items)
        return (self.say(newest, bundle),)

    def say(self, round: Round, message: Message) -> str:
        """Sign a message and post it; its CID. Raises `RunFailed` when the board refuses."""
        packet = seal(message, self._key)
        if refusal := self._board.post(round, packet):
            raise RunFailed(f"refused in round {round.number}: {refusal.reason} ({refusal.detail})")
        received = unseal(packet, round)
        assert isinstance(received, Received)
        return received.cid

    def fetch_accepted_experiences(self) -> Sequence[AcceptedExperience]:
        """Of all closed rounds, computed from their packets; raises `RunFailed` where a written decision is another."""
        found = [self._board.decision(round) for round in self._board.rounds()]
        decisions = [decision for decision in found if decision is not None]
        gone = {text for decision in decisions for text in decision.removed}
        published = [one for decision in decisions for one in decision.published]
        return tuple(
            AcceptedExperience(id=f"N{place}", text=one.text, cid=one.cid, domain=one.domain)
            for place, one in enumerate(published)
            if text_digest(one.text) not in gone
        )


def _item(entry: Compressed, domain: str) -> Item:
    code = entry["signs"] + pack("<f", entry["scale"])
    return Item(text=entry["text"], code=code, domain=domain, evidence=Evidence(confidence=entry["confidence"]))
