"""What takes a measurement: a target (problems, and what asks and scores them), a library, and the open models of a session."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gym.config import RunConfig
from gym.core.experience import Library
from gym.core.problem import Problem
from gym.errors import ConfigError, RunFailed
from gym.evaluation.closed_book import LABEL, NAME, without_tools
from gym.evaluation.evaluate import Evaluation, evaluate
from gym.evaluation.record import Answers, Identity, Record, answers, dollars, identity
from gym.train.grpo.domains.base import Domain
from gym.train.grpo.rewards.grading import Counted, Counts
from gym.train.grpo.session import Session, open_rollouts
from gym.train.grpo.task import domain_of, held_out_reward, load_domain, read_problems
from gym.train.grpo.watch import Watch


class Target(NamedTuple):
    """A set of problems, and the settings under which they are asked and scored."""

    config: RunConfig
    domain: Domain
    problems: tuple[Problem, ...]

    @property
    def answers(self) -> int:
        """Of one measurement."""
        return len(self.problems) * self.config.eval_k

    def reseeded(self) -> "Target":
        """The same with the next seed: other draws of the same answers."""
        return self._replace(config=self.config.model_copy(update={"seed": self.config.seed + 1}))


def target_of(config: RunConfig, notes: list[str]) -> Target:
    """The problems of `config.dataset` that can be scored; what was left out is added to `notes`.

    Raises `ConfigError` when no data is named, or none can be read.
    """
    if not config.dataset:
        raise ConfigError("no data: give --data FILE (JSONL, CSV, Parquet), a Hugging Face id, or a domain's set")
    domain, reward = load_domain(config), held_out_reward(config)
    problems = read_problems(config, domain, config.dataset, reward, notes, truncate=config.dataset_truncate)
    return Target(config, domain, problems)


def elsewhere(config: RunConfig, dataset: str, reward: str) -> RunConfig:
    """The settings for another data set: one that another domain knows by name is read and scored by that."""
    own = domain_of(dataset)
    if own is not None and "domain" in config.model_fields_set and own.name != config.domain:
        return config.model_copy(update={"dataset": dataset, "domain": own.name, "reward": reward})
    return config.model_copy(update={"dataset": dataset, "reward": reward or config.reward})


class Taken(NamedTuple):
    """One measurement."""

    found: Evaluation
    made: Identity
    problems: tuple[Problem, ...]
    usd: float | None

    def answers(self) -> Iterator[Answers]:
        """The figures of each problem."""
        return answers(self.problems, self.found.tallies)

    def record(self) -> Record:
        """All of it in one value."""
        return Record(identity=self.made, usd=self.usd, answers=tuple(self.answers()))


@dataclass(frozen=True)
class Instrument:
    """The open models, and who is told."""

    session: Session
    watch: Watch
    grades: Counts = field(default_factory=Counts)

    async def take(self, name: str, target: Target, library: Library) -> Taken:
        """One measurement with all that is kept of it; raises like `measure`."""
        told = LABEL if name == NAME else "with library" if len(library) else "no library"
        self.watch.phase(told, target.answers, self.session.meter)
        config, found = target.config, await self.measure(target, library)
        made = identity(config, target.domain, target.problems, library, name=name, dataset=config.dataset)
        return Taken(found, made, target.problems, dollars(made.model, found.tallies, config.prices))

    async def measure(self, target: Target, library: Library) -> Evaluation:
        """Answers to the target's problems under `library`; raises `RunFailed` when none could be scored."""
        config = target.config
        self.session.retrieval.expect(target.problems)
        manager = open_rollouts(
            config,
            self.session,
            target.domain,
            Counted(held_out_reward(config, self.session.model("judge")), self.grades),
            stage="evaluate",
            group_size=config.eval_k,
            temperature=config.eval_temperature,
            advance=self.watch.advance,
        )
        return _scored(await evaluate(manager, target.problems, library))

    async def closed_book(self, target: Target) -> Taken | None:
        """The target without tools and library; None where its domain has no such baseline."""
        config = without_tools(target.config, target.domain)
        return None if config is None else await self.take(NAME, target._replace(config=config), Library())

    async def both(self, name: str, target: Target, library: Library) -> tuple[Taken, Taken]:
        """Without and with the library."""
        return await self.take(f"{name}plain", target, Library()), await self.take(f"{name}library", target, library)


def _scored(evaluation: Evaluation) -> Evaluation:
    if evaluation.score.mean is None:
        first = next(tally.failure for tally in evaluation.tallies if tally.failure)
        raise RunFailed(
            f"all {evaluation.score.failed} answers failed, the first at {first.boundary!r} with {first.type}: {first.message}"
        )
    return evaluation
