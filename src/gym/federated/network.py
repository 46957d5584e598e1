"""A node's side of a federation of signed rounds that anyone recomputes: a `gym.core.network.Network` over a board."""

from collections.abc import Collection, Mapping, Sequence
from struct import pack

from gym.core.network import Compressed
from gym.errors import ConfigError, RunFailed
from gym.federated.boards import Board
from gym.federated.history import AcceptedExperience, History
from gym.federated.messages import Bundle, Evidence, Item, Message
from gym.federated.packet import Received, seal, unseal
from gym.federated.round import Round
from gym.federated.voice import Voice
from gym.signing import NodeKey


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

        Raises `ConfigError` for a text that its owner did not see in a preview, when no round is open, and when the node
        has sent another bundle in it; `RunFailed` when the board refuses.
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
        if set(Voice(self._node, self._key, self._board, newest).said(Bundle)) - {bundle}:
            raise ConfigError(f"{self._node!r} has sent its bundle in round {newest.number}: two would be double talk")
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
        return History(self._board).library()


def _item(entry: Compressed, domain: str) -> Item:
    code = entry["signs"] + pack("<f", entry["scale"])
    return Item(text=entry["text"], code=code, domain=domain, evidence=Evidence(confidence=entry["confidence"]))
