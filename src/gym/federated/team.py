"""Who takes part in a federation and by what rules: one file that every node holds, and checks each round against.

A server could otherwise name a round in which it has most of the votes.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, StringConstraints, ValidationError

from gym.core.value import Value
from gym.errors import ConfigError
from gym.federated.decision import Decision
from gym.federated.round import Member, Name, Round
from gym.files import write_atomic

TEAM = "team.json"
CARD = "member.json"
CHANGING = frozenset({"encoder", "model", "standard_errors"})
"""Rules that a team may change between rounds; an aggregator may be code of one's own, which no earlier round is to name."""
LinkKey = Annotated[str, StringConstraints(pattern=r"^ecdsa-sha2-nistp\d+ [A-Za-z0-9+/=]+$", max_length=400)]
"""What a node's connection is checked with, as OpenSSH writes it."""


class Card(Value):
    """What a node gives the team to become a member: nothing in it is secret."""

    member: Member
    link: LinkKey


class Team(Value):
    """The members and the rules; the same file everywhere."""

    cards: tuple[Card, ...] = ()
    since: Mapping[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """By address, the first round of a member that joined after round 0: who joins checks the rounds before it too."""
    encoder: Name = "all-minilm-l6-v2"
    model: Name | None = None
    """The one base model, or None where nodes may differ."""
    aggregator: str = "median"
    standard_errors: float = Field(default=1.0, ge=0.0)

    @property
    def members(self) -> tuple[Member, ...]:
        """In the order of their addresses."""
        return tuple(sorted((card.member for card in self.cards), key=lambda member: member.address))

    @property
    def addresses(self) -> tuple[str, ...]:
        """Of the members, sorted."""
        return tuple(member.address for member in self.members)

    def members_of(self, number: int) -> tuple[Member, ...]:
        """Those who take part in the round of this number."""
        return tuple(member for member in self.members if self.since.get(member.address, 0) <= number)

    def with_card(self, card: Card, *, since: int = 0) -> "Team":
        """The team with a new member from this round on; raises `ConfigError` when its name or a key is taken."""
        for known in self.cards:
            if card == known:
                return self
            if card.member.address == known.member.address:
                raise ConfigError(f"the team has a member {card.member.address!r} already, with another key or domains")
            if card.member.key == known.member.key or card.link == known.link:
                raise ConfigError(
                    f"{card.member.address!r} has a key of {known.member.address!r}: each node makes its own"
                )
        later = {card.member.address: since} if since else {}
        return self.model_copy(update={"cards": (*self.cards, card), "since": {**self.since, **later}})

    def next_round(self, decisions: Sequence[Decision]) -> Round:
        """The round after the ones that came to these decisions; raises `ConfigError` for a team without members."""
        if not self.cards:
            raise ConfigError("the team has no members yet: gym federate join TEAM NODE/member.json")
        tried = sorted({text for decision in decisions for text in decision.measured})
        return Round(
            number=len(decisions),
            members=self.members_of(len(decisions)),
            encoder=self.encoder,
            model=self.model,
            aggregator=self.aggregator,
            standard_errors=self.standard_errors,
            tried=tuple(tried),
        )

    def misfit(self, round: Round, decisions: Sequence[Decision], *, signed: bool = False) -> str | None:
        """What in the next round is not as this team and its earlier decisions make it; None when all is.

        A round that its members `signed` to the end may be of rules that the team had then.
        """
        expected, changing = self.next_round(decisions), CHANGING if signed else frozenset[str]()
        wrong = [
            name
            for name in Round.model_fields
            if getattr(round, name) != getattr(expected, name) and name not in changing
        ]
        return f"round {round.number} has other {', '.join(wrong)} than this node's {TEAM}" if wrong else None

    def with_members_of(self, other: "Team") -> "Team":
        """These rules with the other's members."""
        return self.model_copy(update={"cards": other.cards, "since": other.since})


_Kept = TypeVar("_Kept", bound=Value)


def read_value(kind: type[_Kept], file: Path, missing: str) -> _Kept:
    """A value from its JSON file; raises `ConfigError` where it is not, saying what is `missing`."""
    try:
        return kind.model_validate_json(file.read_bytes())
    except FileNotFoundError as error:
        raise ConfigError(f"there is no {str(file)!r}: {missing}") from error
    except OSError as error:
        raise ConfigError(f"{str(file)!r} cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise ConfigError(f"{str(file)!r}: {place}: {first['msg']}") from error


def read_team(folder: str | Path) -> Team:
    """The team in a folder of the server or of a node."""
    return read_value(Team, Path(folder) / TEAM, "make one with gym federate keys, or copy it from the server")


def write_value(file: Path, value: Value) -> None:
    """As JSON that a person can read."""
    write_atomic(file, value.model_dump_json(indent=1) + "\n")
