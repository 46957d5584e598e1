"""`gym eval` as a function: one data set, one model, without or with a library, recorded so that it resumes."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from gym.config import RunConfig
from gym.core.experience import Library
from gym.core.value import digest
from gym.errors import ConfigError
from gym.evaluation.evaluate import Evaluation
from gym.evaluation.metrics import Paired, paired
from gym.evaluation.opened import Bench, open_bench
from gym.llm.brake import Brake
from gym.train.grpo.manifest import Weights, manifest
from gym.train.grpo.task import problems_digest
from gym.train.grpo.watch import Watch


class Measured(NamedTuple):
    """What was measured: `plain` is without a library and set only when nothing else, or a comparison, was asked for."""

    score: Evaluation
    plain: Evaluation | None
    gain: Paired | None
    spent: Mapping[str, object]
    notes: tuple[str, ...]
    folder: Path


async def measure(config: RunConfig, library: Library | None, *, compare: bool, watch: Watch, brake: Brake) -> Measured:
    """Answers of `config.eval_k` per problem at `config.eval_temperature`, scored with a 95 % interval over problems.

    With `compare` the same problems are answered without the library too, and the paired difference is given. Raises
    `RunFailed` when not one answer could be scored, `WeightsChanged` when a local model's file is not what it was.
    """
    if compare and library is None:
        raise ConfigError("--compare needs --experiences FILE: it answers without and with that library")
    async with open_bench(config, watch, brake) as bench:
        weights = await asyncio.to_thread(Weights.of, config.model_name_or_path)
        found: list[Evaluation] = []
        for shown in (Library(), library or Library()) if compare else (library or Library(),):
            total = len(bench.problems) * config.eval_k
            watch.phase("with library" if len(shown) else "no library", total, bench.session.meter)
            found.append(await bench.measure(shown))
        gain = paired(found[0].tallies, found[-1].tallies, seed=config.seed) if compare else None
        watch.say(f"graded {bench.grades}")
        spent = bench.session.meter.snapshot()["total"]
        checked = await asyncio.to_thread(weights.read_again)
        _write_manifest(bench, library, checked)
        checked.require_unchanged()
    return Measured(found[-1], found[0] if compare else None, gain, spent, bench.notes, bench.folder.root)


def _write_manifest(bench: Bench, library: Library | None, weights: Weights) -> None:
    """What was measured; beside the manifest of a training run that has its folder."""
    inputs = {"data": problems_digest(bench.problems)}
    inputs |= {"experience_lib": digest(library.to_json())} if library else {}
    session = bench.session
    made_of = manifest(bench.config, inputs, weights, session.log, session.agent and session.agent.isolation)
    trained_here = bench.folder.path("config.yaml").exists()
    bench.folder.write_json("manifest-eval.json" if trained_here else "manifest.json", made_of)
