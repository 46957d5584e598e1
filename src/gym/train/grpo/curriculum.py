"""Informative problems first: an epoch draws less of what taught nothing lately, and more of what is undecided.

A group is mixed with chance 1 - p^G - (1 - p)^G, most at a pass rate p of 1/2, and only a mixed group teaches. So a problem
whose last group taught nothing rests: one epoch, two after the second such group in a row, and so on, since a better library
may make it mixed again. Its place goes to the problem whose pass rate is nearest 1/2, each at most once more an epoch; a place
that nobody takes is saved. Filtering by pass rate: arXiv:2503.14476 §3.2, arXiv:2504.03380. An epoch is a function of the
shuffled order and the groups of the epochs before it, so a resumed run draws the same.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from gym.core.problem import Problem
from gym.core.rollout import Group, Rollout

Epoch = Mapping[str, Group]
"""Problem id -> all its answers of one epoch; only problems with a scored answer."""

Teaches = Callable[[Group], bool]

PRIOR = 2.0
"""Answers that a pass rate of 1/2 counts for before there are any."""


def epoch_of(rollouts: Iterable[Rollout]) -> Epoch:
    """The answers of one epoch by problem."""
    found: dict[str, list[Rollout]] = {}
    for rollout in rollouts:
        found.setdefault(rollout.problem.id, []).append(rollout)
    groups = (Group(problem=answers[0].problem, rollouts=tuple(answers)) for answers in found.values())
    return {group.problem.id: group for group in groups if group.scored}


def served(problems: Sequence[Problem], past: Sequence[Epoch], teaches: Teaches) -> tuple[Problem, ...]:
    """`problems` in their order, those that rest replaced or left out; a second place is a second draw of the problem.

    `past` are the epochs so far, oldest first. When every problem would rest, nobody does.
    """
    resting = {problem.id for problem in problems if rests(problem.id, past, teaches)}
    if len(resting) == len(problems):
        return tuple(problems)
    undecided = iter(_undecided([problem for problem in problems if problem.id not in resting], past, teaches))
    places = (next(undecided, None) if problem.id in resting else problem for problem in problems)
    return tuple(problem for problem in places if problem is not None)


def rests(problem_id: str, past: Sequence[Epoch], teaches: Teaches) -> bool:
    """Whether the problem has sat out fewer epochs than its last groups in a row that taught nothing."""
    dull = waited = 0
    for epoch in reversed(past):
        group = epoch.get(problem_id)
        if group is not None and teaches(group):
            break
        dull += group is not None
        waited += not dull
    return waited < dull


def pass_rate(problem_id: str, past: Sequence[Epoch]) -> float:
    """Mean reward of all its answers so far, drawn towards 1/2 by `PRIOR` answers."""
    rewards = [reward for epoch in past if problem_id in epoch for reward in epoch[problem_id].rewards]
    return (sum(rewards) + PRIOR / 2) / (len(rewards) + PRIOR)


def _undecided(awake: Sequence[Problem], past: Sequence[Epoch], teaches: Teaches) -> list[Problem]:
    """Those whose last group taught, nearest to 1/2 first; in the given order where two are equally near."""
    last = {name: group for epoch in past for name, group in epoch.items()}
    candidates = [problem for problem in awake if problem.id in last and teaches(last[problem.id])]
    return sorted(candidates, key=lambda problem: abs(pass_rate(problem.id, past) - 0.5))
