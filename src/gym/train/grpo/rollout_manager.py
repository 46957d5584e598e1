"""RolloutManager: G answers to each problem, scored, under one limit of what is in flight (arXiv:2510.08191 §3.1).

A rollout's time limit starts when it gets its slot, so queueing is not counted. Failures are values inside the
rollout; a stop or a fatal provider error passes through, after what is in flight has finished.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from gym.core.chat import ChatModel, Sampling
from gym.core.experience import Library
from gym.core.problem import Failure, Problem, Reward, Solver, Trajectory, Verdict
from gym.core.prompting import solve_messages
from gym.core.rollout import Group, Rollout
from gym.errors import ProviderError, Stopped

T = TypeVar("T")


def rollout_seed(run_seed: int, epoch: int, problem_id: str, index: int) -> int:
    """The sampling seed of one rollout, in [0, 2^31): a function of its place, not of the order of work."""
    text = f"{run_seed}/{epoch}/{problem_id}/{index}"
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()[:4]) >> 1


async def all_of(work: Iterable[Awaitable[T]]) -> list[T]:
    """Every result, in order. When one raises the others still finish, since their calls are paid for; then the
    error is raised, a real one before a mere stop."""
    results = await asyncio.gather(*work, return_exceptions=True)
    errors = [result for result in results if isinstance(result, BaseException)]
    if errors:
        raise min(errors, key=lambda error: isinstance(error, Stopped))
    return [result for result in results if not isinstance(result, BaseException)]


class RolloutManager:
    """Runs groups of rollouts against one model, solver and reward."""

    def __init__(
        self,
        model: ChatModel,
        solver: Solver,
        reward: Reward,
        *,
        slots: asyncio.Semaphore,
        sampling: Sampling,
        group_size: int,
        instructions: str = "",
        seed: int = 0,
        timeout_s: float = 600.0,
        on_rollout: Callable[[Rollout], None] = lambda rollout: None,
    ) -> None:
        self.model, self.solver, self.reward = model, solver, reward
        self.slots, self.sampling, self.group_size = slots, sampling, group_size
        self.instructions, self.seed, self.timeout_s, self.on_rollout = instructions, seed, timeout_s, on_rollout

    async def run(self, problems: Sequence[Problem], library: Library, *, epoch: int = 0) -> list[Group]:
        """One group per problem, in the problems' order."""
        return await all_of(self.group(problem, library, epoch=epoch) for problem in problems)

    async def group(self, problem: Problem, library: Library, *, epoch: int = 0) -> Group:
        """`group_size` rollouts of one problem with `library` in the prompt, scored together."""
        attempts = await all_of(self._attempt(problem, library, epoch, index) for index in range(self.group_size))
        finished = [attempt for attempt in attempts if isinstance(attempt, Trajectory)]
        verdicts = iter(await self._score(problem, finished))
        rollouts = tuple(
            self._rollout(problem, library, index, attempt, next(verdicts) if isinstance(attempt, Trajectory) else None)
            for index, attempt in enumerate(attempts)
        )
        for rollout in rollouts:
            self.on_rollout(rollout)
        return Group(problem=problem, rollouts=rollouts)

    async def _attempt(self, problem: Problem, library: Library, epoch: int, index: int) -> Trajectory | Failure:
        messages = solve_messages(problem.query, library.render(), self.instructions)
        seed = rollout_seed(self.seed, epoch, problem.id, index)
        sampling = self.sampling.model_copy(update={"seed": seed, "sample": index})
        async with self.slots:
            try:
                async with asyncio.timeout(self.timeout_s):
                    return await self.solver(self.model, messages, sampling)
            except TimeoutError:
                return Failure(boundary="generate", type="Timeout", message=f"no answer within {self.timeout_s:g} s")
            except ProviderError as error:
                if error.fatal:
                    raise
                return Failure(boundary="generate", type=type(error).__name__, message=str(error))

    async def _score(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        if not trajectories:
            return []
        verdicts = await self.reward(problem, trajectories)
        if len(verdicts) != len(trajectories):
            raise AssertionError(f"the reward gave {len(verdicts)} verdicts for {len(trajectories)} trajectories")
        return verdicts

    def _rollout(
        self,
        problem: Problem,
        library: Library,
        index: int,
        attempt: Trajectory | Failure,
        verdict: Verdict | Failure | None,
    ) -> Rollout:
        broken = next((part for part in (attempt, verdict) if isinstance(part, Failure)), None)
        return Rollout(
            problem=problem,
            index=index,
            library=library.digest if len(library) else "",
            shown=library.ids,
            trajectory=attempt if isinstance(attempt, Trajectory) else None,
            verdict=verdict if isinstance(verdict, Verdict) else None,
            failure=broken,
        )
