"""Which experience is proposed for removal, and by what figures (`gym.train.grpo.effects` measures them).

An entry is *harmful* when a confidence sequence of its effect lies below 0. Such a sequence holds at all steps at once, so
looking after each is allowed (Waudby-Smith et al. 2021, arXiv:2103.06476, Theorem 2.2), and its 5 % are shared among all
texts tried so far (Bonferroni): of 20 runs without a harmful entry at most about one calls any of them harmful.

An entry is *useless* when the upper end of its 90 % interval lies below a margin, the one-sided 5 % test that it adds less
than that (Schuirmann 1987, doi:10.1007/BF01068419), and it was not proven to help. That is asked anew after each step and
of each entry, uncorrected: an entry that adds no more than the margin will leave in time. At most one leaves a step,
since of two that say the same neither is missed alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import NormalDist
from typing import NamedTuple

from gym.core.experience import Applied, Delete, Effect, Evidence, Experience, Library, Rejected
from gym.core.journal import Event
from gym.core.student import student
from gym.core.trials import Trials
from gym.train.grpo.effects import effects

ALPHA = 0.05
AFTER = 500
"""Compared rollouts at which the confidence sequence is narrowest."""


class Judged(NamedTuple):
    """A library with its entries' effects, and the removals that they propose."""

    library: Library
    removals: tuple[Delete, ...]


@dataclass(frozen=True)
class Credit:
    """Measures entries by randomised inclusion; `margin` is the least effect worth an entry's tokens, in [0, 1]."""

    margin: float

    def judged(self, library: Library, steps: Sequence[Trials]) -> Judged:
        """`library` with the effects of its entries over all `steps` so far, and whom they speak against."""
        measured = effects(steps, library)
        return Judged(library.measured(measured), self.removals(measured, steps))

    def removals(self, measured: Mapping[str, Effect], steps: Sequence[Trials]) -> tuple[Delete, ...]:
        """Deletes of every harmful entry, and of the most useless one, each with its figures."""
        tried = len({text for step in steps for text in step.texts.items()})
        leaving = [id for id, effect in measured.items() if is_harmful(effect, tried)]
        useless = [id for id, effect in measured.items() if id not in leaving and is_useless(effect, self.margin)]
        leaving += sorted(useless, key=lambda id: measured[id].mean)[:1]
        return tuple(Delete(id=id, evidence=Evidence(effect=measured[id])) for id in leaving)


def is_harmful(effect: Effect, tried: int) -> bool:
    """Whether the effect lies below 0 at any look, `tried` texts being looked at."""
    reach = (effect.high - effect.low) / 2 / NormalDist().inv_cdf(0.975)
    return effect.mean + reach * boundary(effect.rollouts, ALPHA / max(tried, 1)) < 0


def is_useless(effect: Effect, margin: float) -> bool:
    """Whether the effect surely stays below `margin` (0: never asked) and was not proven to lie above 0."""
    if margin == 0.0:
        return False
    shrunk = student(0.95, effect.problems - 1) / student(0.975, effect.problems - 1)
    return effect.low <= 0 and effect.mean + shrunk * (effect.high - effect.low) / 2 < margin


def boundary(rollouts: int, alpha: float) -> float:
    """Standard errors from the mean within which all means stay, however often they are looked at, with 1 - `alpha`.

    >>> round(boundary(500, 0.05), 2), round(boundary(50, 0.05), 2)
    (3.04, 3.86)
    """
    x = rollouts / AFTER * (-2 * log(alpha) + log(-2 * log(alpha) + 1))
    return sqrt(2 * (x + 1) / x * log(sqrt(x + 1) / alpha))


def removed(events: Iterable[Event]) -> tuple[Experience, ...]:
    """The entries that left for their figures, as they were, in the order they left."""
    gone = (event for event in events if event.accepted and _is_measured(event.operation))
    return tuple(entry for event in gone for entry in event.before.values() if entry is not None)


def harms(entry: Experience) -> bool:
    """Whether the 95 % interval of its effect lies below 0, as a report says it."""
    return entry.effect is not None and entry.effect.high < 0


def refuted(events: Iterable[Event]) -> tuple[Experience, ...]:
    """Of the entries that left for their figures, those that did harm: nobody need learn them again."""
    return tuple(filter(harms, removed(events)))


def removals_alone(applied: Applied, before: Library, reason: str) -> Applied | None:
    """The step with its measured removals alone, all else rejected for `reason`; None when it removed nothing so."""
    gone = [item for item in applied.accepted if _is_measured(item.operation)]
    if not gone:
        return None
    left = {item.operation.id for item in gone if isinstance(item.operation, Delete)}
    kept = tuple(entry for entry in before if entry.id not in left)
    turned_down = (Rejected(operation=item.operation, reason=reason) for item in applied.accepted if item not in gone)
    return Applied(
        library=Library(entries=kept, next_id=applied.library.next_id),
        accepted=tuple(gone),
        rejected=(*applied.rejected, *turned_down),
    )


def _is_measured(operation: object) -> bool:
    return isinstance(operation, Delete) and operation.evidence.effect is not None
