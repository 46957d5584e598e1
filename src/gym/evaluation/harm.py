"""Whether a library, or one entry of it, does harm on a data set: paired tests on the same problems, corrected for their number.

Each entry is tested against the library without it, the whole against nothing. Of many tests one in twenty would find harm by
chance; Holm's correction (1979) keeps it at one in twenty for all of them together. The same measurement again, of the same
library, costs nothing and says the same: to look often is not to test often.
"""

from collections.abc import Sequence
from typing import Any

from gym.config import RunConfig
from gym.core.experience import Library
from gym.core.value import Value
from gym.errors import ConfigError
from gym.evaluation.metrics import Interval, Paired
from gym.evaluation.opened import open_instrument
from gym.evaluation.parts import Parts
from gym.evaluation.target import target_of
from gym.llm.brake import Brake
from gym.train.grpo.watch import Watch

LEVEL = 0.05
"""Chance of drafting anything where nothing does harm."""


class Tested(Value):
    """The library with some entries against the library without them."""

    ids: tuple[str, ...]
    whole: bool
    """Whether these are all there are."""
    before: float
    """Mean reward without them."""
    after: float
    """With them."""
    found: Paired
    """With minus without."""
    p_corrected: float

    @property
    def hurts(self) -> bool:
        """Whether they surely lower the reward."""
        return self.found.verdict == "loss" and self.p_corrected <= LEVEL

    @property
    def interval(self) -> Interval:
        """Of the difference; all of the scale where too few problems were scored."""
        return self.found.interval or Interval(-1.0, 1.0)


class Looked(Value):
    """What one look found."""

    model: str
    problems: int
    answers: int
    """To each problem."""
    tests: tuple[Tested, ...]
    notes: tuple[str, ...]
    """What a reader must know of the problems."""
    spent: dict[str, Any]
    folder: str

    @property
    def harmful(self) -> tuple[Tested, ...]:
        """The entries that do harm; where none is found alone, all of them when together they do."""
        alone = tuple(test for test in self.tests if test.hurts and (not test.whole or len(test.ids) == 1))
        return alone or tuple(test for test in self.tests if test.hurts)


async def look(config: RunConfig, library: Library, *, each: bool, watch: Watch, brake: Brake) -> Looked:
    """Measure on `config.dataset`; with `each`, every entry too, which takes a measurement more for each."""
    if not len(library):
        raise ConfigError("the library is empty: there is nothing to watch")
    notes: list[str] = []
    target = target_of(config, notes)
    async with open_instrument(config, (target,), watch, brake) as (folder, instrument):
        parts = Parts(instrument, target, library)
        left = [parts.everything]
        if each:
            left += [frozenset({id}) for id in library.ids if len(library) > 1]
            await parts.leave_one_out()
        else:
            parts.phase("library", 2)
            for part in (frozenset[str](), parts.everything):
                await parts.of(part)
        return Looked(
            model=config.model_name_or_path,
            problems=len(target.problems),
            answers=config.eval_k,
            tests=_tests(parts, left),
            notes=tuple(notes),
            spent=dict(instrument.session.meter.snapshot()["total"]),
            folder=str(folder.root),
        )


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected for their number, in their order (Holm 1979, Scand. J. Statist. 6).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    corrected, least = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = least
    return corrected


def _tests(parts: Parts, left: Sequence[frozenset[str]]) -> tuple[Tested, ...]:
    found = [parts.compared(parts.everything - ids, parts.everything) for ids in left]
    corrected = holm([1.0 if paired.p_value is None else paired.p_value for paired in found])
    return tuple(
        Tested(
            ids=parts.library.only(ids).ids,
            whole=ids == parts.everything,
            before=parts.mean(parts.everything - ids),
            after=parts.mean(parts.everything),
            found=paired,
            p_corrected=p,
        )
        for ids, paired, p in zip(left, found, corrected, strict=True)
    )
