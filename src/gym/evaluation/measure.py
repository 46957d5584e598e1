"""`gym eval` as a function: one model on one data set, without and with a library, recorded so that it resumes.

Two checks of the measurement itself go with it: the same library a second time with another seed (A/A: does the instrument
see a difference where there is none?), and other data sets on which the library should not matter.
"""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from gym.config import RunConfig
from gym.core.experience import Library
from gym.core.value import digest
from gym.errors import ConfigError
from gym.evaluation.closed_book import LABEL
from gym.evaluation.compare import Comparison, Named
from gym.evaluation.compare import compare as compared
from gym.evaluation.evaluate import Evaluation
from gym.evaluation.figures import count
from gym.evaluation.instrument import Instrument, Taken, Target, elsewhere, target_of
from gym.evaluation.metrics import Paired
from gym.evaluation.opened import open_instrument
from gym.evaluation.record import forget, write
from gym.llm.brake import Brake
from gym.train.grpo.manifest import Weights, manifest
from gym.train.grpo.run_dir import RunDir
from gym.train.grpo.session import Session
from gym.train.grpo.task import problems_digest
from gym.train.grpo.watch import Watch


class Checks(NamedTuple):
    """What is asked of the instrument itself, or of the library elsewhere."""

    again: bool = False
    """The same library, or none, once more with the next seed."""
    also: tuple[str, ...] = ()
    """Other data sets, each without and with the library."""
    also_reward: str = ""
    """Of these; empty: the reward of the run, else the other set's own."""


class Measured(NamedTuple):
    """What was measured, one after the other."""

    taken: Taken
    """The result: with the library, or without when there is none."""
    without: Taken | None
    """Without the library, when a comparison was asked for."""
    comparison: Comparison | None
    """Without against with the library."""
    again: Comparison | None
    """The same library, or none, twice."""
    elsewhere: tuple[Comparison, ...]
    """Without against with the library on other data sets."""
    closed_book: Comparison | None
    """Without tools and library against the result."""
    bill: Mapping[str, Any]
    """`Meter.snapshot()`."""
    notes: tuple[str, ...]
    folder: Path

    @property
    def score(self) -> Evaluation:
        """The result."""
        return self.taken.found

    @property
    def plain(self) -> Evaluation | None:
        """Without the library."""
        return self.without.found if self.without else None

    @property
    def gain(self) -> Paired | None:
        """What the library changed among the scored answers."""
        return self.comparison.gain if self.comparison else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know of the data, and of the comparison."""
        return (*self.notes, *(self.comparison.notes if self.comparison else ()))

    @property
    def spent(self) -> Mapping[str, Any]:
        """Calls, tokens and dollars of the whole folder."""
        total: Mapping[str, Any] = self.bill["total"]
        return total


async def measure(
    config: RunConfig,
    library: Library | None,
    *,
    compare: bool,
    watch: Watch,
    brake: Brake,
    checks: Checks = Checks(),  # noqa: B008 - a frozen value
) -> Measured:
    """Answers of `config.eval_k` per problem at `config.eval_temperature`, scored with a 95 % interval over problems.

    With `compare` the same problems are answered without the library too, and the paired difference is given. Every
    evaluation is left in the run's folder. Raises `RunFailed` when not one answer of one of them could be scored,
    `WeightsChanged` when a local model's file is not what it was.
    """
    _require(config, library, compare=compare, checks=checks)
    notes: list[str] = []
    target = target_of(config, notes)
    others = [target_of(elsewhere(config, name, checks.also_reward), notes) for name in checks.also]
    for note in notes:
        watch.say(note)
    async with open_instrument(config, (target, *others), watch, brake) as (folder, instrument):
        weights = await asyncio.to_thread(Weights.of, config.model_name_or_path)
        took = await _take(instrument, target, others, library, compare=compare, again=checks.again)
        watch.say(f"graded {instrument.grades}")
        bill = instrument.session.meter.snapshot()
        checked = await asyncio.to_thread(weights.read_again)
        _write_manifest(folder, instrument.session, target, library, checked)
        keep(folder.root, took.all)
        checked.require_unchanged()
    return took.measured(config.seed, bill, tuple(notes), folder.root)


class Took(NamedTuple):
    """All measurements of one command."""

    taken: Taken
    without: Taken | None
    again: Taken | None
    elsewhere: Sequence[tuple[Taken, Taken]]
    closed_book: Taken | None

    @property
    def all(self) -> list[Taken]:
        """One after the other."""
        alone = (self.without, self.again, self.closed_book)
        return [self.taken, *filter(None, alone), *chain.from_iterable(self.elsewhere)]

    def measured(self, seed: int, bill: Mapping[str, Any], notes: tuple[str, ...], folder: Path) -> Measured:
        """What they say of each other."""
        return Measured(
            self.taken,
            self.without,
            _by_library(self.without, self.taken, seed) if self.without else None,
            _by_seed(self.taken, self.again, seed) if self.again else None,
            tuple(_by_library(*pair, seed) for pair in self.elsewhere),
            _by_tools(self.closed_book, self.taken, seed) if self.closed_book else None,
            bill,
            notes,
            folder,
        )


async def _take(
    instrument: Instrument,
    target: Target,
    others: Sequence[Target],
    library: Library | None,
    *,
    compare: bool,
    again: bool,
) -> Took:
    shown = library or Library()
    without = await instrument.take("plain", target, Library()) if compare else None
    taken = await instrument.take("plain" if library is None else "library", target, shown)
    second = await instrument.take("again", target.reseeded(), shown) if again else None
    pairs = [await instrument.both(f"also-{place}-", other, shown) for place, other in enumerate(others, 1)]
    return Took(taken, without, second, pairs, await instrument.closed_book(target))


def keep(run: Path, taken: Sequence[Taken]) -> None:
    """Leave every measurement in the run's folder, and none of an earlier command."""
    for one in taken:
        write(run, one.made, one.usd, one.answers())
    forget(run, {one.made.name for one in taken})


def _require(config: RunConfig, library: Library | None, *, compare: bool, checks: Checks) -> None:
    for option, wanted in (("--compare", compare), ("--also", bool(checks.also))):
        if wanted and library is None:
            raise ConfigError(f"{option} needs --experiences FILE: it answers without and with that library")
    if checks.also_reward and not checks.also:
        raise ConfigError("--also-reward scores the answers to another set: give it with --also OTHER_DATASET")


def _by_library(before: Taken, after: Taken, seed: int) -> Comparison:
    labels = [told_size(one.made.library_size) for one in (before, after)]
    return compared(Named(labels[0], before.record()), Named(labels[1], after.record()), seed=seed)


def _by_seed(before: Taken, after: Taken, seed: int) -> Comparison:
    labels = [f"seed {one.made.seed}" for one in (before, after)]
    return compared(Named(labels[0], before.record()), Named(labels[1], after.record()), seed=seed)


def _by_tools(before: Taken, after: Taken, seed: int) -> Comparison:
    named = Named(LABEL, before.record()), Named(told_size(after.made.library_size), after.record())
    return compared(*named, seed=seed)


def told_size(experiences: int) -> str:
    """
    >>> told_size(0), told_size(1), told_size(12)
    ('no library', '1 experience', '12 experiences')
    """
    return count(experiences, "experience") if experiences else "no library"


def _write_manifest(
    folder: RunDir, session: Session, target: Target, library: Library | None, weights: Weights
) -> None:
    """What was measured; beside the manifest of a training run that has its folder."""
    inputs = {"data": problems_digest(target.problems)}
    inputs |= {"experience_lib": digest(library.to_json())} if library else {}
    made_of = manifest(target.config, inputs, weights, session.log, session.agent and session.agent.isolation)
    trained_here = folder.path("config.yaml").exists()
    folder.write_json("manifest-eval.json" if trained_here else "manifest.json", made_of)
