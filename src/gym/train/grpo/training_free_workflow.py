"""The whole of a run: `train(config)` learns a library, measures it, and leaves a run directory that tells all.

The loop itself is `loop.Loop.step`; here are its surroundings: data, models, the frozen-weights check, resume, gate,
evaluation on held-out problems and the report (SPEC 1, 2.11, 4.4, 4.6, 5.4).
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, groupby, islice
from math import ceil
from pathlib import Path
from typing import NamedTuple

from gym.collector import rare_collections
from gym.config import RunConfig
from gym.core.admission import Admission
from gym.core.experience import Admit, Admitted, Experience, Library, Refused
from gym.core.journal import Journal, record, record_credit, record_import, record_restore
from gym.core.problem import Problem, Reward
from gym.core.trials import Trials
from gym.core.value import digest
from gym.embedding import similarity
from gym.embedding.encoders import resolved
from gym.embedding.hashing import HashingEmbedder
from gym.errors import ConfigError, RunFailed
from gym.evaluation.closed_book import LABEL, NAME, without_tools
from gym.evaluation.evaluate import Evaluation, evaluate
from gym.evaluation.metrics import Paired, paired
from gym.evaluation.record import answers, dollars, identity, write
from gym.evaluation.report import Report
from gym.llm.blocking import run
from gym.llm.brake import Brake
from gym.llm.local.catalogue import is_embedded
from gym.train.grpo import curriculum
from gym.train.grpo.credit import Credit, removed
from gym.train.grpo.experience_manager import read_library
from gym.train.grpo.gate import Gate, Gated, cautions, is_on, ordered, require_problems
from gym.train.grpo.group_size import GroupSize
from gym.train.grpo.loop import Batch, Loop, Step, batches, echoes, teaches
from gym.train.grpo.manifest import Weights, manifest
from gym.train.grpo.reporting import report_of, write_report
from gym.train.grpo.rewards.base import self_test
from gym.train.grpo.rewards.grading import Counted, Counts
from gym.train.grpo.rollout_manager import RolloutManager
from gym.train.grpo.run_dir import STEP_FILES, TRIALS, RunDir, StepStats
from gym.train.grpo.screen import Screen
from gym.train.grpo.session import Session, open_rollouts, open_session
from gym.train.grpo.snapshots import Chosen, best_validated, gain
from gym.train.grpo.stages.settings import ReflectionSettings
from gym.train.grpo.step_stats import draws_of, step_stats
from gym.train.grpo.task import Task, held_out_reward, load_task, run_folder, train_reward
from gym.train.grpo.watch import Silent, Watch

ACTOR = "train"
EMBEDDED_CONTEXT = 4096
"""Tokens of context that the embedded server gives each slot."""


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
        async with open_session(config, folder.path("calls.jsonl"), brake, environ, watch.say) as session:
            return await Workbench(config, task, folder, session, watch, reward).work(weights)


def require_training_free(config: RunConfig) -> None:
    """Raise `ConfigError` for settings that ask for another method than this one."""
    if not config.model_name_or_path:
        raise ConfigError(
            "no model: give --model NAME (with --base-url for your own endpoint), local:NAME or a GGUF file"
        )
    if config.gate == "paired" and not (config.val or config.val_fraction):
        raise ConfigError("gate: paired needs validation problems: give --val FILE or --val-fraction 0.3")
    require_sizes(config)
    if not config.continuous_learning_grpo:
        raise ConfigError(
            "continuous_learning_grpo: false asks for gradient GRPO, which `gym train` does not do; set it to true"
        )


def require_sizes(config: RunConfig) -> None:
    """Raise `ConfigError` for group sizes that contradict each other or cannot be graded one by one."""
    size, least, most = config.grpo_group_size, config.group_size_min, config.group_size_max
    if (least or size) > size:
        raise ConfigError(f"group_size_min: {least} is more than a group's {size} answers: raise --group-size")
    if (most or size) < size:
        raise ConfigError(f"group_size_max: {most} is fewer than a group's {size} answers: lower --group-size")
    if (least or most) and not config.use_groundtruth:
        raise ConfigError(
            "use_groundtruth: false takes a majority of the whole group, so a group cannot stop or go on by its rewards: "
            "leave out group_size_min and group_size_max"
        )


def library_input(config: RunConfig) -> dict[str, str]:
    """The digest of the library to start from, so that a changed one is noticed on resume."""
    path = config.experience_lib_path
    return {"experience_lib": digest(read_library(path).to_json())} if path else {}


def before_spending(config: RunConfig, validation: int) -> tuple[str, ...]:
    """What the user should hear before the first call."""
    notes = cautions(config, validation)
    if config.grpo_group_size == 1:
        notes.append("a group size of 1 has no attempts to compare, so nothing can be learned: use --group-size 5")
    return tuple(notes)


class Learned(NamedTuple):
    """The best validated library (without a gate the last), and every step's statistics."""

    chosen: Chosen
    steps: tuple[StepStats, ...]
    earlier_s: float
    """Seconds that steps of earlier processes took."""
    validated: Paired | None
    """Over the starting library, on the validation problems by which it was chosen."""
    removed: tuple[Experience, ...] = ()
    """What left for its measured effect."""


@dataclass(frozen=True)
class Workbench:
    """Everything a run works with, opened and checked."""

    config: RunConfig
    task: Task
    folder: RunDir
    session: Session
    watch: Watch
    reward: Reward | None = None
    grades: Counts = field(default_factory=Counts)

    async def work(self, weights: Weights) -> Run:
        """Baseline, steps, evaluation of what was learned, proof that the weights stayed, report."""
        began = time.monotonic()
        self.write_manifest(weights)
        start = self.starting_library()
        self.session.retrieval.expect([*self.task.train, *self.task.val, *self.task.test])
        before = await self.measure("baseline", self.task.test, start)
        self.keep("before", before, start)
        memory = await self.closed_book()
        (library, why), steps, earlier_s, validated, gone = await self.learn(start)
        after = await self.measure("held-out", self.task.test, library)
        self.keep("after", after, library)
        self.watch.say(f"graded {self.grades}")
        checked = await asyncio.to_thread(weights.read_again)
        self.write_manifest(checked)
        gained = paired(before.tallies, after.tallies, seed=self.config.seed) if before and after else None
        report = report_of(
            self.config,
            self.task,
            self.session,
            name=self.folder.root.name,
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
            seconds=self.seconds(time.monotonic() - began + earlier_s),
        )
        write_report(self.folder, report)
        checked.require_unchanged()
        return Run(self.folder.root, library, steps, before, after, gained, report)

    def seconds(self, measured_s: float) -> float:
        """The run's seconds; a finished run that was only looked at again keeps those it took."""
        saved = self.folder.read_json("report.json")
        before_s = saved.get("seconds", 0.0) if isinstance(saved, dict) else 0.0
        return max(measured_s, float(before_s))

    def write_manifest(self, weights: Weights) -> None:
        """manifest.json as things stand."""
        isolation = self.session.agent.isolation if self.session.agent else None
        content = manifest(self.config, self.task.inputs(), weights, self.session.log, isolation)
        self.folder.write_json("manifest.json", content)

    def starting_library(self) -> Library:
        """The library of `experience_lib_path`, or an empty one."""
        path = self.config.experience_lib_path
        if not path:
            return Library()
        screened = read_library(path).screened(self.admission(Library()))
        trimmed = screened.library.trimmed(self.limits(Library()))
        for gone in (*screened.accepted, *trimmed.accepted):
            self.watch.say(f"{path}: {gone.before[0].id} left out: {gone.warnings[0]}")
        return trimmed.library

    async def learn(self, start: Library) -> Learned:
        """Every step that is not done yet; steps that are done are taken as they are."""
        files = STEP_FILES if self.config.inclusion == 1.0 else (*STEP_FILES, TRIALS)
        done = self.folder.resume(((batch.epoch, batch.step) for batch in self.plan()), files=files)
        library = start if done.library is None else done.library
        events = done.events or record_import((), start, actor=ACTOR, at=_now())
        stats = done.stats
        if done.steps:
            self.watch.say(f"continuing after step {done.steps} of {self.steps}: {len(library)} experiences")
        loop, gate = self.loop(), self.gate()
        trials = self.folder.read_trials([(batch.epoch, batch.step) for batch in islice(self.plan(), done.steps)])
        for batch in islice(self.plan(), done.steps, None):
            if len(stats) == done.steps:  # the first of these steps: what lies beyond it is of a run that was stopped
                self.folder.rewind(library, events)
            library, news, of_step = await self.step(loop, gate, batch, library, events, trials)
            events, stats = events + news, (*stats, of_step)
            self.folder.finish_step(batch.epoch, batch.step, library, news, stats)
            self.log_step(of_step, self.steps)
        chosen = await self.returned(gate, start, library, events, stats)
        validated = await gain(gate, start, chosen.library) if gate else None
        return Learned(chosen, stats, sum(item.seconds for item in done.stats), validated, removed(events))

    async def returned(
        self, gate: Gate | None, start: Library, last: Library, events: Journal, stats: Sequence[StepStats]
    ) -> Chosen:
        """The best validated library; where that is not the last, the run goes back to it, which the journal tells."""
        chosen = await best_validated(gate, start, last, events, stats) if gate else Chosen(last)
        if not chosen.reason:
            self.folder.rewind(last, events)
            return chosen
        self.watch.say(f"going back: {chosen.reason}")
        step = len(stats)
        at = self.folder.went_back_at(step) or _now()
        news = record_restore(events, last, chosen.library, actor=ACTOR, at=at, step=step, reason=chosen.reason)
        self.folder.go_back(chosen.library, events + news)
        return chosen

    def plan(self) -> Iterator[Batch]:
        """The run's steps; those of an epoch are known when the epochs before it are done."""
        config = self.config
        return batches(
            self.task.train, epochs=config.epochs, batch_size=config.batch_size, seed=config.seed, serve=self.serve
        )

    @property
    def steps(self) -> str:
        """How many there are, in words; with a curriculum an epoch may be shorter."""
        steps = self.config.epochs * ceil(len(self.task.train) / self.config.batch_size)
        return f"{steps} at most" if self.config.curriculum else str(steps)

    def serve(self, epoch: int, order: tuple[Problem, ...], earlier: Sequence[Batch]) -> tuple[Problem, ...]:
        """The problems of an epoch, written down: the shuffled ones, or what the curriculum makes of them."""
        if self.config.curriculum:
            by_epoch = groupby(earlier, key=lambda batch: batch.epoch)
            drawn = [[self.folder.rollouts(batch.epoch, batch.step) for batch in steps] for _, steps in by_epoch]
            past = [curriculum.epoch_of(chain.from_iterable(steps)) for steps in drawn]
            order = curriculum.served(order, past, partial(teaches, learn_from=self.config.learn_from))
        self.folder.write_epoch(epoch, order, anew=self.config.curriculum)
        return order

    async def step(
        self, loop: Loop, gate: Gate | None, batch: Batch, before: Library, events: Journal, trials: list[Trials]
    ) -> tuple[Library, Journal, StepStats]:
        """One step with everything of it written but its end; the trajectories live no longer than this.

        Its trials join those of the steps before.
        """
        took = await self.one_step(loop, batch, before, trials)
        applied, decision = await gate.judged(took, before) if gate else Gated(took.applied)
        library = applied.library.credit(echoes(applied))
        at, step = _now(), batch.step
        news = record_credit(events, before, took.credited, actor=ACTOR, at=at, step=step)
        news += record(events + news, applied, actor=ACTOR, at=at, step=step)
        news += record_credit(events + news, applied.library, library, actor=ACTOR, at=at, step=step)
        update = took.update(applied)
        self.folder.write_step(batch.epoch, step, took.groups, took.summaries, took.critiques, update)
        if took.trials is not None:
            self.folder.write_trials(batch.epoch, step, took.trials)
            trials.append(took.trials)
        draws = draws_of(batch, took.groups, self.sizes) if self.spends_unevenly else None
        return library, news, step_stats(batch, took, applied, decision, draws)

    @property
    def sizes(self) -> GroupSize:
        """How many answers a training group takes."""
        config, size = self.config, self.config.grpo_group_size
        return GroupSize(
            config.group_size_min or size,
            size,
            config.group_size_max or size,
            all_wrong_teaches=config.learn_from == "mixed+all_wrong",
        )

    @property
    def spends_unevenly(self) -> bool:
        """Whether problems may get more or fewer answers than G an epoch."""
        return self.config.curriculum or self.sizes.least < self.sizes.most

    def loop(self) -> Loop:
        """The method's parts for training."""
        return Loop(
            session=self.session,
            rollouts=self.rollouts("rollout", self.config.grpo_group_size, self.config.rollout_temperature),
            settings=self.reflection(),
            admission=self.admission,
            screen=self.screen(),
            credit=Credit(self.config.credit_margin) if self.config.inclusion < 1.0 else None,
            near=self.session.retrieval.near,
            watch=self.watch,
            learn_from=self.config.learn_from,
            domain=self.task.domain.name,
            seed=self.config.seed,
        )

    def gate(self) -> Gate | None:
        """What decides on each step's library, when there are validation problems enough (SPEC 2.11)."""
        config, problems = self.config, self.task.val
        if not is_on(config, len(problems)):
            return None
        return Gate(
            problems=ordered(problems, config.seed),
            rollouts=self.rollouts("evaluate", config.eval_k, config.eval_temperature),
            meter=self.session.meter,
            watch=self.watch,
            error=config.gate_error,
            margin=config.gate_margin,
            seed=config.seed,
        )

    def screen(self) -> Screen | None:
        """What tries proposals, when the configuration asks for it."""
        answers = self.config.screen_answers
        if not answers:
            return None
        rollouts = self.rollouts("screen", answers, self.config.rollout_temperature)
        return Screen(rollouts, similarity(HashingEmbedder()), self.watch.expect)

    def rollouts(self, stage: str, group_size: int, temperature: float) -> RolloutManager:
        """Rollouts of one stage; training and evaluation differ in reward and sampling alone (SPEC 1.11)."""
        choose = held_out_reward if stage == "evaluate" else train_reward
        return open_rollouts(
            self.config,
            self.session,
            self.task.domain,
            Counted(self.reward or choose(self.config, self.session.model("judge")), self.grades),
            stage=stage,
            group_size=group_size,
            sizes=self.sizes if stage == "rollout" else None,
            temperature=temperature,
            advance=self.watch.advance,
        )

    def reflection(self) -> ReflectionSettings:
        """The settings of the three stages; `auto` takes the small profile for embedded models."""
        config = self.config
        reflector = config.reflector_model or config.model_name_or_path
        profile = config.reflector_profile
        if profile == "auto":
            profile = "small" if is_embedded(reflector) else "large"
        return ReflectionSettings(
            profile=profile,
            max_operations=config.semantic_max_operations,
            max_tokens=config.reflection_max_tokens,
            context=min(config.reflector_context, EMBEDDED_CONTEXT)
            if is_embedded(reflector)
            else config.reflector_context,
            use_groundtruth=config.use_groundtruth,
            feedback=config.critique_feedback,
            words=self.task.domain.prompts.words(config.use_groundtruth),
        )

    def admission(self, shown: Library) -> Admit:
        """The gate for texts learned while `shown` stood in the prompts, the domain's veto first."""
        general, veto = self.limits(shown), self.task.domain.veto

        def admit(text: str, others: Sequence[Experience], origin: Sequence[str]) -> Admitted | Refused:
            reason = veto(text)
            return Refused(reason=reason) if reason else general(text, others, origin)

        return admit

    def limits(self, shown: Library) -> Admission:
        """The general gate: room, copies, leaks of this run's labels and queries, echoes of `shown`."""
        labelled = {item.id: item.ground_truth for item in self.task.train if item.ground_truth is not None}
        return Admission(
            similarity=similarity(HashingEmbedder()),
            max_size=self.config.experience_max_size,
            token_budget=self.config.experience_token_budget if self.config.retrieval == "all" else sys.maxsize,
            ground_truths=labelled,
            queries={item.id: item.query for item in self.task.train},
            injected=frozenset(shown.texts),
        )

    async def one_step(self, loop: Loop, batch: Batch, library: Library, past: Sequence[Trials]) -> Step:
        """A step, shown while it runs; raises `RunFailed` when not one rollout of it could be scored."""
        self.watch.phase(f"step {batch.step}", len(batch.problems) * self.sizes.least, self.session.meter)
        took = await loop.step(
            batch.problems, library, epoch=batch.epoch, step=batch.step, draws=batch.draws, past=past
        )
        failures = [rollout.failure for group in took.groups for rollout in group.rollouts if rollout.failure]
        total = sum(len(group.rollouts) for group in took.groups)
        if len(failures) == total:
            first, count = Counter(failures).most_common(1)[0]
            raise RunFailed(
                f"all {total} rollouts of step {batch.step} failed, {count} of them at {first.boundary!r} with {first.type}: "
                f"{first.message}. "
                "Nothing was learned from them; what was done before is saved, and the same command tries again"
            )
        return took

    async def measure(self, name: str, problems: Sequence[Problem], library: Library) -> Evaluation | None:
        """Answers to `problems` under `library`, scored; None without problems. The same measurement is never paid twice."""
        if not problems:
            return None
        config = self.config
        self.watch.phase(name, len(problems) * config.eval_k, self.session.meter)
        manager = self.rollouts("evaluate", config.eval_k, config.eval_temperature)
        return await evaluate(manager, problems, library)

    async def closed_book(self) -> Evaluation | None:
        """The held-out problems without tools and library; None where the domain has no such baseline."""
        config = without_tools(self.config, self.task.domain)
        if config is None:
            return None
        bench = replace(self, config=config)
        found = await bench.measure(LABEL, self.task.test, Library())
        bench.keep(f"held-out-{NAME}", found, Library())
        return found

    def keep(self, name: str, found: Evaluation | None, library: Library) -> None:
        """What an evaluation gave on each problem, for `gym compare`."""
        if found:
            config, problems = self.config, self.task.test
            told = config.test or config.dataset
            made = identity(config, self.task.domain, problems, library, name=name, dataset=told)
            usd = dollars(made.model, found.tallies, config.prices)
            write(self.folder.root, made, usd, answers(problems, found.tallies))

    def log_step(self, stats: StepStats, steps: str) -> None:
        """One line a step, every `logging_steps`."""
        if (stats.step + 1) % self.config.logging_steps:
            return
        mean = "no score" if stats.mean is None else f"mean {stats.mean:.2f}"
        self.watch.say(
            f"step {stats.step + 1}/{steps}: {mean}, {stats.informative} of {stats.problems} groups informative, "
            f"{stats.failed} rollouts failed, {sum(stats.accepted.values())} operations accepted, {stats.rejected} rejected, "
            f"{stats.library_size} experiences"
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
