"""A proposed experience is tried before it is believed (arXiv:2510.08191 assumes E[r | E + e] >= E[r | E]; here it is measured).

Each proposal is put in front of a few informative problems of its own batch, the one that taught it and those most like
it, and stays only when their mean reward rises by more than one standard error of that difference: a useless one passes
about one time in six, not every other time. The step's own rollouts are the reference, so only the trial costs calls.
Small reflectors need it most: about a third of their sentences are useless or harm.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import sqrt
from statistics import fmean, pvariance
from typing import TypeAlias

from gym.core.admission import Similarity
from gym.core.experience import Add, Library, Operation, Rejected
from gym.core.problem import Problem
from gym.core.reflection import Critique
from gym.core.rollout import Group
from gym.core.text import normalise_text
from gym.tasks import all_of
from gym.train.grpo.rollout_manager import RolloutManager

SCREEN_EPOCH = -2
"""Trials have seeds of their own."""

PROBLEMS = 3
"""Problems of one trial: its own and the two most like it."""

Trials: TypeAlias = Mapping[str, Mapping[str, Group]]
"""Sentence -> problem id -> the answers to it with the sentence in the library."""


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
        """The critiques without the additions that did not raise the mean reward, those among the rejected, with figures.

        A sentence that the library holds already is not tried: it cannot be learned again.
        """
        near = {critique.problem_id: self.nearest(critique.problem_id, groups) for critique in critiques}
        known = {text.casefold() for text in library.texts}
        wanted: dict[str, dict[str, Problem]] = {}
        for critique in critiques:
            for sentence in filter(None, map(_sentence, critique.operations)):
                if sentence.casefold() not in known:
                    problems = (group.problem for group in near[critique.problem_id])
                    wanted.setdefault(sentence, {}).update((problem.id, problem) for problem in problems)
        after = await self._answers(wanted, library)
        return tuple(_sorted_out(critique, near[critique.problem_id], after) for critique in critiques)

    async def _answers(self, wanted: Mapping[str, Mapping[str, Problem]], library: Library) -> Trials:
        """Sentence -> problem id -> its answers with the sentence, each asked for once however many propose it."""
        self.expect(sum(map(len, wanted.values())) * self.rollouts.group_size)
        found = await all_of(
            self.rollouts.run(tuple(problems.values()), library.minted(sentence).library, epoch=SCREEN_EPOCH)
            for sentence, problems in wanted.items()
        )
        return {
            sentence: {group.problem.id: group for group in several}
            for sentence, several in zip(wanted, found, strict=True)
        }

    def nearest(self, origin: str, groups: Sequence[Group]) -> list[Group]:
        """The origin's group, then the most similar other ones by their queries; at most `PROBLEMS`, each problem once."""
        once = {group.problem.id: group for group in reversed(groups)}
        own = once.pop(origin)
        others = [group for group in groups if group is once.get(group.problem.id)]
        cosines = self.similar(own.problem.query, [group.problem.query for group in others]) if others else ()
        ranked = sorted(zip(cosines, others, strict=True), key=lambda pair: (-pair[0], pair[1].problem.id))
        return [own, *(group for _, group in ranked[: PROBLEMS - 1])]


def _sentence(operation: Operation) -> str:
    """What an addition would put into the library; empty for any other operation."""
    return normalise_text(operation.experience) if isinstance(operation, Add) else ""


def _sorted_out(critique: Critique, near: Sequence[Group], after: Trials) -> Critique:
    """The critique with what its trials turned down among the rejected."""
    why = [_failed(near, after.get(_sentence(operation), {})) for operation in critique.operations]
    judged = list(zip(critique.operations, why, strict=True))
    rejected = (Rejected(operation=operation, reason=reason) for operation, reason in judged if reason)
    kept = tuple(operation for operation, reason in judged if not reason)
    return critique.model_copy(update={"operations": kept, "rejected": (*critique.rejected, *rejected)})


def _failed(before: Sequence[Group], after: Mapping[str, Group]) -> str:
    """Why a sentence is not worth keeping; empty when it is, and when nothing could be scored or was tried."""
    sides = [(old, after[old.problem.id]) for old in before if old.problem.id in after]
    pairs = [(old.rewards, new.rewards) for old, new in sides if old.rewards and new.rewards]
    if not pairs:
        return ""
    without, given = (fmean(fmean(pair[side]) for pair in pairs) for side in (0, 1))
    error = standard_error([old for old, _ in pairs], [new for _, new in pairs])
    if given - without > error:
        return ""
    names = ", ".join(group.problem.id for group in before)
    return f"tried on {names}: mean reward {without:.2f} without it, {given:.2f} with it (standard error {error:.2f})"


def standard_error(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]) -> float:
    """Standard error of the difference of two means of rewards in [0, 1], from the pooled variance of all answers.

    >>> round(standard_error([[0, 1], [0, 1]], [[1, 0], [1, 0]]), 3)
    0.354
    """
    old, new = list(chain.from_iterable(before)), list(chain.from_iterable(after))
    return sqrt(pvariance([*old, *new]) * (1 / len(old) + 1 / len(new)))
