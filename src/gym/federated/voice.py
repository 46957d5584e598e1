"""What a node has said in a round: each thing once, kept before it leaves, and told again whenever it is asked."""

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from gym.errors import ConfigError
from gym.federated.boards import Board
from gym.federated.messages import Confirmation, Message
from gym.federated.packet import Received, seal, unseal
from gym.federated.round import Round
from gym.signing import NodeKey

_Kind = TypeVar("_Kind", bound=Message)


class Voice(NamedTuple):
    """Of one node in one round."""

    address: str
    key: NodeKey
    board: Board
    round: Round

    def say(self, message: Message) -> None:
        """Sign and keep; raises `ConfigError` when it does not fit the round, which is a wrong key or encoder."""
        if refusal := self.board.post(self.round, seal(message, self.key)):
            raise ConfigError(f"this node's own message is refused: {refusal.reason} ({refusal.detail})")

    def said(self, kind: type[_Kind]) -> list[_Kind]:
        """Its messages of one kind."""
        return [one.message for one in self._received() if isinstance(one.message, kind)]

    def packets(self) -> tuple[bytes, ...]:
        """All its messages."""
        return tuple(one.packet for one in self._received())

    def cids(self) -> frozenset[str]:
        """Of all that a decision is made from."""
        return frozenset(one.cid for one in self._received() if not isinstance(one.message, Confirmation))

    def _received(self) -> Iterator[Received]:
        confirmations = (unseal(packet, self.round) for packet in self.board.confirmations(self.round))
        kept = [
            *self.board.collected(self.round).messages,
            *(one for one in confirmations if isinstance(one, Received)),
        ]
        return (one for one in kept if one.message.node == self.address)
