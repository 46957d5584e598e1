"""What a candidate text does on a node's own problems: the paired gain that it signs, within a budget of calls.

The problems are answered with what the federation has accepted, and with the candidate beside it, in the way and with the
seeds of every other evaluation. Calls are recorded in a folder for each round: a node that was stopped pays for none twice,
and its budget counts what it paid before.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from random import Random
from statistics import fmean, stdev
from typing import NamedTuple

from gym.config import RunConfig
from gym.core.experience import Library
from gym.core.rollout import Tally
from gym.core.text import shown
from gym.errors import BudgetReached
from gym.evaluation.instrument import Instrument
from gym.evaluation.metrics import differences
from gym.evaluation.opened import open_instrument
from gym.evaluation.target import Target, target_of
from gym.federated.history import AcceptedExperience
from gym.federated.messages import Gain, exact_digest
from gym.federated.node import Trial
from gym.federated.utility import blurred
from gym.llm.brake import Brake
from gym.loop import run_on_new_loop
from gym.train.grpo.watch import Silent, Watch

UNKNOWN = 1.0
"""Standard error of a gain on one problem: it says nothing."""


class Blur(NamedTuple):
    """What a node does to its gains before it signs them (`gym.federated.utility.blurred`)."""

    clip: float = 1.0
    noise: float = 0.0


NO_BLUR = Blur()


@dataclass
class Gains:
    """A `gym.federated.node.Measure` on the problems of `config.dataset`, in the folder `output_dir/round-N`."""

    config: RunConfig
    """Its budgets are of one round."""
    watch: Watch = field(default_factory=Silent)
    brake: Brake = field(default_factory=Brake)
    blur: Blur = NO_BLUR
    luck: Random = field(default_factory=Random)

    def __call__(self, round: int, trials: Sequence[Trial], accepted: Sequence[AcceptedExperience]) -> tuple[Gain, ...]:
        """In the given order, of as many texts as the budget allows.

        Raises `ConfigError` and `ProviderError` like an evaluation, `RunFailed` when not one answer could be scored.
        """
        config = self.config.model_copy(update={"experiment_name": f"round-{round}"})
        found = run_on_new_loop(self._all(config, trials, library_of(entry.text for entry in accepted)))
        return tuple(self._sent(gain) for gain in found)

    async def _all(self, config: RunConfig, trials: Sequence[Trial], library: Library) -> list[Gain]:
        target, found = target_of(config, []), list[Gain]()
        async with open_instrument(config, (target,), self.watch, self.brake) as (_, instrument):
            try:
                before = await self._answered(instrument, target, "without a new text", library)
                for trial in trials:
                    beside = library.minted(trial.text, domain=trial.domain).library
                    after = await self._answered(instrument, target, f"with {shown(trial.text)}", beside)
                    found += gain_of(trial.text, before, after)
            except BudgetReached as error:
                self.watch.say(str(error))
            self.watch.phase("waiting", 0, instrument.session.meter)
        return found

    async def _answered(self, instrument: Instrument, target: Target, name: str, library: Library) -> Sequence[Tally]:
        self.watch.phase(name, target.answers, instrument.session.meter)
        return (await instrument.measure(target, library)).tallies

    def _sent(self, gain: Gain) -> Gain:
        clip, noise = self.blur
        return gain if self.blur == NO_BLUR else blurred(gain, clip=clip, noise=noise, luck=self.luck)


def library_of(texts: Iterable[str]) -> Library:
    """A library of just these."""
    library = Library()
    for text in texts:
        library = library.minted(text).library
    return library


def gain_of(text: str, before: Sequence[Tally], after: Sequence[Tally]) -> tuple[Gain, ...]:
    """The mean difference over the problems scored on both sides, with its standard error; nothing when there are none."""
    found = differences(before, after)
    if not found:
        return ()
    error = stdev(found) / sqrt(len(found)) if len(found) > 1 else UNKNOWN
    return (Gain(text=exact_digest(text), mean=fmean(found), error=error, problems=len(found)),)
