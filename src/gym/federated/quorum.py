"""When a decision holds: two thirds of the members signed that they computed it from messages that hold all they said.

Any two such majorities share more than f nodes, so one honest node, and that signs one decision a round: whoever carries
the messages cannot give two nodes two decisions, nor leave out what more than a third of the nodes said.
"""

from collections.abc import Iterable

from gym.federated.messages import Confirmation
from gym.federated.packet import Received, unseal
from gym.federated.round import Round, two_thirds


def confirmed_by(round: Round, packets: Iterable[bytes], decision: str) -> tuple[str, ...]:
    """The nodes that signed this decision (its digest) and no other, sorted; what is no confirmation counts for nothing."""
    said: dict[str, set[str]] = {}
    for packet in packets:
        received = unseal(packet, round)
        if isinstance(received, Received) and isinstance(received.message, Confirmation):
            said.setdefault(received.message.node, set()).add(received.message.decision)
    return tuple(sorted(node for node, decisions in said.items() if decisions == {decision}))


def holds(round: Round, nodes: Iterable[str]) -> bool:
    """Whether so many nodes are enough."""
    return len(set(nodes)) >= two_thirds(round.n)
