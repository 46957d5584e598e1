"""A round in a folder: everything its decision comes from, so that anyone who has the folder can compute it again.

    round.json                  the `Round`: members, keys, encoder, rules
    bundles/CID.packet          one signed packet a file, named by the CID of its body
    reviews/ measurements/ removals/
    decision.json               what somebody decided; believed by nobody who can compute it

Files appear whole or not at all, and a name belongs to one content, so that any number of nodes may write at once.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from gym.errors import ConfigError, RunFailed
from gym.federated.decision import Decision
from gym.federated.inbox import Collected, collect
from gym.federated.merge import decide
from gym.federated.messages import Kind
from gym.federated.packet import MAX_BYTES, Refusal, unseal
from gym.federated.round import Round
from gym.files import write_atomic

FOLDERS: Mapping[Kind, str] = {
    "bundle": "bundles", "review": "reviews", "measurement": "measurements", "removal": "removals"
}  # fmt: skip


_Kept = TypeVar("_Kept", Round, Decision)


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
        write_atomic(self.path / FOLDERS[received.kind] / f"{received.cid}.packet", packet)
        return None

    def packets(self) -> Iterator[bytes]:
        """Everything that lies there, whoever put it there; of a file that is too long as much as makes it refused."""
        for folder in FOLDERS.values():
            for file in sorted((self.path / folder).glob("*.packet")):
                with file.open("rb") as opened:
                    yield opened.read(2 * max(MAX_BYTES.values()))

    def collected(self) -> Collected:
        """What is left of the packets."""
        return collect(self.round, self.packets())

    def decide(self) -> Decision:
        """Computed from the packets."""
        return decide(self.collected())

    def publish(self) -> Decision:
        """Write down the decision as it is computed now."""
        decision = self.decide()
        write_atomic(self.path / "decision.json", decision.model_dump_json(indent=1))
        return decision

    def told(self) -> Decision | None:
        """What was written down, if anything."""
        file = self.path / "decision.json"
        return _read(Decision, file) if file.exists() else None

    def checked(self) -> Decision:
        """The decision as computed; raises `RunFailed` when another one is written down."""
        decision, told = self.decide(), self.told()
        if told is not None and told.digest != decision.digest:
            raise RunFailed(
                f"{str(self.path / 'decision.json')!r} is not what the packets give: {difference(told, decision)}"
            )
        return decision


def difference(told: Decision, computed: Decision) -> str:
    """The first thing in which two decisions differ, in words."""
    if told.messages != computed.messages:
        more, fewer = set(told.messages) - set(computed.messages), set(computed.messages) - set(told.messages)
        return f"it was made from {len(more)} messages that are not here, and without {len(fewer)} that are"
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
        raise ConfigError(f"{str(file)!r}: {'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}") from error
