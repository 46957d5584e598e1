"""A carrier over Flower's grid: asks whoever is connected, and again whoever comes back.

When the SuperLink goes away in the middle it waits for it, opens a new line and asks anew; nodes answer from their files.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import httpx

from gym.errors import ConnectionFailed
from gym.federated.carrier import Answered
from gym.federated.flower.line import Line
from gym.federated.flower.operator import Operator
from gym.federated.keys import public_pem
from gym.federated.team import Team

BREATH_S = 0.3
"""Between two looks for answers."""
ABSENT_S = 10.0
"""After which it is said who is not connected."""
MOST_LOST = 20
"""Answers of a node that are lost on the way in one step, before it counts as none."""


@dataclass
class FlowerCarrier:
    """To the members of a team, by their registered keys."""

    operator: Operator
    team: Team
    clock: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = lambda text: None
    _line: Line | None = None
    _gone: str = ""
    """Why the server cannot be reached; empty while it can."""
    _absent: frozenset[str] = frozenset()
    """Who was said to be not connected."""
    _names: Mapping[bytes, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.meet(self.team)

    def meet(self, team: Team) -> None:
        """From now on to the members of this team."""
        self.team = team
        self._names = {public_pem(card.link): card.member.address for card in team.cards}

    def ask(self, asks: Mapping[str, bytes], *, patience_s: float) -> Iterator[Answered]:
        """Raises `ConnectionFailed` when the server is away for longer than the patience."""
        end, left, self._gone = self.clock() + patience_s, dict(asks), ""
        while left and self.clock() < end:
            try:
                for told in self._asked(left, end):
                    if left.pop(told.node, None) is not None:
                        yield told
            except (httpx.HTTPError, ConnectionFailed) as error:
                if not self._gone:
                    self.say(f"  the server is gone: waiting for it up to {end - self.clock():.0f} s")
                self._gone = str(error) or type(error).__name__
                self.close()
                self.wait(BREATH_S)
        if self._gone:
            raise ConnectionFailed(
                f"the server went away and did not come back within {patience_s:.0f} s: start it and this command again "
                f"({self._gone})"
            )

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def _asked(self, left: Mapping[str, bytes], end: float) -> Iterator[Answered]:
        """On one line; each connection of a node is asked once, and again where Flower lost the answer."""
        line = self._line = self._line or self.operator.speak()
        if self._gone:
            self.say("  the server is back")
            self._gone = ""
        sent: dict[str, str] = {}
        tells = self.clock() + ABSENT_S
        seen, lost = set[tuple[str, str]](), Counter[str]()
        while left and (now := self.clock()) < end:
            here = {(name, node.last_activated_at): node.node_id for name, node in self._here(line)}
            fresh = {place: here[place] for place in here.keys() - seen if place[0] in left}
            for (name, _), node_id in fresh.items():
                sent |= dict.fromkeys(line.send(node_id, left[name], end - now), name)
            seen |= fresh.keys()
            if now >= tells:
                self._tell_absent(left.keys() - {name for name, _ in here})
            for reply in line.replies(sent.keys()):
                name = sent.pop(reply.to)
                lost[name] += not reply.data
                if reply.data or lost[name] > MOST_LOST:
                    yield Answered(name, reply.data)
                else:
                    seen -= {place for place in seen if place[0] == name}
            self.wait(BREATH_S)

    def _tell_absent(self, nodes: Set[str]) -> None:
        """Each change once."""
        if new := sorted(nodes - self._absent):
            self.say(f"  not connected: {', '.join(new)}")
        self._absent = frozenset(nodes)

    def _here(self, line: Line) -> Iterator[tuple[str, Any]]:
        return ((self._names[key], node) for key, node in line.nodes().items() if key in self._names)
