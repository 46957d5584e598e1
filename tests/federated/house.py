"""A small federation for tests: members with fixed keys, and texts whose vectors are chosen, not computed by a model."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym.embedding import DIM, Vectors
from gym.federated import bitdelta
from gym.federated.messages import Bundle, Evidence, Gain, Item, Measurement, Review, exact_digest
from gym.federated.packet import seal
from gym.federated.round import Member, Round
from gym.signing import NodeKey

MODEL = "model-7b"


def key(node: str) -> NodeKey:
    """The same key for a name each time."""
    return NodeKey.drawn(hashlib.sha256(node.encode()).digest())


def member(node: str, **fields: Any) -> Member:
    return Member(address=node, key=key(node).public, **fields)


def round_of(n: int, **fields: Any) -> Round:
    """Nodes n00, n01 …"""
    members = tuple(member(f"n{place:02}") for place in range(n))
    return Round(**{"number": 0, "members": members, "encoder": Topical.name, "model": MODEL} | fields)


class Topical:
    """An encoder for tests: texts that open with the same word before the comma lie at a cosine of about 0.8."""

    name, dim = "topical", DIM

    def __call__(self, texts: Sequence[str]) -> Vectors:
        rows = np.array([_drawn(text.split(",")[0].split()[-1]) + 0.5 * _drawn(text) for text in texts]).reshape(
            -1, DIM
        )
        unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit


def _drawn(text: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(DIM)


def item(text: str, *, code: bytes | None = None, domain: str = "") -> Item:
    coded = bitdelta.encode(Topical()([text]))[0].tobytes() if code is None else code
    return Item(text=text, code=coded, domain=domain, evidence=Evidence(confidence=0.8))


def bundle(round: Round, node: str, *texts: str | Item) -> Bundle:
    items = tuple(one if isinstance(one, Item) else item(one) for one in texts)
    return Bundle(round=round.digest, node=node, encoder=round.encoder, model=MODEL, items=items)


def measured(round: Round, node: str, gains: Mapping[str, float], error: float = 0.01) -> Measurement:
    """Gains by text."""
    told = tuple(Gain(text=exact_digest(text), mean=mean, error=error, problems=50) for text, mean in gains.items())
    return Measurement(round=round.digest, node=node, gains=told)


def sealed(message: Bundle | Review | Measurement) -> bytes:
    """Signed by the node that it names."""
    return seal(message, key(message.node))
