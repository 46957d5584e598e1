"""Boards hold the packets of rounds, in this process or in a folder. None is trusted: what it loses shows."""

from collections.abc import Collection, Sequence
from pathlib import Path
from shutil import rmtree
from typing import Protocol

from gym.errors import ConfigError
from gym.federated.decision import Decision
from gym.federated.inbox import Collected, collect
from gym.federated.merge import decide
from gym.federated.messages import DECIDING, Kind
from gym.federated.packet import Received, Refusal, unseal
from gym.federated.round import Round
from gym.federated.round_dir import RoundDir, late


class Board(Protocol):
    """Where the packets of rounds lie. It is not trusted: it can lose packets, and that shows."""

    def rounds(self) -> Sequence[Round]:
        """All rounds, the oldest first."""
        ...

    def open(self, round: Round) -> None:
        """Begin a round, or find it begun; raises `ConfigError` where another one has its number."""
        ...

    def post(self, round: Round, packet: bytes) -> Refusal | None:
        """Keep a packet that fits its round and is not late; why not, otherwise."""
        ...

    def shut(self, round: Round, kind: Kind) -> None:
        """From now on messages of this kind are late."""
        ...

    def is_shut(self, round: Round, kind: Kind) -> bool:
        """Whether they are."""
        ...

    def collected(self, round: Round, only: Collection[str] | None = None) -> Collected:
        """What nodes have said in a round; `only` in messages of these CIDs."""
        ...

    def close(self, round: Round, only: Collection[str] | None = None) -> Decision:
        """Write down the decision, from all messages or `only` those of these CIDs: what comes later is late."""
        ...

    def decision(self, round: Round) -> Decision | None:
        """Of a closed round, computed from its packets; raises `RunFailed` when another one is written down."""
        ...

    def confirmations(self, round: Round) -> Sequence[bytes]:
        """Packets in which nodes signed what they decided (`gym.federated.quorum`)."""
        ...


class MemoryBoard:
    """A board in this process."""

    def __init__(self) -> None:
        self._rounds: list[Round] = []
        self._received: dict[str, dict[bytes, Received]] = {}
        self._shut: dict[str, set[Kind]] = {}
        self._closed: dict[str, Decision] = {}

    def open(self, round: Round) -> None:
        known = next((one for one in self._rounds if one.number == round.number), None)
        if known not in (None, round):
            raise ConfigError(f"another round {round.number} is open already")
        if known is None:
            self._rounds.append(round)

    def rounds(self) -> Sequence[Round]:
        return tuple(self._rounds)

    def post(self, round: Round, packet: bytes) -> Refusal | None:
        received = unseal(packet, round)
        if isinstance(received, Refusal):
            return received
        if self.is_shut(round, received.kind):
            return late(received)
        self._received.setdefault(round.digest, {})[packet] = received
        return None

    def shut(self, round: Round, kind: Kind) -> None:
        self._shut.setdefault(round.digest, set()).add(kind)

    def is_shut(self, round: Round, kind: Kind) -> bool:
        return kind in self._shut.get(round.digest, ())

    def collected(self, round: Round, only: Collection[str] | None = None) -> Collected:
        known = self._received.get(round.digest, {})
        told = {
            packet: one for packet, one in known.items() if one.kind in DECIDING and (only is None or one.cid in only)
        }
        return collect(round, told, unsealed=told)

    def close(self, round: Round, only: Collection[str] | None = None) -> Decision:
        self._closed[round.digest] = decide(self.collected(round, only))
        return self._closed[round.digest]

    def decision(self, round: Round) -> Decision | None:
        return self._closed.get(round.digest)

    def confirmations(self, round: Round) -> Sequence[bytes]:
        known = self._received.get(round.digest, {})
        return tuple(sorted(packet for packet, one in known.items() if one.kind == "confirmation"))


def keep(board: Board, folder: Path) -> None:
    """Write the closed rounds of a board to a folder, in the place of the rounds that lie there."""
    for old in folder.glob("round-*/round.json"):
        rmtree(old.parent)
    there = FolderBoard(folder)
    for round in board.rounds():
        if (decision := board.decision(round)) is not None:
            collected = board.collected(round, decision.messages)
            proofs = [packet for proof in collected.equivocations for packet in (proof.first, proof.second)]
            there.open(round)
            for packet in (*(one.packet for one in collected.messages), *proofs, *board.confirmations(round)):
                there.post(round, packet)
            there.close(round, decision.messages)


class FolderBoard:
    """A board in a folder that all nodes can write to: `round-0/`, `round-1/` … (`gym.federated.round_dir`)."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def open(self, round: Round) -> None:
        RoundDir.create(self._place(round), round)

    def rounds(self) -> Sequence[Round]:
        """A copy of a round's folder under another name is none."""
        found = [RoundDir(file.parent) for file in self.path.glob("round-*/round.json")]
        own = [one.round for one in found if one.path == self._place(one.round)]
        return tuple(sorted(own, key=lambda round: round.number))

    def post(self, round: Round, packet: bytes) -> Refusal | None:
        return self._dir(round).post(packet)

    def shut(self, round: Round, kind: Kind) -> None:
        self._dir(round).shut(kind)

    def is_shut(self, round: Round, kind: Kind) -> bool:
        return kind in self._dir(round).shut_kinds()

    def collected(self, round: Round, only: Collection[str] | None = None) -> Collected:
        return self._dir(round).collected(only)

    def close(self, round: Round, only: Collection[str] | None = None) -> Decision:
        return self._dir(round).close(only)

    def decision(self, round: Round) -> Decision | None:
        folder = self._dir(round)
        return None if folder.told() is None else folder.decision()

    def confirmations(self, round: Round) -> Sequence[bytes]:
        return self._dir(round).confirmations()

    def _dir(self, round: Round) -> RoundDir:
        return RoundDir(self._place(round))

    def _place(self, round: Round) -> Path:
        return self.path / f"round-{round.number}"
