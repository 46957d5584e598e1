"""A round in a folder: everything its decision comes from, so that anyone who has the folder can compute it again.

    round.json                  the `Round`: members, keys, encoder, rules
    bundles/CID.packet          one signed packet a file, named by the CID of its body
    reviews/ measurements/ removals/ confirmations/
    shut.json                   kinds of messages that are late by now
    decision.json               written when the round is closed; believed by nobody, for its messages give it again

Files appear whole or not at all, and a name belongs to one content, so that any number of nodes may write at once.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from gym.core.text import count
from gym.errors import ConfigError, RunFailed
from gym.federated.decision import Decision
from gym.federated.inbox import Collected, collect
from gym.federated.merge import decide
from gym.federated.messages import DECIDING, Kind
from gym.federated.packet import MAX_BYTES, Received, Refusal, unseal
from gym.federated.round import Round
from gym.files import write_atomic

DECISION = "decision.json"
SHUT = "shut.json"
FOLDERS: Mapping[Kind, str] = {
    "bundle": "bundles", "review": "reviews", "measurement": "measurements", "removal": "removals",
    "confirmation": "confirmations",
}  # fmt: skip


_Kept = TypeVar("_Kept", Round, Decision)
_KINDS = TypeAdapter(tuple[Kind, ...])


class RoundDir:
    """One round's files."""

    def __init__(self, path: str | Path) -> None:
        """Raises `ConfigError` where there is no round."""
        self.path = Path(path)
        self.round = _read(Round, self.path / "round.json")

    @classmethod
    def create(cls, path: str | Path, round: Round) -> "RoundDir":
        """A new round in a folder; raises `ConfigError` where another one lies."""
        file = Path(path) / "round.json"
        if not file.exists():
            write_atomic(file, round.model_dump_json(indent=1))
        found = cls(path)
        if found.round != round:
            raise ConfigError(f"{str(path)!r} holds another round: {found.round.digest[:8]}…, not {round.digest[:8]}…")
        return found

    def post(self, packet: bytes) -> Refusal | None:
        """Keep a packet that fits the round; why not, otherwise."""
        received = unseal(packet, self.round)
        if isinstance(received, Refusal):
            return received
        if received.kind in self.shut_kinds():
            return late(received)
        file = self.path / FOLDERS[received.kind] / f"{received.cid}.packet"
        if not file.exists() or file.read_bytes() != packet:
            write_atomic(file, packet)
        return None

    def collected(self, only: Collection[str] | None = None) -> Collected:
        """What is left of the packets, whoever put them there; `only` those of some CIDs, once the round is closed."""
        return collect(self.round, self._packets(only))

    def shut(self, kind: Kind) -> None:
        """From now on messages of this kind are late."""
        write_atomic(self.path / SHUT, json.dumps(sorted({*self.shut_kinds(), kind})))

    def confirmations(self) -> tuple[bytes, ...]:
        """Packets in which nodes signed what they decided."""
        return tuple(self._read("confirmation", None))

    def close(self, only: Collection[str] | None = None) -> Decision:
        """Write down the decision as the packets give it now, or `only` those: what comes later is late."""
        decision = decide(self.collected(only))
        write_atomic(self.path / DECISION, decision.model_dump_json(indent=1))
        return decision

    def told(self) -> Decision | None:
        """What was written down, if anything."""
        file = self.path / DECISION
        return _read(Decision, file) if file.exists() else None

    def decision(self) -> Decision:
        """Computed from the packets that the closed round names, or from all while it is open.

        Raises `RunFailed` when it is not what is written down.
        """
        told = self.told()
        computed = decide(self.collected(None if told is None else told.messages))
        if told is not None and told.digest != computed.digest:
            raise RunFailed(f"{str(self.path / DECISION)!r} is not what the packets give: {difference(told, computed)}")
        return computed

    def shut_kinds(self) -> frozenset[str]:
        """Of messages that are late by now."""
        file = self.path / SHUT
        try:
            return frozenset(_KINDS.validate_json(file.read_bytes())) if file.exists() else frozenset()
        except (OSError, ValidationError) as error:
            raise ConfigError(f"{str(file)!r} is no list of kinds of messages") from error

    def _packets(self, only: Collection[str] | None) -> Iterator[bytes]:
        return chain.from_iterable(self._read(kind, only) for kind in FOLDERS if kind in DECIDING)

    def _read(self, kind: Kind, only: Collection[str] | None) -> Iterator[bytes]:
        """Of a file that is too long as much as makes it refused."""
        for file in sorted((self.path / FOLDERS[kind]).glob("*.packet")):
            if only is None or file.stem in only:
                with file.open("rb") as opened:
                    yield opened.read(2 * max(MAX_BYTES.values()))


def late(received: Received) -> Refusal:
    """Of a message whose time is over."""
    detail = f"no {received.kind} is taken any more"
    return Refusal(reason="late", detail=detail, node=received.message.node, cid=received.cid)


def difference(told: Decision, computed: Decision) -> str:
    """The first thing in which two decisions differ, in words."""
    if missing := set(told.messages) - set(computed.messages):
        return f"{count(len(missing), 'message')} it was made from {'is' if len(missing) == 1 else 'are'} not here"
    names = ({one.text for one in told.published}, {one.text for one in computed.published})
    if names[0] != names[1]:
        return f"it adds {sorted(names[0] - names[1])} and leaves out {sorted(names[1] - names[0])}"
    fields = [
        name for name in Decision.model_fields if name != "refusals" and getattr(told, name) != getattr(computed, name)
    ]
    return f"it differs in {', '.join(fields)}"


def _read(kind: type[_Kept], file: Path) -> _Kept:
    try:
        return kind.model_validate_json(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ConfigError(f"there is no round in {str(file.parent)!r}: {file.name} is missing") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{str(file)!r} cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        wrong = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
        raise ConfigError(
            f"{str(file)!r} is damaged ({wrong}): copy it from the same folder of the server or of another member"
        ) from error
