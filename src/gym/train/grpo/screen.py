"""A proposed experience is tried before it is believed (arXiv:2510.08191 assumes E[r | E + e] >= E[r | E]; here it is measured).

Each proposal is put in front of a few informative problems of its own batch, the one that taught it and those most like
it, and stays only when their mean reward rises by more than one standard error of that difference: a useless one passes
about one time in six, not every other time. The step's own rollouts are the reference, so only the trial costs calls.
Small reflectors need it most: about a third of their sentences are useless or harm.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import sqrt
from statistics import fmean, pvariance

from gym.core.admission import Similarity
from gym.core.experience import Add, Library, Operation, Rejected
from gym.core.reflection import Critique
from gym.core.rollout import Group
from gym.tasks import all_of
from gym.train.grpo.rollout_manager import RolloutManager

SCREEN_EPOCH = -2
"""Trials have seeds of their own."""

PROBLEMS = 3
"""Problems of one trial: its own and the two most like it."""


@dataclass(frozen=True)
class Screen:
    """Tries additions; `rollouts.group_size` answers to each problem of a trial."""

    rollouts: RolloutManager
    similar: Similarity
    expect: Callable[[int], None] = lambda count: None
    """Told how many rollouts are coming."""

    async def tried(
        self, critiques: Sequence[Critique], groups: Sequence[Group], library: Library
    ) -> tuple[Critique, ...]:
        """The critiques without the additions that did not raise the mean reward, those among the rejected, with figures."""
        return tuple(await all_of(self._one(critique, groups, library) for critique in critiques))

    async def _one(self, critique: Critique, groups: Sequence[Group], library: Library) -> Critique:
        kept: list[Operation] = []
        rejected: list[Rejected] = []
        for operation in critique.operations:
            failed = (
                await self._fails(operation, critique.problem_id, groups, library)
                if isinstance(operation, Add)
                else None
            )
            if failed is None:
                kept.append(operation)
            else:
                rejected.append(Rejected(operation=operation, reason=failed))
        return critique.model_copy(update={"operations": tuple(kept), "rejected": (*critique.rejected, *rejected)})

    async def _fails(self, proposal: Add, origin: str, groups: Sequence[Group], library: Library) -> str | None:
        """Why the proposal is not worth keeping, or None. A trial in which nothing could be scored decides nothing."""
        chosen = self.nearest(origin, groups)
        self.expect(len(chosen) * self.rollouts.group_size)
        trial = library.minted(proposal.experience, proposal.evidence).library
        after = await self.rollouts.run([group.problem for group in chosen], trial, epoch=SCREEN_EPOCH)
        pairs = [
            (old.rewards, new.rewards) for old, new in zip(chosen, after, strict=True) if old.rewards and new.rewards
        ]
        if not pairs:
            return None
        without, given = (fmean(fmean(pair[side]) for pair in pairs) for side in (0, 1))
        error = standard_error([old for old, _ in pairs], [new for _, new in pairs])
        if given - without > error:
            return None
        names = ", ".join(group.problem.id for group in chosen)
        return (
            f"tried on {names}: mean reward {without:.2f} without it, {given:.2f} with it (standard error {error:.2f})"
        )

    def nearest(self, origin: str, groups: Sequence[Group]) -> list[Group]:
        """The origin's group, then the most similar other ones by their queries; at most `PROBLEMS`, each problem once."""
        once = {group.problem.id: group for group in reversed(groups)}
        own = once.pop(origin)
        others = [group for group in groups if group is once.get(group.problem.id)]
        cosines = self.similar(own.problem.query, [group.problem.query for group in others]) if others else ()
        ranked = sorted(zip(cosines, others, strict=True), key=lambda pair: (-pair[0], pair[1].problem.id))
        return [own, *(group for _, group in ranked[: PROBLEMS - 1])]


def standard_error(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]) -> float:
    """Standard error of the difference of two means of rewards in [0, 1], from the pooled variance of all answers.

    >>> round(standard_error([[0, 1], [0, 1]], [[1, 0], [1, 0]]), 3)
    0.354
    """
    old, new = list(chain.from_iterable(before)), list(chain.from_iterable(after))
    return sqrt(pvariance([*old, *new]) * (1 / len(old) + 1 / len(new)))
