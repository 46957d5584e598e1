"""A carrier over Flower's grid: asks whoever is connected, and again whoever comes back.

When the SuperLink goes away in the middle it waits for it, opens a new line and asks anew; nodes answer from their files.
"""

import time
from collections.abc import Callable, Iterator, Mapping
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


@dataclass
class FlowerCarrier:
    """To the members of a team, by their registered keys."""

    operator: Operator
    team: Team
    clock: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep
    _line: Line | None = None
    _names: Mapping[bytes, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._names = {public_pem(card.link): card.member.address for card in self.team.cards}

    def ask(self, asks: Mapping[str, bytes], *, patience_s: float) -> Iterator[Answered]:
        """Raises `ConnectionFailed` when the server is away for longer than the patience."""
        end, left, failed = self.clock() + patience_s, dict(asks), ""
        while left and self.clock() < end:
            try:
                for told in self._asked(left, end):
                    if left.pop(told.node, None) is not None:
                        yield told
                failed = ""
            except (httpx.HTTPError, ConnectionFailed) as error:
                failed = str(error)
                self.close()
                self.wait(BREATH_S)
        if failed:
            raise ConnectionFailed(f"the server went away: {failed}")

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def _asked(self, left: Mapping[str, bytes], end: float) -> Iterator[Answered]:
        """On one line; each connection of a node is asked once."""
        line = self._line = self._line or self.operator.speak()
        sent: dict[str, str] = {}
        seen = set[tuple[str, str]]()
        while left and (now := self.clock()) < end:
            here = {(name, node.last_activated_at): node.node_id for name, node in self._here(line)}
            fresh = {place: here[place] for place in here.keys() - seen if place[0] in left}
            for (name, _), node_id in fresh.items():
                sent |= dict.fromkeys(line.send(node_id, left[name], end - now), name)
            seen |= fresh.keys()
            for reply in line.replies(sent.keys()):
                yield Answered(sent.pop(reply.to), reply.data)
            self.wait(BREATH_S)

    def _here(self, line: Line) -> Iterator[tuple[str, Any]]:
        return ((self._names[key], node) for key, node in line.nodes().items() if key in self._names)
