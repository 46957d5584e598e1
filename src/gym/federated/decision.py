"""What a round came to, with its reasons: a value that every node computes alike and compares by its digest."""

from functools import cached_property
from typing import Literal

from gym.core.cid import cid
from gym.core.value import Value, canonical_json, digest
from gym.federated.packet import Refusal
from gym.federated.utility import Utility

FORMAT = "zoo-gym/experience/1"


class Published(Value):
    """A text that passed."""

    text: str
    domain: str
    nodes: tuple[str, ...]
    """Who said it or the like."""
    helps: int
    """Nodes whose problems it helped on."""

    @property
    def content(self) -> bytes:
        """What is addressed, and what a vote would be on: canonical JSON of the text, its domain and the format."""
        return canonical_json({"domain": self.domain, "format": FORMAT, "text": self.text}).encode()

    @property
    def cid(self) -> str:
        """The address of the content."""
        return cid(self.content)


class Candidate(Value):
    """A submitted text, how near it is to what its topic says, and what its trial came to."""

    text: str
    digest: str
    nodes: tuple[str, ...]
    """Who submitted it, these words or the same but for punctuation."""
    cosine: float | None
    """Of its signs to the topic's aggregate; None where there is none."""
    outlier: bool = False
    verdict: Literal["accepted", "refused", "open", "reserve", "outlier", "tried before"]
    """reserve: its turn has not come, for another text of the topic is accepted or open, or enough were tried."""
    reason: str = ""
    utilities: tuple[Utility, ...] = ()


class Spare(Value):
    """A text of a topic in which its node's vote is another text, nearer to what the others say; it was not tried."""

    node: str
    text: str


class TopicRuling(Value):
    """One topic: who supports it, its texts by nearness, and what became of it."""

    domain: str
    nodes: tuple[str, ...]
    texts: int
    """Of all nodes: one may have several."""
    verdict: Literal["accepted", "refused", "open", "unsupported"]
    reason: str
    candidates: tuple[Candidate, ...] = ()
    """Nearest first; of an unsupported topic each node's, unmeasured."""
    spare: tuple[Spare, ...] = ()


class RefusedText(Value):
    """An item that took no part."""

    node: str
    text: str
    reason: str


class Decision(Value):
    """Of one round, from its messages alone."""

    round: str
    """Digest of the round."""
    number: int
    n: int
    f: int
    messages: tuple[str, ...]
    """The CIDs of all messages it was made from; whatever comes after it was written down is late."""
    topics: tuple[TopicRuling, ...]
    published: tuple[Published, ...]
    removed: tuple[str, ...]
    """Digests of texts that two thirds of the members asked to leave."""
    pending: tuple[str, ...]
    """Digests of the texts that nodes must measure now; none when the round is over."""
    measured: tuple[str, ...]
    """Digests of the texts that were tried, for `Round.tried` of the next round."""
    refused_texts: tuple[RefusedText, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    """Packets that were not taken. They depend on who sent rubbish to whom, so they are not part of the digest."""
    equivocators: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything but the refused packets."""
        return digest(self.model_dump(mode="json", exclude={"refusals"}))
