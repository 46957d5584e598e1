"""Which submitted texts say the same: average linkage of the codes in the bundles, one vote a node and topic.

Measured on the codes that were sent, not on vectors that each node embeds anew: encoders differ in the sixth decimal
between machines, bundles do not. What a code has to do with its text is checked before, in the reviews. Texts stand in
the order of their digests, and texts of different domains are never compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gym.federated import bitdelta
from gym.federated.linkage import average_linkage
from gym.federated.messages import Item


class Submitted(NamedTuple):
    """A text that a node sent."""

    digest: str
    node: str
    item: Item


class Topic(NamedTuple):
    """What several nodes say in their own words."""

    domain: str
    votes: tuple[Submitted, ...]
    """One a node, in the order of digests."""
    texts: int
    """Those of all nodes, before each has one vote."""
    spare: tuple[Submitted, ...] = ()
    """Those whose node has another text as its vote, in the order of digests."""


def align(submitted: Sequence[Submitted]) -> tuple[Topic, ...]:
    """The topics of each domain, those with most votes first; each text is in one topic."""
    domains: dict[str, list[Submitted]] = {}
    for each in sorted(submitted, key=lambda each: (each.digest, each.node)):
        domains.setdefault(each.item.domain, []).append(each)
    found = [topic for domain, texts in domains.items() for topic in _topics(domain, texts)]
    return tuple(
        sorted(found, key=lambda topic: (-len(topic.votes), topic.domain, topic.votes[0].digest, topic.votes[0].node))
    )


def _topics(domain: str, texts: Sequence[Submitted]) -> Iterator[Topic]:
    signs = bitdelta.signs(bitdelta.read(each.item.code for each in texts))
    for rows in average_linkage(signs):
        together = [texts[row] for row in rows]
        votes = _votes(together, signs[list(rows)])
        chosen = {(vote.digest, vote.node) for vote in votes}
        spare = tuple(each for each in together if (each.digest, each.node) not in chosen)
        yield Topic(domain, votes, len(together), spare)


def _votes(texts: Sequence[Submitted], signs: bitdelta.Signs) -> tuple[Submitted, ...]:
    """Of each node the text that agrees most with what the others say; of equals the first."""
    if len({each.node for each in texts}) == len(texts):
        return tuple(texts)
    whole = signs.sum(axis=0, dtype=np.int64)
    best: dict[str, int] = {}
    for node, places in _by_node(texts).items():
        others = whole - signs[places].sum(axis=0, dtype=np.int64)
        best[node] = places[int((signs[places] @ others).argmax())]
    return tuple(texts[place] for place in sorted(best.values()))


def _by_node(texts: Sequence[Submitted]) -> Mapping[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, each in enumerate(texts):
        places.setdefault(each.node, []).append(place)
    return places
