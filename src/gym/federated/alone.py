"""Texts that too few nodes say for a topic do not vanish: their node can put them to a vote of another kind.

That is another `gym.core.network.Network`: a registry that people vote on, say. This package knows none.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gym.core.network import Compressed
from gym.federated import bitdelta
from gym.federated.boards import Board
from gym.federated.decision import Decision, TopicRuling
from gym.federated.messages import Bundle, Item, text_digest
from gym.federated.round import Round


class Alone(NamedTuple):
    """A text of one node that found no support."""

    text: str
    domain: str
    round: int
    """The last in which it was tried."""
    reason: str
    item: Item

    @property
    def compressed(self) -> Compressed:
        """As a network takes it."""
        code, scale = self.item.code, bitdelta.scales(bitdelta.read([self.item.code]))
        return Compressed(
            text=self.text,
            signs=code[: bitdelta.SIGN_BYTES],
            scale=float(scale[0]),
            confidence=self.item.evidence.confidence,
        )


def unsupported(board: Board, decisions: Sequence[Decision], node: str) -> tuple[Alone, ...]:
    """What a node sent in closed rounds that too few others said, as far as nothing published since says it.

    In the order of the rounds, a text that was sent again where it was sent last.
    """
    published = {text_digest(one.text) for decision in decisions for one in decision.published}
    found: dict[str, Alone] = {}
    for round, decision in zip(board.rounds(), decisions, strict=False):
        items = {item.text: item for item in _items(board, round, decision, node)}
        for topic in decision.topics:
            for text in _said(topic, node) if topic.verdict == "unsupported" else ():
                if (digest := text_digest(text)) not in published and text in items:
                    found.pop(digest, None)
                    found[digest] = Alone(text, topic.domain, round.number, topic.reason, items[text])
    return tuple(found.values())


def _said(topic: TopicRuling, node: str) -> Iterator[str]:
    """All that a node said of a topic."""
    yield from (one.text for one in topic.candidates if node in one.nodes)
    yield from (one.text for one in topic.spare if one.node == node)


def batch(texts: Sequence[Alone]) -> Mapping[str, Compressed]:
    """What `Network.submit_experiences` takes, by the digest of each text."""
    return {text_digest(one.text): one.compressed for one in texts}


def _items(board: Board, round: Round, decision: Decision, node: str) -> Iterator[Item]:
    messages = (one.message for one in board.collected(round, decision.messages).messages)
    return (item for told in messages if isinstance(told, Bundle) and told.node == node for item in told.items)
