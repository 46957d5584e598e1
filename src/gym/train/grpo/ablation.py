"""Every variant of an ablation under every seed: planned and checked before a call is paid, run, and put into one table.

Each run is an ordinary `gym train` in a folder of its own below the experiment's, with its own record, so that it can be looked
at, resumed and repeated alone; only the answers to held-out problems before learning are shared (`gym.train.grpo.baseline`). All
variants of a seed come before the next seed, so that an ablation that stops early compares like with like.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from pydantic import ValidationError

from gym.config import RunConfig
from gym.core.rollout import Tally
from gym.errors import BudgetReached, ConfigError
from gym.evaluation.ablation import Ablation, Outcome, Spent, markdown, row
from gym.evaluation.estimate import Estimate, estimate_for
from gym.evaluation.variants import Load, Variant
from gym.files import write_atomic
from gym.llm.brake import Brake
from gym.train.grpo import baseline
from gym.train.grpo.requirements import require_training_free
from gym.train.grpo.run_dir import RunDir
from gym.train.grpo.task import held_out_reward, library_input, load_task, run_folder, train_reward
from gym.train.grpo.training_free_workflow import Run, atrain
from gym.train.grpo.watch import Watch

OUTCOME = "outcome.json"


class Job(NamedTuple):
    """One run: a variant under a seed."""

    variant: Variant
    seed: int
    config: RunConfig
    estimate: Estimate
    baseline_calls: int
    """Answers to held-out problems before learning."""
    held_out: str
    """Digest of these problems."""
    outcome: Outcome | None
    """Of a run that is finished."""

    @property
    def name(self) -> str:
        """As a person calls it."""
        return f"{self.variant.name}, seed {self.seed}"

    @property
    def folder(self) -> Path:
        """Of the run."""
        return run_folder(self.config)

    @property
    def record(self) -> Path:
        """Its paid calls."""
        return self.folder / "calls.jsonl"


class Limits(NamedTuple):
    """Budgets on the whole; None is no limit."""

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None


@dataclass
class Experiment:
    """The runs of an ablation and what is finished of them; `jobs` are in the order in which they are run.

    Invariant: `outcomes` holds, by variant and seed, exactly the runs whose outcome is on disk.
    """

    folder: Path
    jobs: tuple[Job, ...]
    limits: Limits
    outcomes: dict[tuple[str, int], Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.outcomes |= {(job.variant.name, job.seed): job.outcome for job in self.jobs if job.outcome is not None}

    @property
    def seeds(self) -> tuple[int, ...]:
        """Those that every variant learns under."""
        return tuple(dict.fromkeys(job.seed for job in self.jobs))

    async def run(self, watch: Watch, brake: Brake) -> Ablation:
        """Every run that is not finished, the table written after each. Raises what a run raises; the same call continues."""
        for place, job in enumerate(self.jobs, start=1):
            if (job.variant.name, job.seed) in self.outcomes:
                continue
            watch.say(f"run {place} of {len(self.jobs)}: {job.name}")
            self.outcomes[job.variant.name, job.seed] = await self._one(job, watch, brake)
            self.write()
        return self.write()

    def write(self) -> Ablation:
        """ablation.json and ablation.md as things stand."""
        found = self.result()
        write_atomic(self.folder / "ablation.json", found.model_dump_json(indent=2) + "\n")
        write_atomic(self.folder / "ablation.md", markdown(found))
        return found

    def result(self) -> Ablation:
        """The table of the runs that are finished."""
        named = dict.fromkeys(job.variant.name for job in self.jobs)
        variants = {job.variant.name: job.variant for job in self.jobs}
        runs = {name: {seed: run for (of, seed), run in self.outcomes.items() if of == name} for name in named}
        first = next(iter(named))
        return Ablation(
            name=self.folder.name,
            model=self.jobs[0].config.model_name_or_path,
            rows=tuple(row(variants[name], runs[name], None if name == first else runs[first]) for name in named),
            runs=len(self.jobs),
            finished=len(self.outcomes),
            paid=sum((run.paid for run in self.outcomes.values()), Spent()),
        )

    async def _one(self, job: Job, watch: Watch, brake: Brake) -> Outcome:
        lender = self.lender(job)
        baseline.lend(lender.record, job.record)
        shared = baseline.lent(lender.record, job.record, job.config)
        try:
            run = await atrain(job.config.model_copy(update=self._budget(job, shared)), watch=watch, brake=brake)
        except BudgetReached as stop:
            raise BudgetReached(
                f"{job.name}: {stop} (of the budget for the whole, the runs before have used a part)"
            ) from stop
        outcome = outcome_of(run, shared)
        write_atomic(job.folder / OUTCOME, outcome.model_dump_json(indent=2) + "\n")
        return outcome

    def lender(self, job: Job) -> Job:
        """The first run that asks held-out problems the same; the job itself when there is none before it."""
        return next(
            other for other in self.jobs if other.seed == job.seed and baseline.same_baseline(other.config, job.config)
        )

    @property
    def shared_calls(self) -> int:
        """Answers to held-out problems that unfinished runs take over instead of paying for them."""
        borrowers = (job for job in self.jobs if job.outcome is None and self.lender(job) is not job)
        return sum(job.baseline_calls for job in borrowers)

    def _budget(self, job: Job, shared: Spent) -> dict[str, float | int | None]:
        """What is left of the budgets for this run, which counts what it took over as its own."""
        paid = sum((run.paid for run in self.outcomes.values()), Spent())
        usd, tokens, calls = self.limits
        left: dict[str, float | int | None] = {
            "budget_usd": None if usd is None else usd - (paid.usd or 0.0) + (shared.usd or 0.0),
            "budget_tokens": None if tokens is None else tokens - paid.tokens + shared.tokens,
            "budget_calls": None if calls is None else calls - paid.calls + shared.calls,
        }
        if any(value is not None and value <= 0 for value in left.values()):
            raise BudgetReached(
                f"{job.name}: the runs before used the budget up; raise it and run the same command to go on"
            )
        return left


def experiment(load: Load, folder: Path, variants: Sequence[Variant], seeds: Sequence[int]) -> Experiment:
    """The runs, each checked and predicted; no call is made. Raises `ConfigError` for what cannot be run or compared."""
    own = load({})
    if len(seeds) > 1 and not own.test and own.test_fraction:
        raise ConfigError(
            "test_fraction splits by the seed, so every seed would have other held-out problems: give them as --test FILE"
        )
    jobs = tuple(_job(load, folder, variant, seed) for seed in seeds for variant in variants)
    _require_same_problems(jobs)
    return Experiment(folder, jobs, Limits(own.budget_usd, own.budget_tokens, own.budget_calls))


def _job(load: Load, folder: Path, variant: Variant, seed: int) -> Job:
    place = {"seed": seed, "output_dir": str(folder / variant.folder), "experiment_name": f"seed_{seed}"}
    config = load({**variant.changes, **place})
    require_training_free(config)
    task = load_task(config, train_reward(config), held_out_reward(config))
    if not task.test:
        raise ConfigError("an ablation compares by held-out problems: give --test FILE")
    inputs, outcome = task.inputs(), finished(run_folder(config) / OUTCOME)
    calls = len(task.test) * config.eval_k
    job = Job(variant, seed, config, estimate_for(config, task), calls, inputs["test"], outcome)
    _require_same_settings(job, {**inputs, **library_input(config)})
    return job


def _require_same_settings(job: Job, inputs: Mapping[str, str]) -> None:
    """Raise `ConfigError` when the run was begun with other settings or data."""
    folder = RunDir(job.folder)
    if told := folder.changes(folder.begun(job.config), inputs):
        raise ConfigError(
            f"{job.name} was run with other settings ({told}): an ablation with these needs another --experiment-name"
        )


def _require_same_problems(jobs: Sequence[Job]) -> None:
    """Raise `ConfigError` when not all runs are measured on the same held-out problems."""
    if other := next((job for job in jobs if job.held_out != jobs[0].held_out), None):
        raise ConfigError(
            f"{other.name} has other held-out problems than {jobs[0].name}, so that their gains cannot be compared: give "
            "all of them one --test FILE"
        )


def finished(path: Path) -> Outcome | None:
    """The outcome at `path`; None when there is none that can be read, so that the run is done again from its record."""
    try:
        return Outcome.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


def outcome_of(run: Run, shared: Spent) -> Outcome:
    """What is kept of a run; `shared` is what it took over from another."""
    assert run.before is not None
    assert run.after is not None
    total = run.report.spent["total"]
    whole = Spent(calls=total["calls"], tokens=total["prompt_tokens"] + total["completion_tokens"], usd=total["usd"])
    asked_anew = (new for old, new in zip(run.before.tallies, run.after.tallies, strict=True) if new != old)
    measured = [*run.before.tallies, *asked_anew]  # what no library changed was served from the record
    held_out = Spent(calls=sum(one.size for one in measured), tokens=sum(one.tokens.total for one in measured))
    return Outcome(
        before=_means(run.before.tallies),
        after=_means(run.after.tallies),
        learning=whole - held_out,
        paid=whole - shared,
        experiences=len(run.library),
        seconds=run.report.seconds,
    )


def _means(tallies: Sequence[Tally]) -> dict[str, float]:
    return {tally.problem_id: fmean(tally.rewards) for tally in tallies if tally.rewards}
