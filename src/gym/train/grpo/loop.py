"""One step of Continuous GRPO (arXiv:2510.08191 Algorithm 1), pure of files: roll out, reflect, consolidate, apply."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from gym.core.admission import Similarity
from gym.core.experience import Admit, Applied, Delete, Experience, Library, Use
from gym.core.problem import Problem
from gym.core.reflection import BatchUpdate, Critique, Studied, Summary
from gym.core.rollout import Group
from gym.core.trials import Trials
from gym.tasks import all_of
from gym.train.grpo.credit import Credit, Judged, harms
from gym.train.grpo.rollout_manager import RolloutManager
from gym.train.grpo.screen import Screen, alike
from gym.train.grpo.session import Session
from gym.train.grpo.stages.consolidate import Consolidation, consolidate
from gym.train.grpo.stages.critique import critique
from gym.train.grpo.stages.flow import Stage, T, adrive
from gym.train.grpo.stages.settings import ReflectionSettings
from gym.train.grpo.stages.summarize import summarize
from gym.train.grpo.watch import Silent, Watch

_CITED = re.compile(r"\[(G\d+)\]")


class Reflected(NamedTuple):
    """One group and what was made of it; no critiques when the group was homogeneous."""

    group: Group
    summaries: tuple[Summary, ...] = ()
    critiques: tuple[Critique, ...] = ()


class Step(NamedTuple):
    """What one step did and the library it leaves."""

    groups: tuple[Group, ...]
    summaries: tuple[Summary, ...]
    critiques: tuple[Critique, ...]
    decided: Consolidation
    applied: Applied
    credited: Library
    """The library before the step with this step's uses counted; the operations were applied to it."""
    seconds: float
    trials: Trials | None = None
    """What the step's rollouts say of each experience; None where all were shown to all."""
    removals: tuple[Delete, ...] = ()
    """Proposed by the figures of the rollouts so far."""

    def update(self, applied: Applied) -> BatchUpdate:
        """From the critiques to what became of every operation; `applied` is what the gate left of this step."""
        return BatchUpdate(
            proposed=(*(operation for item in self.critiques for operation in item.operations), *self.removals),
            consolidated=self.decided.operations,
            accepted=tuple(item.operation for item in applied.accepted),
            rejected=(
                *(bad for item in self.critiques for bad in item.rejected),
                *self.decided.rejected,
                *applied.rejected,
            ),
            notes=self.decided.notes,
            failures=(
                *(item.failure for item in self.summaries if item.failure),
                *(item.failure for item in self.critiques if item.failure),
                *self.decided.failures,
            ),
        )


@dataclass(frozen=True)
class Loop:
    """The parts of the method, put together."""

    session: Session
    rollouts: RolloutManager
    settings: ReflectionSettings
    admission: Callable[[Library, Sequence[Experience]], Admit]
    """The gate for a step, given the library that its prompts showed, and the entries that were removed for harm."""
    screen: Screen | None = None
    """Tries proposals; None believes them."""
    screen_first: bool = True
    """Whether it tries all before they are consolidated; else `tried` is for those of a step that was taken back."""
    credit: Credit | None = None
    """Measures what each experience does, where not every rollout is shown all; None where it is."""
    similar: Similarity = lambda text, others: [0.0] * len(others)
    """Says which groups a critique sees side by side."""
    near: Callable[[Library, Problem], Library] = lambda library, problem: library
    """What of a library that is too long for a prompt the critique of a problem sees."""
    watch: Watch = field(default_factory=Silent)
    learn_from: str = "mixed"
    domain: str = ""
    seed: int = 0

    async def step(
        self,
        problems: Sequence[Problem],
        library: Library,
        *,
        epoch: int,
        step: int,
        draws: Sequence[int] = (),
        past: Sequence[Trials] = (),
        refuted: Sequence[Experience] = (),
    ) -> Step:
        """Roll out `problems` under `library`, reflect on each group as soon as it is complete, consolidate, apply.

        `draws` says of each problem how often it was drawn in this epoch before (default: never); `past`: the trials of
        earlier steps, which `credit` measures together with this one's; `refuted`: entries that they removed for harm.
        """
        began = time.monotonic()
        places = zip(problems, draws or [0] * len(problems), strict=True)
        work = (self._reflected(problem, library, epoch, draw) for problem, draw in places)
        reflected = await all_of(work, self.rollouts.room)
        if self.settings.groups > 1:
            reflected = await self._compared(reflected, library, step)
        critiques = tuple(critique for item in reflected for critique in item.critiques)
        groups = tuple(item.group for item in reflected)
        if self.screen is not None and self.screen_first:
            critiques = await self._tried(self.screen, critiques, groups, library)
        summaries = tuple(summary for item in reflected for summary in item.summaries)
        trials = None if self.credit is None else Trials.of(groups, library)
        counted = library.credit(uses(groups, summaries, library))
        credited, removals = Judged(counted, ())
        if self.credit is not None and trials is not None:
            credited, removals = self.credit.judged(counted, (*past, trials))
        decided, applied = await self._consolidated(critiques, credited, removals, library, step, refuted)
        seconds = time.monotonic() - began
        return Step(groups, summaries, critiques, decided, applied, credited, seconds, trials, removals)

    async def tried(self, took: Step, library: Library, *, step: int, refuted: Sequence[Experience] = ()) -> Step:
        """A step that was taken back, again with those of its proposals alone that stood their trials."""
        if self.screen is None:
            return took
        began = time.monotonic()
        critiques = await self._tried(self.screen, took.critiques, took.groups, library)
        decided, applied = await self._consolidated(critiques, took.credited, took.removals, library, step, refuted)
        seconds = took.seconds + time.monotonic() - began
        return took._replace(critiques=critiques, decided=decided, applied=applied, seconds=seconds)

    async def _tried(
        self, screen: Screen, critiques: tuple[Critique, ...], groups: Sequence[Group], library: Library
    ) -> tuple[Critique, ...]:
        return await screen.tried(critiques, [group for group in groups if teaches(group, self.learn_from)], library)

    async def _consolidated(
        self,
        critiques: Sequence[Critique],
        credited: Library,
        removals: Sequence[Delete],
        shown: Library,
        step: int,
        refuted: Sequence[Experience],
    ) -> tuple[Consolidation, Applied]:
        """What is made of the proposals, and the library with it; `shown` is what the rollouts' prompts were drawn from."""
        self.watch.expect(1)
        stage = consolidate(critiques, credited, self.settings, seed=self.seed + step, removals=removals)
        decided = await self._drive(stage, "consolidate")
        leaving = filter(harms, credited.only({removal.id for removal in removals}))
        admit = self.admission(shown, (*refuted, *leaving))
        return decided, credited.apply(decided.operations, admit, step=step, domain=self.domain)

    async def _reflected(self, problem: Problem, library: Library, epoch: int, draw: int) -> Reflected:
        group = await self.rollouts.group(problem, library, epoch=epoch, draw=draw)
        self.watch.expect(len(group.rollouts) - self.rollouts.sizes.least)
        if not teaches(group, self.learn_from):
            return Reflected(group)
        self.watch.expect(len(group.scored) + self.settings.samples)
        summaries = await all_of(
            self._drive(summarize(rollout, library.only(rollout.shown).render(), self.settings), "summarize")
            for rollout in group.scored
        )
        alone = Reflected(group, tuple(summaries))
        return await self._criticised(alone, library) if self.settings.groups == 1 else alone

    async def _compared(self, reflected: Sequence[Reflected], library: Library, step: int) -> list[Reflected]:
        """With the critiques of the groups that teach, each made beside others of them."""
        studied = [Studied(item.group.problem, item.summaries) for item in reflected if item.summaries]

        async def done(place: int, item: Reflected) -> Reflected:
            if not item.summaries:
                return item
            others = [other for other in studied if other.summaries is not item.summaries]
            nearest = alike(item.group.problem, others, self.similar)
            return await self._criticised(item, library, partial(self._drawn, nearest, f"{self.seed}/{step}/{place}"))

        return await all_of(done(place, item) for place, item in enumerate(reflected))

    def _drawn(self, nearest: Sequence[Studied], seed: str, sample: int) -> Sequence[Studied]:
        """What one sample sees beside its own group: drawn from twice as many of the nearest."""
        most = self.settings.groups - 1
        among = nearest[: 2 * most]
        return random.Random(f"{seed}/{sample}").sample(among, min(most, len(among)))

    async def _criticised(
        self, item: Reflected, library: Library, beside: Callable[[int], Sequence[Studied]] = lambda sample: ()
    ) -> Reflected:
        """With its critiques, `beside` of which gives the other groups that a sample sees."""
        problem, known = item.group.problem, self.near(library, item.group.problem).render()
        asked = (
            critique(problem, item.summaries, known, self.settings, beside=beside(sample), sample=sample)
            for sample in range(self.settings.samples)
        )
        return item._replace(critiques=tuple(await all_of(self._drive(stage, "critique") for stage in asked)))

    async def _drive(self, stage: Stage[T], name: str) -> T:
        found = await adrive(stage, self.session.model(name))
        self.watch.advance()
        return found


def teaches(group: Group, learn_from: str) -> bool:
    """Whether a group is reflected on: its rewards differ, or (when asked for) every answer missed the reference."""
    if group.is_informative:
        return True
    all_wrong = bool(group.rewards) and max(group.rewards) < 1.0 and group.problem.ground_truth is not None
    return learn_from == "mixed+all_wrong" and all_wrong


def uses(groups: Sequence[Group], summaries: Sequence[Summary], library: Library) -> Mapping[str, Use]:
    """How often each experience was cited, and whether by rollouts above or below their group's mean.

    Citations are counted in the outputs and in the summaries of the same rollouts, once per rollout, and only of what
    the rollout was shown.
    """
    told = {(summary.problem_id, summary.index): summary.text for summary in summaries}
    counts: dict[str, Use] = {}
    for group in groups:
        for rollout, advantage in zip(group.scored, group.advantages, strict=True):
            said = rollout.trajectory.output if rollout.trajectory else ""
            text = f"{said} {told.get((group.problem.id, rollout.index), '')}"
            for name in set(_CITED.findall(text)) & set(rollout.shown) & set(library.ids):
                past = counts.get(name, Use())
                counts[name] = Use(
                    uses=past.uses + 1, helpful=past.helpful + (advantage > 0), harmful=past.harmful + (advantage < 0)
                )
    return counts


def echoes(applied: Applied) -> Mapping[str, Use]:
    """An experience that was proposed again while it stood in the prompts was used, if anything (FAULTS M12)."""
    counts = Counter(item.echo_of for item in applied.rejected if item.echo_of)
    return {name: Use(uses=count) for name, count in counts.items()}


def shuffled(problems: Sequence[Problem], seed: int, epoch: int) -> tuple[Problem, ...]:
    """The epoch's order: a function of the seed and the epoch alone."""
    order = list(problems)
    random.Random(f"{seed}/{epoch}").shuffle(order)
    return tuple(order)


class Batch(NamedTuple):
    """The problems of one step; steps count on across epochs."""

    epoch: int
    step: int
    problems: tuple[Problem, ...]
    draws: tuple[int, ...] = ()
    """How often each of them was drawn in this epoch before."""
    resting: int = 0
    """Problems that sit out the epoch, told by its first step."""


Serve = Callable[[int, tuple[Problem, ...], Sequence[Batch]], tuple[Problem, ...]]
"""(epoch, its shuffled problems, the batches of earlier epochs) -> the problems it draws, at least one."""


def as_shuffled(epoch: int, order: tuple[Problem, ...], earlier: Sequence[Batch]) -> tuple[Problem, ...]:
    """Every problem once."""
    return order


def batches(
    problems: Sequence[Problem], *, epochs: int, batch_size: int, seed: int, serve: Serve = as_shuffled
) -> Iterator[Batch]:
    """Every step of a run in order; the short last batch of an epoch is kept (SPEC 1.7).

    An epoch is planned when its first step is asked for, so `serve` may look at what the steps before it left.
    """
    earlier: list[Batch] = []
    for epoch in range(epochs):
        order = serve(epoch, shuffled(problems, seed, epoch), tuple(earlier))
        draws, resting = _draws(order), len(problems) - len({problem.id for problem in order})
        for start in range(0, len(order), batch_size):
            part = slice(start, start + batch_size)
            earlier.append(Batch(epoch, len(earlier), order[part], draws[part], 0 if start else resting))
            yield earlier[-1]


def _draws(order: Sequence[Problem]) -> tuple[int, ...]:
    """How often each problem stands in the order before this place."""
    seen, draws = Counter[str](), list[int]()
    for problem in order:
        draws.append(seen[problem.id])
        seen[problem.id] += 1
    return tuple(draws)
