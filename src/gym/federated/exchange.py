"""What a server asks a node and what it answers, as bytes; nothing in it is believed that is not signed by its node.

Every question can be asked again: a node answers from its files, so that a lost answer, a restart of either side or two
servers at once change nothing.
"""

from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from gym.federated.messages import Wire
from gym.federated.packet import packed, unpacked
from gym.federated.round import Hex32, Round

Step = Literal["share", "review", "measure", "check", "confirm", "publish"]
MOST_PACKETS = 20_000
Packets = Annotated[tuple[bytes, ...], Field(max_length=MOST_PACKETS)]


class Ask(Wire):
    """One step of a round."""

    step: Step
    round: bytes
    """The `Round`, as JSON."""
    packets: Packets = ()
    """Of others, which the node may not have yet."""
    messages: Annotated[tuple[str, ...], Field(max_length=MOST_PACKETS)] | None = None
    """From `check` on: the CIDs of all messages that the decision is made from."""
    decision: Hex32 | None = None
    """From `check` on: the digest that the server computed."""

    @property
    def opened(self) -> Round:
        """Raises `ValidationError` for what is no round."""
        return Round.model_validate_json(self.round)


class Answer(Wire):
    """What a node has said in the round so far, and what it will not do."""

    packets: Packets = ()
    """All its own."""
    refused: str = ""
    """Why it did not do what was asked; empty when it did."""
    missing: bool = False
    """It lacks packets or earlier rounds: send all of them."""
    closed: Annotated[int, Field(ge=0)] = 0
    """Rounds that are over for it."""
    library: Hex32 | None = None
    """After `publish`: the digest of the library that it has now."""


_Said = TypeVar("_Said", Ask, Answer)


def encode(value: Ask | Answer) -> bytes:
    """As it travels."""
    return packed(value.model_dump(mode="python"))


def read_ask(data: bytes) -> Ask | None:
    """What a server asks; None for anything else."""
    return _read(Ask, data)


def read_answer(data: bytes) -> Answer | None:
    """What a node answers; None for anything else."""
    return _read(Answer, data)


def _read(kind: type[_Said], data: bytes) -> _Said | None:
    try:
        return kind.model_validate(unpacked(data), strict=True)
    except ValidationError:
        return None
