"""RolloutManager: G answers to each problem, scored (arXiv:2510.08191 §3.1).

How many calls are in flight is the model's limiter's business; here no more groups are begun than keep it busy, so that
a run of any length holds only those. A rollout's time limit does not count waiting for a slot. Failures are values
inside the rollout; a stop or a fatal provider error passes through, after what is in flight has finished.
"""

import asyncio
import hashlib
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, Self, TypeVar

from gym.core.chat import ChatModel, Message, Sampling
from gym.core.experience import Library
from gym.core.problem import Failure, Problem, Reward, Solver, Trajectory, Verdict
from gym.core.prompting import solve_messages
from gym.core.rollout import Group, Rollout
from gym.errors import ProviderError
from gym.llm.recorded import Recorded
from gym.llm.stopwatch import working_time
from gym.tasks import all_of
from gym.train.grpo.group_size import GroupSize

T = TypeVar("T")


def rollout_seed(run_seed: int, epoch: int, problem_id: str, index: int) -> int:
    """The sampling seed of one rollout, in [0, 2^31): a function of its place, not of the order of work."""
    text = f"{run_seed}/{epoch}/{problem_id}/{index}"
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()[:4]) >> 1


class Choose(Protocol):
    """Which experiences of a library the `index`-th rollout of a problem is shown, in id order."""

    def __call__(self, library: Library, problem: Problem, index: int, epoch: int) -> Library:
        """A part of `library`, or all of it; the same for the same arguments, so that a resumed run asks the same."""
        ...


def everything(library: Library, problem: Problem, index: int, epoch: int) -> Library:
    """The whole library for everyone."""
    return library


class Shown(NamedTuple):
    """A library as a prompt holds it."""

    library: Library
    text: str
    digest: str

    @classmethod
    def of(cls, library: Library) -> Self:
        return cls(library, library.render(), library.digest if len(library) else "")


class RolloutManager:
    """Runs groups of rollouts against one model, solver and reward; `width` says how many calls the model takes now.

    `choose` picks what of the library each rollout sees; `sizes` lets a group stop before `group_size` answers or go on.

    Invariant: `_unfinished` counts the rollouts begun and not yet ended, `_open` the groups begun and not yet scored;
    `_moved` is set whenever one of them falls.
    """

    def __init__(
        self,
        model: ChatModel,
        solver: Solver,
        reward: Reward,
        *,
        width: Callable[[], int],
        sampling: Sampling,
        group_size: int,
        sizes: GroupSize | None = None,
        choose: Choose = everything,
        instructions: str = "",
        seed: int = 0,
        timeout_s: float = 600.0,
        on_rollout: Callable[[Rollout], None] = lambda rollout: None,
    ) -> None:
        self.model, self.solver, self.reward = model, solver, reward
        self.width, self.sampling, self.group_size = width, sampling, group_size
        self.instructions, self.seed, self.timeout_s, self.on_rollout = instructions, seed, timeout_s, on_rollout
        self.sizes = sizes or GroupSize.fixed(group_size)
        self._choose, self._last = choose, Shown.of(Library())
        self._unfinished = self._open = 0
        self._moved = asyncio.Event()

    async def run(self, problems: Sequence[Problem], library: Library, *, epoch: int = 0) -> list[Group]:
        """One group per problem, in the problems' order."""
        return await self.each(problems, library, epoch=epoch, keep=lambda group: group)

    async def each(
        self, problems: Sequence[Problem], library: Library, *, epoch: int = 0, keep: Callable[[Group], T]
    ) -> list[T]:
        """What `keep` takes of each problem's group, in the problems' order; the rest of a group is let go.

        Work begins at the first problem whose answers are not in the record yet, so that a resumed run goes on at once.
        """

        async def kept(problem: Problem) -> T:
            return keep(await self.group(problem, library, epoch=epoch))

        start = bisect_left(problems, True, key=lambda problem: self.unanswered(problem, library, epoch) > 0)
        order = [*problems[start:], *problems[:start]]
        found = await all_of((kept(problem) for problem in order), self.room)
        return [*found[len(problems) - start :], *found[: len(problems) - start]]

    async def room(self) -> None:
        """Return when another group is needed to keep the model busy, and not too many wait to be scored."""
        await asyncio.sleep(0)  # what was begun last takes its place
        while self._busy(self.width()):
            self._moved.clear()
            await self._moved.wait()

    def _busy(self, width: int) -> bool:
        """A few more rollouts than fit keep the model busy; groups that wait to be scored hold their texts."""
        return self._unfinished >= 1.05 * width + self.group_size or self._open * self.group_size >= 8 * width + 64

    async def group(self, problem: Problem, library: Library, *, epoch: int = 0, draw: int = 0) -> Group:
        """As many rollouts of one problem as `sizes` wants, with a library in the prompt; those drawn at once scored at once.

        `draw` counts the problem's earlier groups in this epoch: its indices, and so its seeds, are behind theirs.
        """
        self._open += 1
        rollouts: tuple[Rollout, ...] = ()
        try:
            while more := self.sizes.more(Group(problem=problem, rollouts=rollouts).rewards, len(rollouts)):
                start = draw * self.sizes.most + len(rollouts)
                rollouts += await self._drawn(problem, library, epoch, range(start, start + more))
            return Group(problem=problem, rollouts=rollouts)
        finally:
            self._open -= 1
            self._moved.set()

    async def _drawn(self, problem: Problem, library: Library, epoch: int, indices: range) -> tuple[Rollout, ...]:
        self._unfinished += len(indices)
        given = [self.shown(library, problem, index, epoch) for index in indices]
        asked = (self._asked(problem, shown, epoch, index) for index, shown in zip(indices, given, strict=True))
        attempts = await all_of(self._attempt(*one) for one in asked)
        return await self._scored(problem, indices, given, attempts)

    def shown(self, library: Library, problem: Problem, index: int, epoch: int) -> Shown:
        """What of `library` this rollout sees."""
        chosen = self._choose(library, problem, index, epoch)
        if chosen is not self._last.library:
            self._last = Shown.of(chosen)
        return self._last

    async def _attempt(self, messages: tuple[Message, ...], sampling: Sampling) -> Trajectory | Failure:
        try:
            async with working_time(self.timeout_s):
                return await self.solver(self.model, messages, sampling)
        except TimeoutError:
            return Failure(boundary="generate", type="Timeout", message=f"no answer within {self.timeout_s:g} s")
        except ProviderError as error:
            if error.fatal:
                raise
            return Failure(boundary="generate", type=type(error).__name__, message=str(error))
        finally:
            self._unfinished -= 1
            self._moved.set()

    def _asked(self, problem: Problem, shown: Shown, epoch: int, index: int) -> tuple[tuple[Message, ...], Sampling]:
        seed = rollout_seed(self.seed, epoch, problem.id, index)
        messages = solve_messages(problem.query, shown.text, self.instructions)
        return messages, self.sampling.model_copy(update={"seed": seed, "sample": index})

    def unanswered(self, problem: Problem, library: Library, epoch: int = 0) -> int:
        """The problem's rollouts, of those it takes at least, whose first call is not in the record."""
        if not isinstance(self.model, Recorded):
            return self.sizes.least
        given = [self.shown(library, problem, index, epoch) for index in range(self.sizes.least)]
        asked = (self._asked(problem, shown, epoch, index) for index, shown in enumerate(given))
        return sum(not self.model.knows(*one) for one in asked)

    async def _scored(
        self, problem: Problem, indices: range, given: Sequence[Shown], attempts: Sequence[Trajectory | Failure]
    ) -> tuple[Rollout, ...]:
        finished = [attempt for attempt in attempts if isinstance(attempt, Trajectory)]
        verdicts = iter(await self._score(problem, finished))
        rollouts = tuple(
            self._rollout(problem, shown, index, attempt, next(verdicts) if isinstance(attempt, Trajectory) else None)
            for index, shown, attempt in zip(indices, given, attempts, strict=True)
        )
        for rollout in rollouts:
            self.on_rollout(rollout)
        return rollouts

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
        shown: Shown,
        index: int,
        attempt: Trajectory | Failure,
        verdict: Verdict | Failure | None,
    ) -> Rollout:
        broken = next((part for part in (attempt, verdict) if isinstance(part, Failure)), None)
        return Rollout(
            problem=problem,
            index=index,
            library=shown.digest,
            shown=shown.library.ids,
            trajectory=attempt if isinstance(attempt, Trajectory) else None,
            verdict=verdict if isinstance(verdict, Verdict) else None,
            failure=broken,
        )
