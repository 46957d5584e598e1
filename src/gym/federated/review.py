"""What a node checks before texts are compared: that a code is its text's, and that its own admission lets the text in.

The receiver embeds every text itself. A review is signed, and an item is refused when more than half of the other nodes
object to it: so machines whose encoders differ in the last digit still reach one decision, and a minority of liars can
keep nothing out.
"""

from collections.abc import Callable, Iterator

from gym.core.operation import Refused
from gym.embedding import Embedder
from gym.errors import ConfigError
from gym.federated import bitdelta
from gym.federated.inbox import Collected
from gym.federated.messages import Bundle, Objection, Review, text_digest

MOST_BITS_OFF = 8
"""Of 384 signs. Another machine's encoder moves a coordinate across 0 in one text of a few hundred."""
NOT_ADMITTED = "refused by this node's admission"
"""All that is said of it: the gate's own reason may quote an answer of the node's training problems."""


def review(
    collected: Collected, *, node: str, encoder: Embedder, refused: Callable[[str], Refused | None] = lambda text: None
) -> Review:
    """The node's review of all bundles; `refused` is what its own admission has against a text, if anything.

    Raises `ConfigError` when the node's encoder is not the round's.
    """
    round = collected.round
    if encoder.name != round.encoder:
        raise ConfigError(f"round {round.number} is of the encoder {round.encoder!r}, this node has {encoder.name!r}")
    bundles = [one.message for one in collected.messages if isinstance(one.message, Bundle)]
    told = {(objection.sender, objection.text): objection for objection in _objections(bundles, encoder, refused)}
    return Review(round=round.digest, node=node, objections=tuple(told[key] for key in sorted(told)))


def _objections(
    bundles: list[Bundle], encoder: Embedder, refused: Callable[[str], Refused | None]
) -> Iterator[Objection]:
    texts = list(dict.fromkeys(item.text for bundle in bundles for item in bundle.items))
    if not texts:
        return
    own = dict(zip(texts, bitdelta.signs(bitdelta.encode(encoder(texts))), strict=True))
    for bundle in bundles:
        sent = bitdelta.signs(bitdelta.read(item.code for item in bundle.items))
        for item, signs in zip(bundle.items, sent, strict=True):
            bits = int((signs != own[item.text]).sum())
            if bits > MOST_BITS_OFF:
                yield _objection(bundle, item.text, f"its code is {bits} bits off")
            elif refused(item.text) is not None:
                yield _objection(bundle, item.text, NOT_ADMITTED)


def _objection(bundle: Bundle, text: str, reason: str) -> Objection:
    return Objection(sender=bundle.node, text=text_digest(text), reason=reason)
