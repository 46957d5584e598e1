"""The folders of a federation: a server's with its team and certificate, a node's with its keys and what it releases."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from gym.core.experience import Library
from gym.core.text import count
from gym.core.value import Value
from gym.embedding import Embedder
from gym.errors import ConfigError
from gym.federated import bitdelta
from gym.federated.boards import FolderBoard
from gym.federated.certificates import AUTHORITY, CERTIFICATE, certify
from gym.federated.history import History
from gym.federated.keys import LINK, OPERATOR, RUNTIME, SIGNING, link_key, public_pem, secret, token
from gym.federated.messages import MAX_ITEMS, Evidence, Item, text_digest
from gym.federated.redaction import Consent, Preview, preview
from gym.federated.round import NODE_CHARACTERS, Hex32, Member
from gym.federated.team import CARD, TEAM, Card, Team, read_team, read_value, write_value
from gym.files import write_atomic
from gym.signing import NodeKey, open_key

RELEASED, REMOVALS, ROUNDS = "released.json", "removals.json", "rounds"
ADDRESS = "address"
"""Where the server was started last, host:port."""
LIBRARY = "experiences.json"
_DIGESTS = TypeAdapter(tuple[Hex32, ...])


class Released(Value):
    """What its owner has seen and let go: nothing else leaves."""

    items: tuple["ReleasedItem", ...] = ()


class ReleasedItem(Value):
    """One experience as it leaves."""

    text: str
    domain: str = ""
    evidence: Evidence


@contextmanager
def alone(folder: Path, what: str) -> Iterator[None]:
    """While inside, no other process does `what` in the folder; raises `ConfigError` where one does, or there is none."""
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {str(folder)!r}: gym federate keys makes one")
    lock = FileLock(folder / f".{what}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ConfigError(f"another process is a {what} in {str(folder)!r} already") from None
    except OSError as error:
        raise ConfigError(f"{str(folder)!r} cannot be used: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()


def kind_of(folder: Path) -> Literal["server", "node"] | None:
    """Whose folder it is; None for neither's."""
    return "node" if (folder / CARD).exists() else "server" if (folder / CERTIFICATE).exists() else None


def _check_kind(folder: Path, wanted: Literal["server", "node"]) -> None:
    if (found := kind_of(folder)) == wanted:
        return
    if found is not None:
        raise ConfigError(f"{str(folder)!r} is the folder of a {found}, not of a {wanted}")
    if folder.exists():
        raise ConfigError(f"{str(folder)!r} is the folder of no {wanted}: gym federate keys makes one")
    beside = sorted(str(one) for one in folder.parent.glob("*") if kind_of(one) == wanted)
    near = get_close_matches(str(folder), beside, n=1) or beside[:1]
    hint = f"did you mean {near[0]!r}?" if near else "gym federate keys makes one"
    raise ConfigError(f"there is no folder {str(folder)!r}: {hint}")


class ServerHome:
    """A server's folder."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def open(cls, path: str | Path) -> "ServerHome":
        """Raises `ConfigError` where the folder is no server's."""
        _check_kind(Path(path), "server")
        return cls(path)

    @classmethod
    def create(cls, path: str | Path, hosts: Sequence[str], team: Team) -> "ServerHome":
        """With an authority, a certificate for `hosts` and secrets; what is there stays."""
        home = cls(path)
        certify(home.path, hosts)
        token(home.path / OPERATOR)
        secret(home.path / RUNTIME)
        if not (home.path / TEAM).exists():
            write_value(home.path / TEAM, team)
        return home

    @property
    def team(self) -> Team:
        """Raises `ConfigError` where there is none."""
        return read_team(self.path)

    @property
    def board(self) -> FolderBoard:
        """Its rounds."""
        return FolderBoard(self.path / ROUNDS)

    def join(self, card: Card) -> Team:
        """Make a node a member from the next round on; raises `ConfigError` when its name or a key is taken, or its link none."""
        public_pem(card.link)
        team = self.team.with_card(card, since=len(self.board.rounds()))
        write_value(self.path / TEAM, team)
        return team

    def invite(self, node: "NodeHome") -> None:
        """Give a node's folder on this machine what every member needs."""
        for name in (TEAM, AUTHORITY):
            write_atomic(node.path / name, (self.path / name).read_bytes())


class NodeHome:
    """A node's folder."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def open(cls, path: str | Path) -> "NodeHome":
        """Raises `ConfigError` where the folder is no node's."""
        _check_kind(Path(path), "node")
        return cls(path)

    @classmethod
    def create(cls, path: str | Path, name: str, domains: Sequence[str] = ()) -> "NodeHome":
        """With keys of its own; what is there stays. Raises `ConfigError` when it is another node's."""
        home = cls(path)
        try:
            member = Member(address=name, key=home.key.public, domains=tuple(sorted(set(domains))))
        except ValidationError as error:
            raise ConfigError(f"{name!r} is no name for a node: 1 to {NODE_CHARACTERS} characters of text") from error
        card = Card(member=member, link=link_key(home.path / LINK))
        secret(home.path / RUNTIME)
        if (home.path / CARD).exists() and home.card != card:
            raise ConfigError(
                f"{str(path)!r} is the folder of {home.card.member.address!r}, with other domains or keys"
            )
        write_value(home.path / CARD, card)
        return home

    @property
    def card(self) -> Card:
        """Raises `ConfigError` where there is none."""
        return read_value(Card, self.path / CARD, "make the node's keys with gym federate keys")

    @property
    def key(self) -> NodeKey:
        """What it signs with."""
        return open_key(self.path / SIGNING).key

    @property
    def own_key(self) -> NodeKey:
        """What it signs with; raises `ConfigError` where that is not the key that the team knows it by."""
        if (key := self.key).public != self.card.member.key:
            raise ConfigError(
                f"{str(self.path / SIGNING)!r} is not the key in {CARD}, which the team knows: its packets would be refused"
            )
        return key

    @property
    def team(self) -> Team:
        """Raises `ConfigError` where it has none, or is no member."""
        team, card = read_team(self.path), self.card
        if card not in team.cards:
            raise ConfigError(
                f"{card.member.address!r} is no member of {str(self.path / TEAM)!r}: have the server's operator run "
                f"gym federate join SERVER {self.path / CARD}, and copy its {TEAM} and {AUTHORITY} here"
            )
        return team

    @property
    def board(self) -> FolderBoard:
        """What it knows of the rounds."""
        return FolderBoard(self.path / ROUNDS)

    def release(self, library: Library, consent: Consent) -> Preview:
        """Let go what a preview shows, and nothing that was let go before; raises `ConfigError` for too much or nothing."""
        seen = preview(library, consent)
        if not seen.sent:
            before = count(len(self.released.items), "text")
            raise ConfigError(
                f"nothing of it may leave, so nothing is released: what was before stays so, {before} (to take that back, "
                f"delete {self.path / RELEASED})"
            )
        if len(seen.sent) > MAX_ITEMS:
            raise ConfigError(
                f"{len(seen.sent)} experiences would leave, {MAX_ITEMS} at most: raise --min-confidence, or opt in fewer domains"
            )
        known = {entry.id: entry for entry in library}
        items = tuple(
            ReleasedItem(
                text=row.sent or "",
                domain=row.domain,
                evidence=Evidence(
                    confidence=known[row.id].confidence,
                    uses=known[row.id].uses,
                    helpful=known[row.id].helpful,
                    harmful=known[row.id].harmful,
                ),
            )
            for row in seen.sent
        )
        write_value(self.path / RELEASED, Released(items=items))
        return seen

    @property
    def released(self) -> Released:
        """Nothing, where nothing was let go."""
        file = self.path / RELEASED
        return read_value(Released, file, "") if file.exists() else Released()

    def offers(self, encoder: Embedder) -> tuple[Item, ...]:
        """What leaves, coded."""
        if not (items := self.released.items):
            return ()
        codes = bitdelta.encode(encoder([item.text for item in items]))
        pairs = zip(items, codes, strict=True)
        return tuple(
            Item(text=item.text, code=code.tobytes(), domain=item.domain, evidence=item.evidence)
            for item, code in pairs
        )

    def removals(self) -> tuple[str, ...]:
        """Digests of the published texts that its owner wants to leave again; asked for in every round until they have."""
        here = {text_digest(entry.text) for entry in History(self.board).library()}
        return tuple(text for text in self._removals() if text in here)

    def _removals(self) -> tuple[str, ...]:
        file = self.path / REMOVALS
        try:
            return _DIGESTS.validate_json(file.read_bytes()) if file.exists() else ()
        except (OSError, ValidationError) as error:
            raise ConfigError(f"{str(file)!r} is no list of digests: move it away, and ask again") from error

    def ask_removal(self, text: str) -> None:
        """Ask for one more, from the next round on."""
        wanted = sorted({*self._removals(), text})
        write_atomic(self.path / REMOVALS, _DIGESTS.dump_json(tuple(wanted)))
