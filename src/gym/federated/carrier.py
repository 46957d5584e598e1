"""How questions reach nodes and answers come back; a carrier is trusted with nothing but the delay it causes."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from gym.federated.exchange import Answer, encode, read_ask
from gym.federated.node import Node


class Answered(NamedTuple):
    """What came from a node, or under its name: only what it signed is proven."""

    node: str
    answer: bytes


class Carrier(Protocol):
    """To the members of a team."""

    def ask(self, asks: Mapping[str, bytes], *, patience_s: float) -> Iterator[Answered]:
        """The answers as they come, one a node, until all are there or the time is over, or the caller has enough.

        A node that was away and is back within the time answers too.
        """
        ...


class Direct:
    """To nodes in this process, one after the other; those that are not here are silent."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self.nodes = nodes

    def ask(self, asks: Mapping[str, bytes], *, patience_s: float) -> Iterator[Answered]:
        """Whoever stops listening stops no node from hearing."""
        left = iter([(address, data) for address, data in asks.items() if address in self.nodes])
        try:
            for address, data in left:
                yield Answered(address, answered(self.nodes[address], data))
        finally:
            for address, data in left:
                answered(self.nodes[address], data)


def answered(node: Node, data: bytes) -> bytes:
    """What a node answers to any bytes."""
    ask = read_ask(data)
    return encode(Answer(refused="that is no question of a round") if ask is None else node.answer(ask))
