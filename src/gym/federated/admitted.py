"""Which items of the bundles take part: the gate for every experience text, and the reviews (SPEC 2.3, 6.4)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeVar

from gym.core.admission import Admission
from gym.core.operation import Refused
from gym.core.text import count
from gym.federated.align import Submitted
from gym.federated.decision import RefusedText
from gym.federated.inbox import Collected
from gym.federated.messages import Bundle, Message, Review, text_digest

_ADMISSION = Admission()
_Said = TypeVar("_Said", bound=Message)


class Admitted(NamedTuple):
    """Every item is in one of both."""

    texts: tuple[Submitted, ...]
    refused: tuple[RefusedText, ...]


def admitted(collected: Collected) -> Admitted:
    """The items whose text passes on its own, and to which no more than half of the other nodes object."""
    objections, others = _objections(collected), collected.round.n - 1
    texts, refused = list[Submitted](), list[RefusedText]()
    for bundle in said(collected, Bundle):
        for item in bundle.items:
            digest = text_digest(item.text)
            fault = _fault(item.text) or _objected(objections.get((bundle.node, digest), {}), others)
            if fault is None:
                texts.append(Submitted(digest, bundle.node, item))
            else:
                refused.append(RefusedText(node=bundle.node, text=item.text, reason=fault))
    return Admitted(tuple(texts), tuple(sorted(refused, key=lambda one: (one.node, one.text))))


def said(collected: Collected, kind: type[_Said]) -> Iterator[_Said]:
    """The messages of one kind."""
    return (one.message for one in collected.messages if isinstance(one.message, kind))


def _fault(text: str) -> str | None:
    """What is wrong with a text whoever reads it."""
    verdict = _ADMISSION(text, (), ())
    if isinstance(verdict, Refused):
        return verdict.reason
    return None if verdict.text == text else "not in the one-line form of an experience"


def _objections(collected: Collected) -> Mapping[tuple[str, str], Mapping[str, str]]:
    """By sender and text, the reason of each node that objects."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for review in said(collected, Review):
        for objection in review.objections:
            found.setdefault((objection.sender, objection.text), {})[review.node] = objection.reason
    return found


def _objected(reasons: Mapping[str, str], others: int) -> str | None:
    if 2 * len(reasons) <= others:
        return None
    return f"{count(len(reasons), 'node')} object: {'; '.join(sorted(set(reasons.values())))}"
