"""`gym eval` as a function: one model on one data set, without and with a library, recorded so that it resumes.

Two checks of the measurement itself go with it: the same library a second time with another seed (A/A: does the instrument
see a difference where there is none?), and other targets, each in its own way, to which the library may carry over.
"""

import asyncio
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from gym.config import RunConfig
from gym.core.experience import Library
from gym.core.value import digest
from gym.errors import ConfigError
from gym.evaluation.closed_book import NAME
from gym.evaluation.instrument import Instrument, Taken
from gym.evaluation.measured import Measured, Took, by_seed
from gym.evaluation.opened import open_instrument
from gym.evaluation.record import forget, write
from gym.evaluation.target import Target, others, target_of
from gym.llm.brake import Brake
from gym.train.grpo.frozen import EVALUATION, Weights, manifest_path
from gym.train.grpo.manifest import manifest
from gym.train.grpo.run_dir import RunDir
from gym.train.grpo.task import problems_digest, run_folder
from gym.train.grpo.watch import Watch


class Checks(NamedTuple):
    """What is asked of the instrument itself, or of the library elsewhere."""

    again: bool = False
    """The same library, or none, once more with the next seed."""
    also: tuple[str, ...] = ()
    """Other data sets or configurations, each without and with the library."""
    also_reward: str = ""
    """Of these; empty: the run's for what is asked like the run's own problems, else their own."""


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
    _require_no_baseline(config)
    notes: list[str] = []
    target = target_of(config, notes)
    beside = others(target, config, checks.also, checks.also_reward, notes)
    for note in notes:
        watch.say(note)
    async with open_instrument(config, (target, *beside), watch, brake) as (folder, instrument):
        weights = await asyncio.to_thread(Weights.of, config.model_name_or_path)
        if folder.has_calls():
            weights.require_begun(folder.root, config.model_name_or_path, _ending(folder))
        took = await _take(instrument, target, library, compare=compare)
        again = await instrument.take("again", target.reseeded(), library or Library()) if checks.again else None
        there = [
            await _take(instrument, other, library, compare=True, prefix=f"also-{place}-")
            for place, other in enumerate(beside, 1)
        ]
        watch.say(f"graded {instrument.grades}")
        bill = instrument.session.meter.snapshot()
        checked = await asyncio.to_thread(weights.read_again)
        _write_manifest(folder, instrument, (target, *beside), library, checked)
        keep(folder.root, [*took.all, *filter(None, [again]), *chain.from_iterable(one.all for one in there)])
        checked.require_unchanged()
    return Measured(
        taken=took.taken,
        without=took.without,
        comparison=took.comparison(config.seed),
        again=by_seed(took.taken, again, config.seed) if again else None,
        elsewhere=tuple(one.elsewhere(config.seed) for one in there),
        closed_book=took.over_closed_book(config.seed),
        bill=bill,
        notes=tuple(notes),
        folder=folder.root,
    )


def _require_no_baseline(config: RunConfig) -> None:
    """A baseline's folder holds measurements of trained weights: those of the model beside them would pass for its own."""
    folder = RunDir(run_folder(config))
    saved = folder.read_json("manifest.json")
    if isinstance(saved, dict) and "trained" in saved:
        raise ConfigError(
            f"run {str(folder.root)!r} is one of `gym baseline`, which measures what it trained itself: choose another "
            "--experiment-name"
        )


async def _take(
    instrument: Instrument, target: Target, library: Library | None, *, compare: bool, prefix: str = ""
) -> Took:
    without = await instrument.take(f"{prefix}plain", target, Library()) if compare else None
    taken = await instrument.take(f"{prefix}{'plain' if library is None else 'library'}", target, library or Library())
    return Took(taken, without, await instrument.closed_book(target, f"{prefix}{NAME}"))


def keep(run: Path, taken: Sequence[Taken]) -> None:
    """Leave every measurement in the run's folder, and none of an earlier command."""
    for one in taken:
        write(run, one.made, one.usd, one.answers())
    forget(run, {one.made.name for one in taken})


def _require(config: RunConfig, library: Library | None, *, compare: bool, checks: Checks) -> None:
    for option, wanted in (("--compare", compare), ("--also", bool(checks.also))):
        if wanted and library is None:
            raise ConfigError(f"{option} needs --experiences FILE: it answers without and with that library")


def _write_manifest(
    folder: RunDir, instrument: Instrument, targets: Sequence[Target], library: Library | None, weights: Weights
) -> None:
    """What was measured; beside the manifest of a training run that has its folder."""
    own, *elsewhere = targets
    inputs = {"data": problems_digest(own.problems)}
    inputs |= {f"also-{place}": problems_digest(other.problems) for place, other in enumerate(elsewhere, 1)}
    inputs |= {"experience_lib": digest(library.to_json())} if library else {}
    made_of = manifest(own.config, inputs, weights, instrument.session.log, instrument.isolation)
    folder.write_json(manifest_path(folder.root, _ending(folder)).name, made_of)
    weights.keep(folder.root, own.config.model_name_or_path, _ending(folder))


def _ending(folder: RunDir) -> str:
    """Of the names of what is left there: a training run keeps its own files."""
    return EVALUATION if folder.path("config.yaml").exists() else ""
