"""From a round's messages to its decision, with reasons: pure, so that every node computes it again.

Admission and reviews, alignment, the paper's coordinate-wise median with outliers rejected, the submitted texts nearest
to it, and the utility gate.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from gym.core.text import count
from gym.errors import TooFewNodes
from gym.federated.admitted import admitted, said
from gym.federated.aggregators import resolve_aggregator
from gym.federated.aggregators.base import Aggregator
from gym.federated.align import Topic, align
from gym.federated.decision import Candidate, Decision, Published, RefusedText, Spare, TopicRuling
from gym.federated.inbox import Collected
from gym.federated.messages import Gain, Measurement, Removal, exact_digest
from gym.federated.nearest import Near, nearest
from gym.federated.round import Round, two_thirds
from gym.federated.utility import rule

Gains = Mapping[str, Mapping[str, Gain]]
"""By the exact digest of a text, what each node measured."""

MOST_TRIED = 8
"""Texts of a topic. Where f + 1 is more (from 25 nodes on), that one of them is honest is likely, not certain."""


class Prepared(NamedTuple):
    """What bundles and reviews say; measurements do not change it."""

    basis: tuple[str, ...]
    """CIDs of the bundles and reviews it was made from."""
    topics: tuple[Topic, ...]
    near: tuple[tuple[Near, ...], ...]
    """Of each topic, its texts by nearness; none where too few nodes support it for an aggregate."""
    refused: tuple[RefusedText, ...]

    def fits(self, collected: Collected) -> bool:
        """Whether it was made from these bundles and reviews."""
        return self.basis == _basis(collected)


def prepare(collected: Collected, *, aggregator: Aggregator | None = None) -> Prepared:
    """The costly half of a decision, to be kept while measurements come in; another `aggregator` is for studies."""
    round, (texts, refused) = collected.round, admitted(collected)
    combine, topics = aggregator or resolve_aggregator(round.aggregator), align(texts)
    near = tuple(_near(topic, combine, round.f) for topic in topics)
    return Prepared(_basis(collected), topics, near, refused)


def decide(collected: Collected, *, prepared: Prepared | None = None) -> Decision:
    """The decision of a round, final when nothing is `pending`. What was `prepared` from other messages is made anew."""
    round, gains = collected.round, _gains(collected)
    if prepared is None or not prepared.fits(collected):
        prepared = prepare(collected)
    pairs = zip(prepared.topics, prepared.near, strict=True)
    topics = tuple(_ruling(round, topic, near, gains) for topic, near in pairs)
    return Decision(
        round=round.digest,
        number=round.number,
        n=round.n,
        f=round.f,
        messages=collected.cids,
        topics=topics,
        published=_published(topics),
        removed=_removed(collected),
        pending=_texts(topics, "open"),
        measured=_texts(topics, "accepted", "refused"),
        refused_texts=prepared.refused,
        refusals=collected.refusals,
        equivocators=tuple(proof.node for proof in collected.equivocations),
    )


def _basis(collected: Collected) -> tuple[str, ...]:
    return tuple(one.cid for one in collected.messages if one.kind in ("bundle", "review"))


def _near(topic: Topic, aggregator: Aggregator, f: int) -> tuple[Near, ...]:
    if len(topic.votes) <= f:
        return ()
    try:
        return nearest(topic.votes, aggregator, f=f)
    except TooFewNodes:
        return ()


def _ruling(round: Round, topic: Topic, near: Sequence[Near], gains: Gains) -> TopicRuling:
    nodes = {node for one in near if not one.outlier for node in one.nodes} or {vote.node for vote in topic.votes}
    if not near or len(nodes) <= round.f:
        return _unsupported(topic, nodes, round)
    candidates = tuple(_candidates(round, topic.domain, near, gains))
    last = next((one for one in candidates if one.verdict in ("accepted", "open")), None)
    return TopicRuling(
        domain=topic.domain,
        nodes=tuple(sorted(nodes)),
        texts=topic.texts,
        verdict="refused" if last is None else "accepted" if last.verdict == "accepted" else "open",
        reason=last.reason if last is not None else _none_passed(candidates),
        candidates=candidates,
        spare=_spare(topic),
    )


def _none_passed(candidates: Sequence[Candidate]) -> str:
    if any(one.verdict == "refused" for one in candidates):
        return "no text of it passed the utility gate"
    return "its texts were tried in earlier rounds"


def _candidates(round: Round, domain: str, near: Sequence[Near], gains: Gains) -> Iterator[Candidate]:
    """Each text with its verdict. One is tried at a time: of f + 1, one is an honest node's."""
    turns, settled = min(round.f + 1, MOST_TRIED), False
    for one in near:
        if one.outlier:
            yield Candidate(**one._asdict(), verdict="outlier")
        elif one.digest in round.tried:
            yield Candidate(**one._asdict(), verdict="tried before")
        elif settled or not turns:
            yield Candidate(**one._asdict(), verdict="reserve")
        else:
            ruling = rule(round, domain, gains.get(exact_digest(one.text), {}))
            turns, settled = turns - 1, ruling.verdict != "refused"
            yield Candidate(**one._asdict(), **dict(ruling))


def _unsupported(topic: Topic, nodes: Collection[str], round: Round) -> TopicRuling:
    shown = tuple(
        Candidate(text=vote.item.text, digest=vote.digest, nodes=(vote.node,), cosine=None, verdict="reserve")
        for vote in topic.votes
    )
    return TopicRuling(
        domain=topic.domain,
        nodes=tuple(sorted(nodes)),
        texts=topic.texts,
        verdict="unsupported",
        reason=f"supported by {count(len(nodes), 'node')}, "
        + (f"{round.f + 1} needed" if len(nodes) <= round.f else f"too few for the rule {round.aggregator!r}"),
        candidates=shown,
        spare=_spare(topic),
    )


def _spare(topic: Topic) -> tuple[Spare, ...]:
    return tuple(Spare(node=each.node, text=each.item.text) for each in topic.spare)


def _published(topics: Sequence[TopicRuling]) -> tuple[Published, ...]:
    """The accepted texts, each once, in the order of their digests."""
    passed = {
        one.digest: Published(
            text=one.text,
            domain=topic.domain,
            nodes=topic.nodes,
            helps=sum(each.says == "helps" for each in one.utilities),
        )
        for topic in topics
        for one in topic.candidates
        if one.verdict == "accepted"
    }
    return tuple(passed[digest] for digest in sorted(passed))


def _texts(topics: Sequence[TopicRuling], *verdicts: str) -> tuple[str, ...]:
    return tuple(sorted({one.digest for topic in topics for one in topic.candidates if one.verdict in verdicts}))


def _gains(collected: Collected) -> Gains:
    found: dict[str, dict[str, Gain]] = {}
    for measurement in said(collected, Measurement):
        for gain in measurement.gains:
            found.setdefault(gain.text, {})[measurement.node] = gain
    return found


def _removed(collected: Collected) -> tuple[str, ...]:
    asked: dict[str, set[str]] = {}
    for removal in said(collected, Removal):
        for text in removal.texts:
            asked.setdefault(text, set()).add(removal.node)
    needed = two_thirds(collected.round.n)
    return tuple(sorted(text for text, nodes in asked.items() if len(nodes) >= needed))
