"""`gepa` from PyPI (arXiv:2507.19457, MIT) on our problems: same model, splits, grader and sampling, at a budget.

It evolves the instructions, from those that every method starts with. Its calls go through our record, so that an
interrupted run is replayed for nothing; each evaluation has seeds of its own, so that none is answered from the record
for free within a run.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from gepa.api import optimize
from gepa.core.adapter import EvaluationBatch, ProposalFn
from gepa.core.result import GEPAResult
from gepa.core.state import GEPAState

from bench.learning.cell import Cell, Cost, Learned
from bench.learning.settings import INSTRUCTIONS, SHARED
from bench.learning.workplace import TEMPERATURE, Workplace
from bench.tasks.grading import REWARD
from gym.config import RunConfig
from gym.core.chat import Message, Sampling, Usage
from gym.core.experience import Library
from gym.core.problem import Problem
from gym.core.rollout import Rollout
from gym.tasks import all_of
from gym.train.grpo.session import Session, open_rollouts
from gym.train.grpo.task import load_domain

COMPONENT = "instructions"
REFLECTION_TOKENS = 512
"""Room to write whole instructions, which are longer than an experience."""

T = TypeVar("T")


class Trace(NamedTuple):
    """One answer, as the reflection sees it."""

    problem: Problem
    output: str
    feedback: str


@dataclass
class Adapter:
    """Asks our model and grader for what gepa wants to know; called in its thread, works on our event loop."""

    config: RunConfig
    session: Session
    loop: asyncio.AbstractEventLoop
    cost: Cost = field(default_factory=Cost)
    evaluations: int = 0
    reflections: int = 0
    propose_new_texts: ProposalFn | None = field(default=None, init=False)
    """gepa's own proposer writes the new instructions."""

    def evaluate(
        self, batch: list[Problem], candidate: dict[str, str], capture_traces: bool = False
    ) -> EvaluationBatch[Trace, str]:
        """One answer to each problem under the candidate's instructions."""
        rollouts = self._wait(self._answers(batch, candidate[COMPONENT]))
        traces = [_trace(rollout) for rollout in rollouts]
        return EvaluationBatch(
            outputs=[trace.output for trace in traces],
            scores=[rollout.reward or 0.0 for rollout in rollouts],
            trajectories=traces if capture_traces else None,
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: EvaluationBatch[Trace, str], components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Question, answer and the grader's words, in the form that gepa recommends."""
        records = [
            {"Inputs": trace.problem.query, "Generated Outputs": trace.output, "Feedback": trace.feedback}
            for trace in eval_batch.trajectories or ()
        ]
        return dict.fromkeys(components_to_update, records)

    def reflect(self, prompt: str | list[dict[str, Any]]) -> str:
        """The reply of the same model to gepa's reflection prompt."""
        assert isinstance(prompt, str), "gepa sends a list only for images"
        self.reflections += 1
        sampling = Sampling(temperature=TEMPERATURE, max_tokens=REFLECTION_TOKENS, seed=self.reflections)
        reply = self._wait(self.session.model("critique").complete((Message(role="user", content=prompt),), sampling))
        self._count(reply.usage)
        return reply.text

    async def _answers(self, batch: Sequence[Problem], instructions: str) -> list[Rollout]:
        self.evaluations += 1
        config = self.config.model_copy(update={"system_prompt": instructions})
        manager = open_rollouts(
            config,
            self.session,
            load_domain(config),
            REWARD,
            stage="rollout",
            group_size=1,
            temperature=TEMPERATURE,
        )
        epoch, met = self.evaluations, Counter[str]()
        asked = []
        for problem in batch:  # a minibatch that does not come out even repeats a problem: another answer to it
            asked.append(manager.group(problem, Library(), epoch=epoch, draw=met[problem.id]))
            met[problem.id] += 1
        groups = await all_of(asked)
        found = [group.rollouts[0] for group in groups]
        for rollout in found:
            self._count(rollout.trajectory.usage if rollout.trajectory else Usage())
        return found

    def _count(self, usage: Usage) -> None:
        self.cost = self.cost.plus(Cost(1, usage.prompt, usage.completion))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


class Quiet:
    """A log that nobody reads."""

    def log(self, message: str) -> None:
        return


async def learn(place: Workplace, cell: Cell, folder: Path, budget: Cost) -> Learned:
    """The best instructions by gepa's own validation score, once the budget is spent."""
    config = place.config(cell, SHARED, folder / "gepa")
    async with place.session(config, folder / "gepa" / "calls.jsonl") as session:
        adapter = Adapter(config, session, asyncio.get_running_loop())
        best = await asyncio.to_thread(_optimized, adapter, cell, budget)
    return Learned(best, cost=adapter.cost)


def _optimized(adapter: Adapter, cell: Cell, budget: Cost) -> str:
    """Its settings are its defaults, but for the budget."""

    def spent(gepa_state: GEPAState[str, int]) -> bool:
        return adapter.cost.covers(budget)

    result: GEPAResult[str, int] = optimize(
        seed_candidate={COMPONENT: INSTRUCTIONS},
        trainset=list(cell.splits.train),
        valset=list(cell.splits.val),
        adapter=adapter,
        reflection_lm=adapter.reflect,
        stop_callbacks=spent,
        logger=Quiet(),
        seed=cell.seed,
    )
    return result.candidates[result.best_idx][COMPONENT]


def _trace(rollout: Rollout) -> Trace:
    output = rollout.trajectory.output if rollout.trajectory else ""
    return Trace(rollout.problem, output, rollout.verdict.feedback if rollout.verdict else "no answer")
