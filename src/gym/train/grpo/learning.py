"""From step to step: what is done already, the next one, what the gate says of it, its files; then the library to return.

A step writes `experiences.json` last, so a run that was stopped goes on with the step that has none (SPEC 4.4, 5.4).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, islice
from math import ceil
from typing import NamedTuple

from gym.core.decision import Decision
from gym.core.experience import Add, Applied, Experience, Library
from gym.core.journal import Journal, record, record_credit, record_import, record_restore
from gym.core.problem import Problem
from gym.core.text import count
from gym.core.trials import Trials
from gym.errors import RunFailed
from gym.evaluation.metrics import Paired
from gym.train.grpo import curriculum
from gym.train.grpo.credit import refuted, removed
from gym.train.grpo.descent import Pool, kept, parent, voted
from gym.train.grpo.experience_manager import utc_now
from gym.train.grpo.gate import Gate, Gated
from gym.train.grpo.loop import Batch, Loop, Step, batches, echoes, teaches
from gym.train.grpo.run_dir import STEP_FILES, TRIALS, StepStats
from gym.train.grpo.snapshots import Chosen, Snapshot, best_of, best_validated, gain, with_later_uses
from gym.train.grpo.step_stats import draws_of, step_stats
from gym.train.grpo.workbench import Workbench

ACTOR = "train"
"""In the journal."""


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
class Learning:
    """The steps of one run."""

    bench: Workbench

    async def learn(self, start: Library) -> Learned:
        """Every step that is not done yet; steps that are done are taken as they are."""
        files = STEP_FILES if self.bench.config.inclusion == 1.0 else (*STEP_FILES, TRIALS)
        done = self.bench.folder.resume(((batch.epoch, batch.step) for batch in self.plan()), files=files)
        library = start if done.library is None else done.library
        events = done.events or record_import((), start, actor=ACTOR, at=utc_now())
        stats = done.stats
        if done.steps:
            self.bench.watch.say(
                f"continuing after step {done.steps} of {self.steps}: {count(len(library), 'experience')}"
            )
        loop, gate = self.bench.loop(), self.bench.gate()
        pool = self.pool(start, events, stats)
        trials = self.bench.folder.read_trials([(batch.epoch, batch.step) for batch in islice(self.plan(), done.steps)])
        for batch in islice(self.plan(), done.steps, None):
            if len(stats) == done.steps:  # the first of these steps: what lies beyond it is of a run that was stopped
                self.bench.folder.rewind(library, events)
            library, turn = await self.gone_on_from(gate, pool, batch, library, events)
            library, news, of_step = await self.step(loop, gate, batch, library, events + turn, trials)
            events, stats = events + turn + news, (*stats, of_step)
            self.bench.folder.finish_step(batch.epoch, batch.step, library, turn + news, stats)
            if of_step.gate and of_step.gate.kept:
                pool = pool.joined(Snapshot(batch.step, library), of_step.gate.answered(self.bench.config.eval_k))
            self.log_step(of_step, self.steps)
        chosen = await self.returned(gate, start, library, events, stats)
        validated = await gain(gate, start, chosen.library) if gate else None
        return Learned(chosen, stats, sum(item.seconds for item in done.stats), validated, removed(events))

    async def returned(
        self, gate: Gate | None, start: Library, last: Library, events: Journal, stats: Sequence[StepStats]
    ) -> Chosen:
        """The best validated library; where that is not the last, the run goes back to it, which the journal tells."""
        chosen = await self.chosen(gate, start, last, events, stats) if gate else Chosen(last)
        if not chosen.reason:
            self.bench.folder.rewind(last, events)
            return chosen
        self.bench.watch.say(f"going back: {chosen.reason}")
        step = len(stats)
        at = self.bench.folder.went_back_at(step) or utc_now()
        news = record_restore(events, last, chosen.library, actor=ACTOR, at=at, step=step, reason=chosen.reason)
        self.bench.folder.go_back(chosen.library, events + news)
        return chosen

    async def chosen(
        self, gate: Gate, start: Library, last: Library, events: Journal, stats: Sequence[StepStats]
    ) -> Chosen:
        """What the gate's answers say is best, of a line of descent or of a pool."""
        if self.bench.config.descent == "line":
            return await best_validated(gate, start, last, events, stats)
        return await best_of(gate, await voted(gate, self.pool(start, events, stats)), last)

    async def gone_on_from(
        self, gate: Gate | None, pool: Pool, batch: Batch, last: Library, events: Journal
    ) -> tuple[Library, Journal]:
        """The library that a step begins with, and the event of going back to it when that is not the last."""
        if gate is None or self.bench.config.descent == "line":
            return last, ()
        chosen = await parent(gate, pool, step=batch.step)
        if chosen.library.texts == last.texts:
            return last, ()
        library, reason = with_later_uses(chosen.library, last), f"step {batch.step} goes on from {chosen}"
        self.bench.watch.say(reason)
        return library, record_restore(events, last, library, actor=ACTOR, at=utc_now(), step=batch.step, reason=reason)

    def pool(self, start: Library, events: Journal, stats: Sequence[StepStats]) -> Pool:
        """The libraries to go on from after these steps."""
        return kept(start, events, stats, k=self.bench.config.eval_k)

    def plan(self) -> Iterator[Batch]:
        """The run's steps; those of an epoch are known when the epochs before it are done."""
        config = self.bench.config
        return batches(
            self.bench.task.train,
            epochs=config.epochs,
            batch_size=config.batch_size,
            seed=config.seed,
            serve=self.serve,
        )

    @property
    def steps(self) -> str:
        """How many there are, in words; with a curriculum an epoch may be shorter."""
        steps = self.bench.config.epochs * ceil(len(self.bench.task.train) / self.bench.config.batch_size)
        return f"{steps} at most" if self.bench.config.curriculum else str(steps)

    def serve(self, epoch: int, order: tuple[Problem, ...], earlier: Sequence[Batch]) -> tuple[Problem, ...]:
        """The problems of an epoch, written down: the shuffled ones, or what the curriculum makes of them."""
        if self.bench.config.curriculum:
            by_epoch = groupby(earlier, key=lambda batch: batch.epoch)
            drawn = [[self.bench.folder.rollouts(batch.epoch, batch.step) for batch in steps] for _, steps in by_epoch]
            past = [curriculum.epoch_of(chain.from_iterable(steps)) for steps in drawn]
            order = curriculum.served(order, past, partial(teaches, learn_from=self.bench.config.learn_from))
        self.bench.folder.write_epoch(epoch, order, anew=self.bench.config.curriculum)
        return order

    async def step(
        self, loop: Loop, gate: Gate | None, batch: Batch, before: Library, events: Journal, trials: list[Trials]
    ) -> tuple[Library, Journal, StepStats]:
        """One step with everything of it written but its end; the trajectories live no longer than this.

        Its trials join those of the steps before.
        """
        harmful = refuted(events)
        took = await self.one_step(loop, batch, before, trials, harmful)
        gated = await gate.judged(took, before) if gate else Gated(took.applied)
        whole = gated.whole or gated.decision
        if gate and whole and lost_additions(took, gated.applied) and loop.screen and not loop.screen_first:
            self.bench.watch.say("each of the proposals is tried now")
            self.bench.watch.phase(f"step {batch.step}, trials", 0, self.bench.session.meter)
            took = noted(await loop.tried(took, before, step=batch.step, refuted=harmful), whole)
            gated = (await gate.judged(took, before))._replace(whole=whole)
        library, news = journalled(took, gated.applied, before, events, batch.step)
        update = took.update(gated.applied)
        self.bench.folder.write_step(batch.epoch, batch.step, took.groups, took.summaries, took.critiques, update)
        if took.trials is not None:
            self.bench.folder.write_trials(batch.epoch, batch.step, took.trials)
            trials.append(took.trials)
        draws = draws_of(batch, took.groups, self.bench.sizes) if self.bench.spends_unevenly else None
        return library, news, step_stats(batch, took, gated, draws)

    async def one_step(
        self, loop: Loop, batch: Batch, library: Library, past: Sequence[Trials], harmful: Sequence[Experience]
    ) -> Step:
        """A step, shown while it runs; raises `RunFailed` when not one rollout of it could be scored."""
        self.bench.watch.phase(
            f"step {batch.step}", len(batch.problems) * self.bench.sizes.least, self.bench.session.meter
        )
        took = await loop.step(
            batch.problems, library, epoch=batch.epoch, step=batch.step, draws=batch.draws, past=past, refuted=harmful
        )
        require_scored(took, batch.step)
        return took

    def log_step(self, stats: StepStats, steps: str) -> None:
        """One line a step, every `logging_steps`."""
        if (stats.step + 1) % self.bench.config.logging_steps:
            return
        mean = "no score" if stats.mean is None else f"mean {stats.mean:.2f}"
        self.bench.watch.say(
            f"step {stats.step + 1}/{steps}: {mean}, {stats.informative} of {stats.problems} groups informative, "
            f"{count(stats.failed, 'rollout')} failed, {count(sum(stats.accepted.values()), 'operation')} accepted, "
            f"{stats.rejected} rejected, {count(stats.library_size, 'experience')}"
        )


def lost_additions(took: Step, applied: Applied) -> bool:
    """Whether `applied`, what the gate left of a step, lacks experiences that the step would have added."""
    return applied is not took.applied and any(isinstance(item.operation, Add) for item in took.applied.accepted)


def noted(took: Step, decision: Decision) -> Step:
    """The step with what the gate said of all its proposals together, before each was tried."""
    together = f"all proposals together were taken back ({decision.reason}); then each was tried"
    return took._replace(decided=took.decided._replace(notes=(*took.decided.notes, together)))


def journalled(
    took: Step, applied: Applied, before: Library, events: Journal, step: int, actor: str = ACTOR
) -> tuple[Library, Journal]:
    """The library that a step leaves, its echoes counted as uses, and the step's events, chained to `events`."""
    library, at = applied.library.credit(echoes(applied)), utc_now()
    news = record_credit(events, before, took.credited, actor=actor, at=at, step=step)
    news += record(events + news, applied, actor=actor, at=at, step=step)
    news += record_credit(events + news, applied.library, library, actor=actor, at=at, step=step)
    return library, news


def require_scored(took: Step, step: int) -> None:
    """Raise `RunFailed` when not one rollout of a step could be scored."""
    failures = [rollout.failure for group in took.groups for rollout in group.rollouts if rollout.failure]
    total = sum(len(group.rollouts) for group in took.groups)
    if len(failures) == total:
        first, times = Counter(failures).most_common(1)[0]
        raise RunFailed(
            f"all {total} rollouts of step {step} failed, {times} of them at {first.boundary!r} with {first.type}: "
            f"{first.message}. "
            "Nothing was learned from them; what was done before is saved, and the same command tries again"
        )
