"""What each experience of a library is worth on a data set: leave-one-out, Shapley values, and a smaller library.

Leave-one-out asks what is lost without an entry, so of two that say the same neither is missed; the Shapley value shares
such worth between them. Every library is measured with the same seeds and once: what the record knows costs nothing. An
order can be given up where the entries so far are worth as much as all (truncation: Ghorbani & Zou 2019, arXiv:1904.02868);
that is off by default, since what would still cancel out, a good entry and a harmful one, then counts for nothing.
"""

from typing import Any

from gym.config import RunConfig
from gym.core.admission import estimate_tokens
from gym.core.experience import Experience, Library
from gym.core.value import Value
from gym.errors import BudgetReached, ConfigError
from gym.evaluation.metrics import Interval, Paired, Score
from gym.evaluation.opened import open_instrument
from gym.evaluation.parts import Parts
from gym.evaluation.shapley import value
from gym.evaluation.target import target_of
from gym.llm.brake import Brake
from gym.train.grpo.watch import Watch


class Worth(Value):
    """What one experience is worth, in mean reward."""

    id: str
    text: str
    tokens: int
    """Estimated, in every prompt."""
    left_out: Paired
    """The whole library minus the library without it."""
    shapley: float | None = None
    interval: Interval | None = None
    """95 %, of the Shapley value, over problems and orders."""

    @property
    def figures(self) -> tuple[float | None, Interval | None]:
        """The Shapley value where there is one, else what is lost without the entry."""
        if self.shapley is None:
            return self.left_out.difference, self.left_out.interval
        return self.shapley, self.interval

    @property
    def verdict(self) -> str:
        """By the interval."""
        _, reach = self.figures
        if reach is None or reach.low <= 0 <= reach.high:
            return "unclear"
        return "helps" if reach.low > 0 else "harms"


class Suggestion(Value):
    """A smaller library, measured on the same problems: choosing flatters it, so confirm it on others."""

    library: Library
    against_all: Paired
    """It minus the whole library."""
    tokens_saved: int


class Appraisal(Value):
    """All that was found."""

    empty: Score
    full: Score
    worths: tuple[Worth, ...]
    orders: int
    """That the Shapley values rest on."""
    given_up: int
    """Of those, the ones that ended early."""
    suggestion: Suggestion | None
    """None when every entry earns its place, or the budget ended first."""
    stopped: str = ""
    """Why it ended early."""
    spent: dict[str, Any]
    folder: str


async def appraise(
    config: RunConfig,
    library: Library,
    *,
    permutations: int,
    tolerance: float,
    least: float,
    watch: Watch,
    brake: Brake,
) -> Appraisal:
    """Measure `library` on `config.dataset`; 0 `permutations` leave it at leave-one-out.

    An order is given up within `tolerance` of the whole library's mean; the smaller library keeps what is worth `least`
    or surely helps. A budget that ends during the Shapley values leaves those of the orders done; before, it is raised.
    """
    if not len(library):
        raise ConfigError("the library is empty: there is nothing to ablate")
    notes: list[str] = []
    target = target_of(config, notes)
    for note in notes:
        watch.say(note)
    async with open_instrument(config, (target,), watch, brake) as (folder, instrument):
        parts = Parts(instrument, target, library)
        await parts.leave_one_out()
        suggestion, stopped = None, ""
        try:
            await parts.grow(permutations, tolerance)
            suggestion = await _smaller(parts, least)
        except BudgetReached as error:
            stopped = str(error)
        return Appraisal(
            empty=parts.measured[frozenset()].score,
            full=parts.measured[parts.everything].score,
            worths=_worths(parts),
            orders=len(parts.walks),
            given_up=sum(len(walk.reached) < len(library) for walk in parts.walks),
            suggestion=suggestion,
            stopped=stopped,
            spent=dict(instrument.session.meter.snapshot()["total"]),
            folder=str(folder.root),
        )


def _earns(worth: Worth, least: float) -> bool:
    mean, _ = worth.figures
    return worth.verdict == "helps" or (worth.verdict != "harms" and mean is not None and mean >= least)


def _worths(parts: Parts) -> tuple[Worth, ...]:
    """In id order."""
    return tuple(_worth(parts, entry) for entry in parts.library)


def _worth(parts: Parts, entry: Experience) -> Worth:
    grown = parts.walks and parts.scored()
    mean, interval = value(parts.gains(entry.id), complete=parts.complete) if grown else (None, None)
    return Worth(
        id=entry.id,
        text=entry.text,
        tokens=estimate_tokens(entry.line),
        left_out=parts.compared(parts.everything - {entry.id}, parts.everything),
        shapley=mean,
        interval=interval,
    )


async def _smaller(parts: Parts, least: float) -> Suggestion | None:
    """The entries that earn their place, measured; None when all do, or when the rest turn out worse."""
    kept = frozenset(worth.id for worth in _worths(parts) if _earns(worth, least))
    if kept == parts.everything:
        return None
    parts.phase("suggestion", 1)
    await parts.of(kept)
    difference, library = parts.compared(parts.everything, kept), parts.library.only(kept)
    if difference.verdict == "loss":
        return None
    saved = estimate_tokens(parts.library.render()) - estimate_tokens(library.render())
    return Suggestion(library=library, against_all=difference, tokens_saved=saved)
