"""The whole of a run: `train(config)` learns a library, measures it, and leaves a run directory that tells all.

The loop itself is `loop.Loop.step`; here are its surroundings: data, models, the frozen-weights check, resume, gate,
evaluation on held-out problems and the report (SPEC 1, 2.11, 4.4, 4.6, 5.4).
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from gym.collector import rare_collections
from gym.config import RunConfig
from gym.core.admission import Admission, estimate_tokens
from gym.core.experience import Admit, Admitted, Applied, Experience, Library, Refused
from gym.core.journal import Journal, record, record_credit, record_import
from gym.core.problem import Problem, Reward, tool_use
from gym.core.value import digest
from gym.embedding import similarity
from gym.embedding.encoders import resolved
from gym.embedding.hashing import HashingEmbedder
from gym.errors import ConfigError, RunFailed
from gym.evaluation.evaluate import Evaluation, evaluate
from gym.evaluation.metrics import Paired, paired
from gym.evaluation.report import Report
from gym.llm.blocking import run
from gym.llm.brake import Brake
from gym.llm.local.catalogue import is_embedded
from gym.train.grpo.experience_manager import read_library
from gym.train.grpo.gate import decide, reverted
from gym.train.grpo.loop import Batch, Loop, Step, batches, echoes, shuffled
from gym.train.grpo.manifest import Weights, manifest
from gym.train.grpo.reporting import report_of, write_report
from gym.train.grpo.rewards.base import self_test
from gym.train.grpo.rewards.grading import Counted, Counts
from gym.train.grpo.rollout_manager import RolloutManager
from gym.train.grpo.run_dir import RunDir, StepStats
from gym.train.grpo.screen import Screen
from gym.train.grpo.session import Session, open_rollouts, open_session
from gym.train.grpo.stages.settings import ReflectionSettings
from gym.train.grpo.task import Task, held_out_reward, load_task, run_folder, train_reward
from gym.train.grpo.watch import Silent, Watch

ACTOR = "train"
FEWEST_TO_DECIDE = 6
"""Validation problems below which even a rise in all of them is no significant difference (sign-flip test, p <= 0.05)."""
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
    if config.gate == "paired" and len(task.val) < FEWEST_TO_DECIDE:
        raise ConfigError(
            f"gate: paired needs {FEWEST_TO_DECIDE} validation problems or more to decide anything, not {len(task.val)}"
        )
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
    if not config.continuous_learning_grpo:
        raise ConfigError(
            "continuous_learning_grpo: false asks for gradient GRPO, which `gym train` does not do; set it to true"
        )


def library_input(config: RunConfig) -> dict[str, str]:
    """The digest of the library to start from, so that a changed one is noticed on resume."""
    path = config.experience_lib_path
    return {"experience_lib": digest(read_library(path).to_json())} if path else {}


def before_spending(config: RunConfig, validation: int) -> tuple[str, ...]:
    """What the user should hear before the first call."""
    notes = []
    if 0 < validation < FEWEST_TO_DECIDE and config.gate == "auto":
        notes.append(
            f"{validation} validation problems cannot show a difference ({FEWEST_TO_DECIDE} that all rise can): the gate is off"
        )
    if config.grpo_group_size == 1:
        notes.append("a group size of 1 has no attempts to compare, so nothing can be learned: use --group-size 5")
    return tuple(notes)


class Learned(NamedTuple):
    """The last accepted library, every step's statistics, and the seconds that steps of earlier processes took."""

    library: Library
    steps: tuple[StepStats, ...]
    earlier_s: float


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
        library, steps, earlier_s = await self.learn(start)
        after = await self.measure("held-out", self.task.test, library)
        self.watch.say(f"graded {self.grades}")
        checked = await asyncio.to_thread(weights.read_again)
        self.write_manifest(checked)
        gain = paired(before.tallies, after.tallies, seed=self.config.seed) if before and after else None
        report = report_of(
            self.config,
            self.task,
            self.session,
            name=self.folder.root.name,
            weights=checked,
            start=start,
            library=library,
            steps=steps,
            before=before,
            after=after,
            gain=gain,
            seconds=self.seconds(time.monotonic() - began + earlier_s),
        )
        write_report(self.folder, report)
        checked.require_unchanged()
        return Run(self.folder.root, library, steps, before, after, gain, report)

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
        plan = list(
            batches(
                self.task.train, epochs=self.config.epochs, batch_size=self.config.batch_size, seed=self.config.seed
            )
        )
        for epoch in range(self.config.epochs):
            self.folder.write_epoch(epoch, shuffled(self.task.train, self.config.seed, epoch))
        done = self.folder.resume([(batch.epoch, batch.step) for batch in plan])
        library = start if done.library is None else done.library
        events = done.events or record_import((), start, actor=ACTOR, at=_now())
        stats = done.stats
        if done.steps:
            self.watch.say(f"continuing after step {done.steps} of {len(plan)}: {len(library)} experiences")
        loop = self.loop()
        self.folder.write_journal(events)
        for batch in plan[done.steps :]:
            library, news, of_step = await self.step(loop, batch, library, events)
            events, stats = events + news, (*stats, of_step)
            self.folder.finish_step(batch.epoch, batch.step, library, news, stats)
            self.log_step(of_step, len(plan))
        self.folder.write_library(library)
        return Learned(library, stats, sum(item.seconds for item in done.stats))

    async def step(
        self, loop: Loop, batch: Batch, before: Library, events: Journal
    ) -> tuple[Library, Journal, StepStats]:
        """One step with everything of it written but its end; the trajectories live no longer than this."""
        took = await self.one_step(loop, batch, before)
        applied = await self.gated(took, before)
        library = applied.library.credit(echoes(applied))
        at, step = _now(), batch.step
        news = record_credit(events, before, took.credited, actor=ACTOR, at=at, step=step)
        news += record(events + news, applied, actor=ACTOR, at=at, step=step)
        news += record_credit(events + news, applied.library, library, actor=ACTOR, at=at, step=step)
        update = took.update(applied)
        self.folder.write_step(batch.epoch, step, took.groups, took.summaries, took.critiques, update)
        return library, news, step_stats(batch, took, applied)

    def loop(self) -> Loop:
        """The method's parts for training."""
        return Loop(
            session=self.session,
            rollouts=self.rollouts("rollout", self.config.grpo_group_size, self.config.rollout_temperature),
            settings=self.reflection(),
            admission=self.admission,
            screen=self.screen(),
            near=self.session.retrieval.near,
            watch=self.watch,
            learn_from=self.config.learn_from,
            domain=self.task.domain.name,
            seed=self.config.seed,
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

    async def one_step(self, loop: Loop, batch: Batch, library: Library) -> Step:
        """A step, shown while it runs; raises `RunFailed` when not one rollout of it could be scored."""
        total = len(batch.problems) * self.config.grpo_group_size
        self.watch.phase(f"step {batch.step}", total, self.session.meter)
        took = await loop.step(batch.problems, library, epoch=batch.epoch, step=batch.step)
        failures = [rollout.failure for group in took.groups for rollout in group.rollouts if rollout.failure]
        if len(failures) == total:
            first, count = Counter(failures).most_common(1)[0]
            raise RunFailed(
                f"all {total} rollouts of step {batch.step} failed, {count} of them at {first.boundary!r} with {first.type}: "
                f"{first.message}. "
                "Nothing was learned from them; what was done before is saved, and the same command tries again"
            )
        return took

    async def gated(self, took: Step, before: Library) -> Applied:
        """The step's outcome, taken back when validation problems do not speak for it (SPEC 2.11)."""
        config = self.config
        wanted = config.gate != "none" and len(self.task.val) >= FEWEST_TO_DECIDE
        if not wanted or took.applied.library.texts == took.credited.texts:
            return took.applied
        older = await self.measure("validation", self.task.val, before)
        newer = await self.measure("validation", self.task.val, took.applied.library)
        assert older is not None
        assert newer is not None
        decision = decide(paired(older.tallies, newer.tallies, seed=config.seed), config.gate_margin)
        self.watch.say(f"gate: {'kept' if decision.accepted else 'taken back'} ({decision.reason})")
        return took.applied if decision.accepted else reverted(took.applied, took.credited, decision.reason)

    async def measure(self, name: str, problems: Sequence[Problem], library: Library) -> Evaluation | None:
        """Answers to `problems` under `library`, scored; None without problems. The same measurement is never paid twice."""
        if not problems:
            return None
        config = self.config
        self.watch.phase(name, len(problems) * config.eval_k, self.session.meter)
        manager = self.rollouts("evaluate", config.eval_k, config.eval_temperature)
        return await evaluate(manager, problems, library, seed=config.seed)

    def log_step(self, stats: StepStats, steps: int) -> None:
        """One line a step, every `logging_steps`."""
        if (stats.step + 1) % self.config.logging_steps:
            return
        mean = "no score" if stats.mean is None else f"mean {stats.mean:.2f}"
        self.watch.say(
            f"step {stats.step + 1}/{steps}: {mean}, {stats.informative} of {stats.problems} groups informative, "
            f"{stats.failed} rollouts failed, {sum(stats.accepted.values())} operations accepted, {stats.rejected} rejected, "
            f"{stats.library_size} experiences"
        )


def step_stats(batch: Batch, took: Step, applied: Applied) -> StepStats:
    """The numbers of a step."""
    rollouts = [rollout for group in took.groups for rollout in group.rollouts]
    rewards = [rollout.reward for rollout in rollouts if rollout.reward is not None]
    informative = sum(group.is_informative for group in took.groups)
    update = took.update(applied)
    return StepStats(
        epoch=batch.epoch,
        step=batch.step,
        problems=len(took.groups),
        rollouts=len(rollouts),
        failed=len(rollouts) - len(rewards),
        failures=dict(Counter(f"{f.boundary}: {f.type}: {f.message}" for f in (r.failure for r in rollouts) if f)),
        no_answer=sum(rollout.outcome == "no answer" for rollout in rollouts),
        mean=sum(rewards) / len(rewards) if rewards else None,
        mean_failed_as_0=sum(rewards) / len(rollouts),
        informative=informative,
        homogeneous=len(took.groups) - informative,
        proposed=len(update.proposed),
        accepted=dict(Counter(operation.option for operation in update.accepted)),
        rejected=len(update.rejected),
        library_size=len(applied.library),
        library_tokens=estimate_tokens(applied.library.render()),
        seconds=took.seconds,
        tools=tool_use(rollout.trajectory.tools for rollout in rollouts if rollout.trajectory),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
