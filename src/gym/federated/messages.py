"""What nodes say to each other in a round: five kinds of values, each signed as what it is (`gym.federated.packet`)."""

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Literal
from unicodedata import category

from pydantic import ConfigDict, Field, StringConstraints

from gym.core.value import Value
from gym.federated.bitdelta import CODE_BYTES
from gym.federated.round import Hex32, Name

_ASCII_WORD = re.compile(r"[a-z0-9$+<=>^`|~]+")
MAX_ITEMS = 100
MAX_TEXT_BYTES = 1024
"""In UTF-8. The 32 words of an experience rarely take 300."""
DOMAIN_CHARACTERS = 80
Kind = Literal["bundle", "review", "measurement", "removal", "confirmation"]

Finite = Annotated[float, Field(allow_inf_nan=False)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT_BYTES)]
Domain = Annotated[str, StringConstraints(max_length=DOMAIN_CHARACTERS)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2**53)]


class Wire(Value):
    """A value that travels; its bytes are base64 in JSON."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")


class Evidence(Wire):
    """What its sender knows of an experience; nobody else can check it, so it decides nothing."""

    confidence: Share
    uses: Count = 0
    helpful: Count = 0
    harmful: Count = 0


class Item(Wire):
    """One experience of a bundle."""

    text: Text
    code: Annotated[bytes, Field(min_length=CODE_BYTES, max_length=CODE_BYTES)]
    """Of its vector under the round's encoder, `gym.federated.bitdelta`."""
    domain: Domain = ""
    evidence: Evidence


class Bundle(Wire):
    """What a node shares in a round: once."""

    round: Hex32
    node: Name
    encoder: Name
    model: Name
    items: Annotated[tuple[Item, ...], Field(max_length=MAX_ITEMS)]


class Objection(Wire):
    """An item that a node would not let in."""

    sender: Name
    """The node whose bundle holds it: what is wrong with one copy of a text need not be wrong with another."""
    text: Hex32
    """Its digest."""
    reason: Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Review(Wire):
    """What a node found wrong with the others' texts: once a round, empty when nothing is."""

    round: Hex32
    node: Name
    objections: Annotated[tuple[Objection, ...], Field(max_length=20_000)] = ()


class Gain(Wire):
    """The paired difference that a text made on a node's own problems."""

    text: Hex32
    """Its `exact_digest`: other words, or these with a comma moved, were not measured."""
    mean: Annotated[float, Field(ge=-1.0, le=1.0, allow_inf_nan=False)]
    """Mean reward with the text minus without it, on the same problems."""
    error: Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
    """Standard error of the mean."""
    problems: Annotated[int, Field(ge=1, le=2**53)]


class Measurement(Wire):
    """Gains that a node measured. It may send several, but only one gain a text."""

    round: Hex32
    node: Name
    gains: Annotated[tuple[Gain, ...], Field(max_length=20_000)]


class Removal(Wire):
    """A node asks that published texts leave again."""

    round: Hex32
    node: Name
    texts: Annotated[tuple[Hex32, ...], Field(max_length=20_000)]


class Confirmation(Wire):
    """A node computed this decision itself, from messages that hold all it said: once a round (`gym.federated.quorum`)."""

    round: Hex32
    node: Name
    decision: Hex32
    """Its digest."""


Message = Bundle | Review | Measurement | Removal | Confirmation
KINDS: Mapping[Kind, type[Message]] = {
    "bundle": Bundle, "review": Review, "measurement": Measurement, "removal": Removal, "confirmation": Confirmation
}  # fmt: skip
DECIDING: frozenset[Kind] = frozenset({"bundle", "review", "measurement", "removal"})
"""Kinds that a decision is made from."""


def exact_digest(text: str) -> str:
    """SHA-256 of a text as it stands."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def text_digest(text: str) -> str:
    """By what a text is known: SHA-256 of its letters, marks, digits and symbols without case; an added comma is no new text.

    >>> text_digest("Check the units.") == text_digest("check the  UNITS")
    True
    >>> text_digest("If a < b, swap.") == text_digest("If a > b, swap.")
    False
    """
    words = _words(text.casefold()) or [text]
    return hashlib.sha256(" ".join(words).encode("utf-8", "surrogatepass")).hexdigest()


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return "".join(each if category(each)[0] in "LMNS" else " " for each in text).split()
