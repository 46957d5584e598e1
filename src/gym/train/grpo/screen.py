"""A proposed experience is tried before it is believed (arXiv:2510.08191 assumes E[r | E + e] >= E[r | E]; here it is measured).

Each proposal is put in front of a few informative problems of its own batch, the one that taught it and those most like it,
and stays only when their mean reward rises by more than one standard error of that difference: a useless one passes about one
time in six, not every other time. Of groups that a critic saw side by side, the one that is most like the sentence taught it.
The step's own rollouts are the reference, so only the trial costs calls.
Trials come before a step's proposals are consolidated or, with `screen_when: after_gate`, when the gate has taken them back
all together. Three problems tell a good sentence from none only now and then: where a gate decides afterwards, any rise will
do. Of sentences that say nearly the same only the best stays: the library would take no second one.
Small reflectors need it most: about a third of their sentences are useless or harm. Where only the best of a step are
wanted, the trials are a race: after each answer the better half goes on (successive halving, arXiv:1502.07943). The best are
those that together do most for the problems they were tried on, so that one rule does not take every place.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import ceil, sqrt
from statistics import fmean, pvariance
from typing import NamedTuple, Protocol, TypeVar

from gym.core.admission import NEAR_DUPLICATE, Similarity
from gym.core.experience import Add, Library, Operation, Rejected
from gym.core.problem import Problem
from gym.core.reflection import Critique
from gym.core.rollout import Group
from gym.core.text import normalise_text, shown
from gym.tasks import all_of
from gym.train.grpo.rollout_manager import RolloutManager

SCREEN_EPOCH = -2
"""Trials have seeds of their own."""

PROBLEMS = 3
"""Problems of one trial: its own and the two most like it."""


class Sides(NamedTuple):
    """Rewards of a problem without and with a sentence in the library."""

    without: Sequence[float]
    given: Sequence[float]


@dataclass(frozen=True)
class Trial:
    """A sentence on the problems it is tried on."""

    before: tuple[Group, ...]
    after: tuple[Group, ...] = ()
    """The answers with the sentence in the library, one a group, of the same problems as often as they were asked."""

    @cached_property
    def _sides(self) -> Mapping[str, Sides]:
        """By problem that has a scored answer on both sides."""
        given = {group.problem.id: [*chain(*_rewards(self.after, group.problem))] for group in self.before}
        known = [group for group in self.before if group.rewards and given[group.problem.id]]
        return {group.problem.id: Sides(group.rewards, given[group.problem.id]) for group in known}

    @property
    def means(self) -> tuple[float, float] | None:
        """Mean reward without and with it, every problem counted alike; None when nothing could be scored."""
        sides = self._sides.values()
        return (fmean(fmean(one.without) for one in sides), fmean(fmean(one.given) for one in sides)) if sides else None

    @property
    def gain(self) -> float:
        """With minus without; 0 where it is not known."""
        return self.gain_over({})

    @property
    def reached(self) -> Mapping[str, float]:
        """Problem -> mean reward with it."""
        return {name: fmean(one.given) for name, one in self._sides.items()}

    def gain_over(self, reached: Mapping[str, float]) -> float:
        """With it minus the better of without it and what other sentences `reached` on a problem; 0 where it is not known."""
        sides = self._sides.items()
        gains = [fmean(one.given) - max(fmean(one.without), reached.get(name, 0.0)) for name, one in sides]
        return fmean(gains) if gains else 0.0

    @property
    def error(self) -> float:
        """Standard error of the gain."""
        sides = self._sides.values()
        return standard_error([one.without for one in sides], [one.given for one in sides])

    def passed(self, *, gated: bool) -> bool:
        """Whether the sentence is worth keeping, or worth the gate's while; so is one of which nothing could be scored."""
        return self.means is None or self.gain > (0.0 if gated else self.error)

    def __str__(self) -> str:
        without, given = self.means or (0.0, 0.0)
        names = ", ".join(group.problem.id for group in self.before)
        return f"tried on {names}: mean reward {without:.2f} without it, {given:.2f} with it (standard error {self.error:.2f})"


@dataclass(frozen=True)
class Screen:
    """Tries additions with up to `answers` answers to each problem of a trial; `rollouts` draws one at a time."""

    rollouts: RolloutManager
    similar: Similarity
    answers: int
    keep: int = 0
    """The best of a step that stay; 0: all that pass."""
    gated: bool = False
    """Whether validation problems decide afterwards, so that a doubtful sentence may go on."""
    expect: Callable[[int], None] = lambda count: None
    """Told how many rollouts are coming."""

    async def tried(
        self, critiques: Sequence[Critique], groups: Sequence[Group], library: Library
    ) -> tuple[Critique, ...]:
        """The critiques without the additions that did not raise the mean reward, those among the rejected, with figures.

        A sentence that several propose is tried once, on the first one's problems; one that the library holds already, or
        nearly, is not: it cannot be learned again.
        """
        trials: dict[str, Trial] = {}
        for critique in critiques:
            for operation in critique.operations:
                sentence = _sentence(operation)
                if sentence and sentence not in trials and not self._nearly(sentence, library.texts):
                    taught = self._taught(sentence, [critique.problem_id, *operation.evidence.origin], groups)
                    trials[sentence] = Trial(tuple(self.nearest(taught, groups)))
        why = self._verdicts(await self._raced(trials, library))
        return tuple(_sorted_out(critique, why) for critique in critiques)

    async def _raced(self, trials: Mapping[str, Trial], library: Library) -> Mapping[str, Trial]:
        """The trials with their answers."""
        trials, going = dict(trials), list(trials)
        for draws, field in rounds(len(trials), self.answers, self.keep):
            going = sorted(going, key=lambda sentence: -trials[sentence].gain)[:field]
            asked = [(trials[sentence].before, library.minted(sentence).library) for sentence in going]
            self.expect(sum(len(before) for before, _ in asked) * len(draws))
            found = await all_of(self._answers(before, given, draws) for before, given in asked)
            for sentence, after in zip(going, found, strict=True):
                trials[sentence] = Trial(trials[sentence].before, (*trials[sentence].after, *after))
        return trials

    async def _answers(self, before: Sequence[Group], library: Library, draws: range) -> Iterable[Group]:
        return await all_of(
            self.rollouts.group(group.problem, library, epoch=SCREEN_EPOCH, draw=draw)
            for group in before
            for draw in draws
        )

    def _verdicts(self, trials: Mapping[str, Trial]) -> Mapping[str, str]:
        """Sentence -> why it does not stay."""
        passed = {name: trial for name, trial in trials.items() if trial.passed(gated=self.gated)}
        kept = self._chosen(passed)
        why = {name: str(trial) for name, trial in trials.items() if name not in kept}
        for name in passed.keys() & why.keys():
            twin = self._nearly(name, kept)
            late = f"nearly {shown(twin)}, which stays" if twin else f"only the best {len(kept)} of this step stay"
            why[name] += f"; {late}"
        return why

    def _chosen(self, passed: Mapping[str, Trial]) -> list[str]:
        """Those that stay: at each turn the one that adds most to what those before it reached, and none of its near-copies."""
        kept: list[str] = []
        reached: dict[str, float] = {}
        left = sorted(passed, key=lambda name: -passed[name].gain)
        while left and not (self.keep and len(kept) == self.keep):
            name = max(left, key=lambda one: passed[one].gain_over(reached))
            kept.append(name)
            reached |= {known: max(mean, reached.get(known, 0.0)) for known, mean in passed[name].reached.items()}
            left = [one for one in left if one != name and not self._nearly(one, [name])]
        return kept

    def _nearly(self, sentence: str, others: Sequence[str]) -> str:
        """The one of the others that says the same, or nearly; empty when none does."""
        cosines = self.similar(sentence, others) if others else ()
        return next((other for cosine, other in zip(cosines, others, strict=True) if cosine > NEAR_DUPLICATE), "")

    def _taught(self, sentence: str, seen: Sequence[str], groups: Sequence[Group]) -> str:
        """The problem that taught a sentence: of those that its critic saw side by side, the one most like it."""
        queries = {group.problem.id: group.problem.query for group in groups}
        names = [name for name in seen if name in queries]
        cosines = self.similar(sentence, [queries[name] for name in names])
        return max(zip(cosines, names, strict=True), key=lambda pair: pair[0])[1]

    def nearest(self, origin: str, groups: Sequence[Group]) -> list[Group]:
        """The origin's group, then the most similar other ones by their queries; at most `PROBLEMS`, each problem once."""
        once = {group.problem.id: group for group in reversed(groups)}
        own = once.pop(origin)
        others = [group for group in groups if group is once.get(group.problem.id)]
        return [own, *alike(own.problem, others, self.similar)[: PROBLEMS - 1]]


class OfProblem(Protocol):
    """Whatever is about one problem."""

    @property
    def problem(self) -> Problem:
        """That."""
        ...


About = TypeVar("About", bound=OfProblem)


def alike(problem: Problem, others: Sequence[About], similar: Similarity) -> list[About]:
    """The others, those first whose questions are most like the problem's."""
    cosines = similar(problem.query, [other.problem.query for other in others]) if others else ()
    ranked = sorted(zip(cosines, others, strict=True), key=lambda pair: (-pair[0], pair[1].problem.id))
    return [other for _, other in ranked]


def rounds(sentences: int, answers: int, keep: int) -> Iterator[tuple[range, int]]:
    """(which answers, how many sentences give them): all at once, or with `keep` one at a time by ever fewer.

    >>> [(len(draws), field) for draws, field in rounds(12, 4, 2)]
    [(1, 12), (1, 6), (1, 3), (1, 2)]
    """
    if not keep:
        yield range(answers), sentences
        return
    for answer in range(answers):
        yield range(answer, answer + 1), sentences
        sentences = min(sentences, max(keep, ceil(sentences / 2)))


def _rewards(groups: Sequence[Group], problem: Problem) -> Iterator[Sequence[float]]:
    return (group.rewards for group in groups if group.problem.id == problem.id)


def _sentence(operation: Operation) -> str:
    """What an addition would put into the library; empty for any other operation."""
    return normalise_text(operation.experience) if isinstance(operation, Add) else ""


def _sorted_out(critique: Critique, why: Mapping[str, str]) -> Critique:
    """The critique with what its trials turned down among the rejected."""
    judged = [(operation, why.get(_sentence(operation), "")) for operation in critique.operations]
    rejected = (Rejected(operation=operation, reason=reason) for operation, reason in judged if reason)
    kept = tuple(operation for operation, reason in judged if not reason)
    return critique.model_copy(update={"operations": kept, "rejected": (*critique.rejected, *rejected)})


def standard_error(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]) -> float:
    """Standard error of the difference of two means of rewards in [0, 1], from the pooled variance of all answers.

    >>> round(standard_error([[0, 1], [0, 1]], [[1, 0], [1, 0]]), 3)
    0.354
    """
    old, new = list(chain.from_iterable(before)), list(chain.from_iterable(after))
    return sqrt(pvariance([*old, *new]) * (1 / len(old) + 1 / len(new)))
