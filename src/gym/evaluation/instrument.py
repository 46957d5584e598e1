"""What takes a measurement of a target under a library: the open models of a session, and the tools of each target."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from gym.core.experience import Library
from gym.core.problem import Problem
from gym.errors import RunFailed
from gym.evaluation.closed_book import LABEL, NAME, without_tools
from gym.evaluation.evaluate import Evaluation, evaluate
from gym.evaluation.record import Answers, Identity, Record, answers, dollars, identity
from gym.evaluation.target import Target
from gym.train.grpo.rewards.grading import Counted, Counts
from gym.train.grpo.session import Session, open_rollouts
from gym.train.grpo.task import held_out_reward
from gym.train.grpo.tools.limits import Isolation
from gym.train.grpo.watch import Watch
from gym.train.grpo.ways import way

if TYPE_CHECKING:
    from gym.train.grpo.agent import Agent


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
    agents: Mapping[str, "Agent"] = field(default_factory=dict)
    """By the way that they answer in."""

    @property
    def isolation(self) -> Isolation | None:
        """Of the model's Python code, where any target lets it run some."""
        return next((one.isolation for one in self.agents.values() if one.isolation), None)

    async def take(self, name: str, target: Target, library: Library) -> Taken:
        """One measurement with all that is kept of it; raises like `measure`."""
        told = LABEL if name.endswith(NAME) else "with library" if len(library) else "no library"
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
            replace(self.session, agent=self.agents.get(way(config))),
            target.domain,
            Counted(held_out_reward(config, self.session.model("judge")), self.grades),
            stage="evaluate",
            group_size=config.eval_k,
            temperature=config.eval_temperature,
            advance=self.watch.advance,
        )
        return _scored(await evaluate(manager, target.problems, library))

    async def closed_book(self, target: Target, name: str = NAME) -> Taken | None:
        """The target without tools and library; None where its domain has no such baseline."""
        config = without_tools(target.config, target.domain)
        return None if config is None else await self.take(name, target._replace(config=config), Library())


def _scored(evaluation: Evaluation) -> Evaluation:
    if evaluation.score.mean is None:
        first = next(tally.failure for tally in evaluation.tallies if tally.failure)
        raise RunFailed(
            f"all {evaluation.score.failed} answers failed, the first at {first.boundary!r} with {first.type}: {first.message}"
        )
    return evaluation
