"""What a node gives a network of its library, and what it takes from it (SPEC 3.8 and 3.9; the paper's listing)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from gym.core.experience import Add, Delete, Evidence
from gym.core.network import Compressed, Shared
from gym.core.operation import Accepted, Rejected
from gym.embedding import Embedder
from gym.embedding.encoders import open_encoder, resolved
from gym.federated import bitdelta
from gym.federated.redaction import Consent, preview
from gym.train.grpo.experience_manager import ExperienceManager

_FROM = "network"


class LocalDSOOptimizer:
    """A library on its way to the network; the model stays where it is, and as it is."""

    def __init__(
        self,
        model: object,
        exp_mgr: ExperienceManager,
        *,
        encoder: Embedder | None = None,
        consent: Consent | None = None,
    ) -> None:
        """Of `model` only the name is used. By default `encoder` is the one that knows meaning, where it is installed.

        With `consent`, only domains that it opts in are given, redacted.
        """
        self.model_id = str(getattr(model, "name_or_path", None) or getattr(model, "model", None) or model)
        self._library = exp_mgr
        self._encoder = encoder
        self._consent = consent

    @property
    def encoder(self) -> Embedder:
        """What texts are coded with; its name travels with the codes."""
        if self._encoder is None:
            self._encoder = open_encoder(resolved("auto"))
        return self._encoder

    def compress_for_network(self, min_confidence: float = 0.7) -> Mapping[str, Compressed]:
        """By id, text, 48 bytes of signs, scale and confidence of every experience that is confident enough.

        The codes of 100 experiences take 5,200 bytes; the texts come on top.
        """
        entries = [entry for entry in self._library if entry.confidence >= min_confidence]
        texts = {entry.id: entry.text for entry in entries}
        if self._consent is not None:
            seen = preview(self._library.library, self._consent).sent
            texts = {row.id: row.sent for row in seen if row.id in texts and row.sent is not None}
        kept = [entry for entry in entries if entry.id in texts]
        codes = bitdelta.encode(self.encoder([texts[entry.id] for entry in kept]))
        scales = bitdelta.scales(codes).tolist()
        return {
            entry.id: Compressed(
                text=texts[entry.id],
                signs=code[: bitdelta.SIGN_BYTES].tobytes(),
                scale=scale,
                confidence=entry.confidence,
            )
            for entry, code, scale in zip(kept, codes, scales, strict=True)
        }


class Pulled(NamedTuple):
    """What a pull changed."""

    added: tuple[str, ...]
    """Ids of new experiences."""
    removed: tuple[str, ...]
    """Ids of experiences that had come from the network, and were removed there."""
    refused: tuple[Rejected, ...]
    """What the node's own gate kept out."""


class Source(Protocol):
    """Where accepted experiences come from: a `Network`, or what was fetched from one."""

    def fetch_accepted_experiences(self) -> Sequence[Shared]:
        """What is accepted now."""
        ...


class Fetched(NamedTuple):
    """What was accepted, at hand."""

    library: Sequence[Shared]

    def fetch_accepted_experiences(self) -> Sequence[Shared]:
        return self.library


def pull(network: Source, exp_mgr: ExperienceManager, *, name: str = "") -> Pulled:
    """Take what the network accepted, and let go what it removed again. A second pull changes nothing.

    What the node had already stays its own, and what it refused, changed or removed is not taken again. A library that
    pulls from several networks tells them apart by `name`.
    """
    origin = f"{_FROM}:{name}" if name else _FROM
    accepted = {f"{origin}:{entry.cid}": entry for entry in network.fetch_accepted_experiences()}
    held = {entry.id: source for entry in exp_mgr for source in entry.origin if source.rpartition(":")[0] == origin}
    known = {source for event in exp_mgr.journal for source in event.rollouts}
    gone = exp_mgr.apply_operations(
        [Delete(id=id, evidence=Evidence(origin=(source,))) for id, source in held.items() if source not in accepted],
        actor="network",
    )
    new = [
        exp_mgr.apply_operations(
            [Add(experience=entry.text, evidence=Evidence(origin=(source,)))], domain=entry.domain, actor="network"
        )
        for source, entry in accepted.items()
        if source not in known
    ]
    return Pulled(
        added=tuple(_new_id(one) for applied in new for one in applied.accepted),
        removed=tuple(one.before[0].id for one in gone.accepted),
        refused=tuple(one for applied in new for one in applied.rejected),
    )


def _new_id(accepted: Accepted) -> str:
    return accepted.after[0].id
