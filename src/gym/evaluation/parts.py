"""Measurements of parts of a library on one data set, each made once: alone without an entry, and grown entry by entry."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from gym.core.experience import Library
from gym.evaluation.evaluate import Evaluation
from gym.evaluation.instrument import Instrument
from gym.evaluation.metrics import Paired, paired
from gym.evaluation.shapley import orders
from gym.evaluation.target import Target


@dataclass(frozen=True)
class Walk:
    """One order and the libraries on its way: those after each entry that joined, up to where it was given up."""

    order: tuple[str, ...]
    reached: tuple[frozenset[str], ...]

    def around(self, id: str) -> tuple[frozenset[str], frozenset[str]] | None:
        """The libraries before and after an entry joined; None when the walk had ended."""
        place = self.order.index(id)
        if place >= len(self.reached):
            return None
        return self.reached[place] - {id}, self.reached[place]


@dataclass
class Parts:
    """The libraries measured so far; every one is a part of `library`."""

    instrument: Instrument
    target: Target
    library: Library
    measured: dict[frozenset[str], Evaluation] = field(default_factory=dict)
    walks: list[Walk] = field(default_factory=list)
    complete: bool = False
    """Whether the walks are all there are."""

    @property
    def everything(self) -> frozenset[str]:
        """All ids."""
        return frozenset(self.library.ids)

    async def of(self, ids: Collection[str]) -> Evaluation:
        """The measurement of a part, made once."""
        part = frozenset(ids)
        if part not in self.measured:
            self.measured[part] = await self.instrument.measure(self.target, self.library.only(part))
        else:
            self.instrument.watch.advance(self.target.answers)
        return self.measured[part]

    async def leave_one_out(self) -> None:
        """Nothing, everything, and everything without each entry."""
        self.phase("leave-one-out", len(self.library) + 2)
        for part in (frozenset[str](), self.everything, *(self.everything - {id} for id in self.library.ids)):
            await self.of(part)

    async def grow(self, count: int, tolerance: float) -> None:
        """Walk `count` orders."""
        plan = orders(self.library.ids, count, self.target.config.seed)
        self.phase("Shapley", len(plan.orders) * max(len(self.library) - 1, 0))
        for order in plan.orders:
            self.walks.append(await self.walk(order, tolerance))
        self.complete = plan.complete

    async def walk(self, order: tuple[str, ...], tolerance: float) -> Walk:
        """Let the entries join one by one, until what is reached is as good as everything."""
        whole, reached = self.mean(self.everything), list[frozenset[str]]()
        for place in range(len(order)):
            before = frozenset(order[:place])
            if abs(self.mean(before) - whole) < tolerance:
                self.instrument.watch.advance(self.target.answers * (len(order) - 1 - place))
                break
            if place + 1 < len(order):
                await self.of(order[: place + 1])
            reached.append(before | {order[place]})
        return Walk(order, tuple(reached))

    def mean(self, part: frozenset[str]) -> float:
        """Mean reward of a measured part."""
        return self.measured[part].score.mean or 0.0

    def phase(self, name: str, measurements: int) -> None:
        """A new bar for so many measurements."""
        self.instrument.watch.phase(name, measurements * self.target.answers, self.instrument.session.meter)

    def gains(self, id: str) -> list[list[float]]:
        """By order and problem, what the entry added when it joined; 0 where the order was given up before."""
        scored = self.scored()
        sides = (walk.around(id) for walk in self.walks)
        return [[0.0] * len(scored) if pair is None else self.differences(*pair, scored) for pair in sides]

    def differences(self, before: frozenset[str], after: frozenset[str], scored: Sequence[int]) -> list[float]:
        """By problem."""
        old, new = self.measured[before].tallies, self.measured[after].tallies
        return [fmean(new[place].rewards) - fmean(old[place].rewards) for place in scored]

    def scored(self) -> list[int]:
        """Places of the problems that every measurement has an answer to."""
        made = self.measured.values()
        return [place for place in range(len(self.target.problems)) if all(one.tallies[place].rewards for one in made)]

    def compared(self, before: frozenset[str], after: frozenset[str]) -> Paired:
        """The paired difference of two measured parts."""
        old, new = (self.measured[part].tallies for part in (before, after))
        return paired(old, new, seed=self.target.config.seed)
