"""The whole of a run: `train(config)` learns a library, measures it, and leaves a run directory that tells all.

The loop itself is `loop.Loop.step`; here are its surroundings: data, models, the frozen-weights check, resume, gate,
evaluation on held-out problems and the report (SPEC 1, 2.11, 4.4, 4.6, 5.4).
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from gym.collector import rare_collections
from gym.config import RunConfig
from gym.core.experience import Library
from gym.core.problem import Problem, Reward
from gym.embedding.encoders import resolved
from gym.evaluation.closed_book import LABEL, NAME, without_tools
from gym.evaluation.evaluate import Evaluation, evaluate
from gym.evaluation.metrics import Paired, paired
from gym.evaluation.record import answers, dollars, identity, write
from gym.evaluation.report import Report
from gym.llm.blocking import run
from gym.llm.brake import Brake
from gym.memory import peak_bytes
from gym.train.grpo.frozen import Weights
from gym.train.grpo.gate import require_problems
from gym.train.grpo.learning import ACTOR, Learning
from gym.train.grpo.manifest import manifest
from gym.train.grpo.reporting import earlier_effort, peak_of, report_of, write_report
from gym.train.grpo.requirements import before_spending, require_training_free
from gym.train.grpo.rewards.base import self_test
from gym.train.grpo.run_dir import RunDir, StepStats
from gym.train.grpo.session import open_session
from gym.train.grpo.signature import sign_library
from gym.train.grpo.task import held_out_reward, library_input, load_task, run_folder, train_reward
from gym.train.grpo.watch import Silent, Watch
from gym.train.grpo.workbench import Workbench


class Run(NamedTuple):
    """What a run leaves in the caller's hands; the same and more is in the run directory."""

    folder: Path
    library: Library
    steps: tuple[StepStats, ...]
    before: Evaluation | None
    after: Evaluation | None
    gain: Paired | None
    report: Report


def train(config: RunConfig, *, reward: Reward | None = None, watch: Watch | None = None) -> Run:
    """Learn a library as `config` says and measure it; the same call continues a run that was stopped.

    Works from any thread, twice in one process, and inside a running event loop (a notebook). Raises `ConfigError`
    for what the user must mend, `Stopped` for a clean stop, `RunFailed` when every rollout of a step failed.
    """
    return run(atrain(config, reward=reward, watch=watch))


async def atrain(
    config: RunConfig,
    *,
    reward: Reward | None = None,
    watch: Watch | None = None,
    brake: Brake | None = None,
    environ: Mapping[str, str] | None = None,
) -> Run:
    """The async twin of `train`; pulling `brake` stops it cleanly."""
    watch, brake = watch or Silent(), brake or Brake()
    require_training_free(config)
    task = load_task(config, reward or train_reward(config), reward or held_out_reward(config))
    require_problems(config, len(task.val))
    with RunDir(run_folder(config)) as folder, rare_collections():
        config = folder.begun(config)
        config = config.model_copy(update={"encoder": resolved(config.encoder)})
        folder.accept_config(config, {**task.inputs(), **library_input(config)})
        folder.refuse_to_overwrite_edits(ACTOR)
        for note in (*task.notes, *before_spending(config, len(task.val))):
            watch.say(note)
        await self_test(reward or held_out_reward(config))
        weights = await asyncio.to_thread(Weights.of, config.model_name_or_path)
        if folder.has_calls():
            weights.require_begun(folder.root, config.model_name_or_path)
        async with open_session(config, folder.path("calls.jsonl"), brake, environ, watch.say) as session:
            return await work(Workbench(config, task, folder, session, watch, reward), weights)


async def work(bench: Workbench, weights: Weights) -> Run:
    """Baseline, steps, evaluation of what was learned, proof that the weights stayed, report."""
    began = time.monotonic()
    write_manifest(bench, weights)
    start = bench.starting_library()
    bench.session.retrieval.expect([*bench.task.train, *bench.task.val, *bench.task.test])
    before = await measure(bench, "baseline", bench.task.test, start)
    keep(bench, "before", before, start)
    memory = await closed_book(bench)
    (library, why), steps, earlier_s, validated, gone = await Learning(bench).learn(start)
    after = await measure(bench, "held-out", bench.task.test, library)
    keep(bench, "after", after, library)
    bench.watch.say(f"graded {bench.grades}")
    checked = await asyncio.to_thread(weights.read_again)
    write_manifest(bench, checked)
    gained = paired(before.tallies, after.tallies, seed=bench.config.seed) if before and after else None
    report = report_of(
        bench.config,
        bench.task,
        bench.session,
        name=bench.folder.root.name,
        weights=checked,
        start=start,
        library=library,
        removed=gone,
        steps=steps,
        before=before,
        after=after,
        gain=gained,
        closed_book=memory,
        validated=validated,
        went_back=why,
        seconds=seconds(bench, time.monotonic() - began + earlier_s),
        peak=peak_of(peak_bytes(), earlier_effort(bench.folder)),
    )
    write_report(bench.folder, report)
    checked.require_unchanged()
    sign(bench, checked)
    return Run(bench.folder.root, library, steps, before, after, gained, report)


def seconds(bench: Workbench, measured_s: float) -> float:
    """The run's seconds; a finished run that was only looked at again keeps those it took."""
    saved = bench.folder.read_json("report.json")
    before_s = saved.get("seconds", 0.0) if isinstance(saved, dict) else 0.0
    return max(measured_s, float(before_s))


def write_manifest(bench: Workbench, weights: Weights) -> None:
    """manifest.json as things stand, and the digests of every tensor beside it."""
    isolation = bench.session.agent.isolation if bench.session.agent else None
    content = manifest(bench.config, bench.task.inputs(), weights, bench.session.log, isolation)
    bench.folder.write_json("manifest.json", content)
    weights.keep(bench.folder.root, bench.config.model_name_or_path)


def sign(bench: Workbench, weights: Weights) -> None:
    """Bind the run's library to its model, by the user's key; it is said when that cannot be."""
    file, config = bench.folder.path("experiences.json"), bench.config
    if file.exists():
        told = sign_library(file, config.model_name_or_path, weights.after, key_file=config.signing_key)
        bench.watch.say(told)


async def measure(bench: Workbench, name: str, problems: Sequence[Problem], library: Library) -> Evaluation | None:
    """Answers to `problems` under `library`, scored; None without problems. The same measurement is never paid twice."""
    if not problems:
        return None
    config = bench.config
    bench.watch.phase(name, len(problems) * config.eval_k, bench.session.meter)
    manager = bench.rollouts("evaluate", config.eval_k, config.eval_temperature)
    return await evaluate(manager, problems, library)


async def closed_book(bench: Workbench) -> Evaluation | None:
    """The held-out problems without tools and library; None where the domain has no such baseline."""
    config = without_tools(bench.config, bench.task.domain)
    if config is None:
        return None
    alone = replace(bench, config=config)
    found = await measure(alone, LABEL, alone.task.test, Library())
    keep(alone, f"held-out-{NAME}", found, Library())
    return found


def keep(bench: Workbench, name: str, found: Evaluation | None, library: Library) -> None:
    """What an evaluation gave on each problem, for `gym compare`."""
    if found:
        config, problems = bench.config, bench.task.test
        told = config.test or config.dataset
        made = identity(config, bench.task.domain, problems, library, name=name, dataset=told)
        usd = dollars(made.model, found.tallies, config.prices)
        write(bench.folder.root, made, usd, answers(problems, found.tallies))
