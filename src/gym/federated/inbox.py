"""What is known of a round, message by message: replays, latecomers and double talk are found by what arrived before.

A value: receiving gives another inbox. What everybody finds in the end depends on the set of packets, not on their
order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from gym.federated.messages import DECIDING, Bundle, Kind, Measurement, Message, Review
from gym.federated.packet import Received, Refusal, pack, unseal
from gym.federated.round import Round

MOST_MESSAGES = 64
"""Of one node in a round: an honest one needs a dozen."""


class Equivocation(NamedTuple):
    """Two packets in which one node said two things: a proof that anyone can check, whoever shows it."""

    node: str
    first: bytes
    second: bytes
    cids: tuple[str, ...] = ()
    """Of both, sorted."""


class Reception(NamedTuple):
    """The inbox after a packet, and why the packet was not taken, if it was not."""

    inbox: "Inbox"
    refusal: Refusal | None = None


class Collected(NamedTuple):
    """Everything that a decision is made from."""

    round: Round
    messages: tuple[Received, ...]
    """In the order of their CIDs."""
    refusals: tuple[Refusal, ...] = ()
    equivocations: tuple[Equivocation, ...] = ()
    """In the order of the nodes."""

    @property
    def cids(self) -> tuple[str, ...]:
        """Of all messages that count, and of those that prove why others do not; sorted."""
        proofs = [cid for proof in self.equivocations for cid in proof.cids]
        return tuple(sorted([*(one.cid for one in self.messages), *proofs]))


@dataclass(frozen=True)
class Inbox:
    """The messages of one round so far."""

    round: Round
    open: frozenset[Kind] = DECIDING
    """What is still taken; anything else comes late."""
    messages: Mapping[str, tuple[Received, ...]] = field(default_factory=dict)
    """By node. Those of a node that was found to say two things are not among them."""
    equivocations: Mapping[str, Equivocation] = field(default_factory=dict)
    """By node."""

    def receive(self, packet: bytes) -> Reception:
        """The inbox with the packet's message in it, or a refusal with its reason."""
        received = unseal(packet, self.round)
        return Reception(self, received) if isinstance(received, Refusal) else self.take(received)

    def take(self, received: Received) -> Reception:
        """The same of a message that was unsealed before."""
        node, told = received.message.node, {"node": received.message.node, "cid": received.cid}
        before = self.messages.get(node, ())
        if any(one.cid == received.cid for one in before):
            return Reception(self, Refusal(reason="replayed", detail="this message is here already", **told))
        if node in self.equivocations:
            return Reception(
                self, Refusal(reason="equivocation", detail=f"{node!r} has said two things before", **told)
            )
        other = next((one for one in before if conflict(one.message, received.message)), None)
        if other is not None:
            first, second = sorted((other.packet, received.packet))
            proof = Equivocation(node, first, second, tuple(sorted((other.cid, received.cid))))
            detail = f"{node!r} said two things: {other.cid} and {received.cid}"
            return Reception(self._without(proof), Refusal(reason="equivocation", detail=detail, **told))
        if received.kind not in self.open:
            return Reception(self, Refusal(reason="late", detail=f"no {received.kind} is taken any more", **told))
        if len(before) >= MOST_MESSAGES:
            return Reception(
                self, Refusal(reason="too many messages", detail=f"{node!r} has sent {len(before)}", **told)
            )
        return Reception(replace(self, messages={**self.messages, node: (*before, received)}))

    def collected(self, refusals: Iterable[Refusal] = ()) -> Collected:
        """Everything so far, for a decision."""
        messages = sorted((one for ones in self.messages.values() for one in ones), key=lambda one: one.cid)
        return Collected(self.round, tuple(messages), tuple(refusals), tuple(sorted(self.equivocations.values())))

    def _without(self, proof: Equivocation) -> "Inbox":
        kept = {node: ones for node, ones in self.messages.items() if node != proof.node}
        return replace(self, messages=kept, equivocations={**self.equivocations, proof.node: proof})


def collect(
    round: Round, packets: Iterable[bytes], *, unsealed: Mapping[bytes, Received] = MappingProxyType({})
) -> Collected:
    """What is left of the packets of a round, the same in whatever order they come; equal packets count once.

    Those that were `unsealed` before are not read again.
    """
    inbox, refusals = Inbox(round), list[Refusal]()
    for packet in sorted(set(packets)):
        inbox, refusal = inbox.take(unsealed[packet]) if packet in unsealed else inbox.receive(packet)
        refusals += [refusal] if refusal else []
    return inbox.collected(refusals)


def conflict(one: Message, other: Message) -> bool:
    """Whether an honest node cannot have said both in one round: two bundles, two reviews, two gains for one text.

    Compared byte by byte: 0 and -0 are equal numbers, but two messages.
    """
    if one.node != other.node or one.round != other.round:
        return False
    match one, other:
        case (Bundle(), Bundle()) | (Review(), Review()):
            return pack(one) != pack(other)
        case Measurement(), Measurement():
            told = {gain.text: gain for gain in one.gains}
            return any(told.get(gain.text, gain) != gain for gain in other.gains)
        case _:
            return False


def is_proven(proof: Equivocation, round: Round) -> bool:
    """Whether both packets are the node's own, of this round, and contradict each other."""
    first, second = unseal(proof.first, round), unseal(proof.second, round)
    return (
        isinstance(first, Received)
        and isinstance(second, Received)
        and first.message.node == proof.node
        and conflict(first.message, second.message)
    )
