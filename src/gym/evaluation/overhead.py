"""What a library costs at every answer: the prompt tokens that it adds, their share, and the model's time (SPEC 2.9)."""

from collections.abc import Callable, Sequence
from statistics import fmean

from gym.core.rollout import Tally
from gym.core.value import Value


class Overhead(Value):
    """What an answer takes on either side: means over the problems of which no answer failed on either."""

    n_problems: int
    before_prompt: float | None
    """Prompt tokens of an answer; None when the server did not say."""
    after_prompt: float | None
    before_latency_s: float
    """Seconds that the model took for an answer."""
    after_latency_s: float

    @property
    def tokens(self) -> float | None:
        """Prompt tokens more after than before."""
        return (
            None if self.before_prompt is None or self.after_prompt is None else self.after_prompt - self.before_prompt
        )

    @property
    def share(self) -> float | None:
        """These tokens as a part of the prompt after; None when unknown, and where the prompt became shorter."""
        tokens = self.tokens
        return tokens / self.after_prompt if tokens is not None and tokens >= 0 and self.after_prompt else None

    @classmethod
    def of(cls, before: Sequence[Tally], after: Sequence[Tally]) -> "Overhead | None":
        """Measured on the problems that both have; None when there is none without a failure."""
        old, new = _whole(before), _whole(after)
        sides = [[side[name] for name in old if name in new] for side in (old, new)]
        if not sides[0]:
            return None
        told = all(tally.tokens.known for side in sides for tally in side)
        prompts = [_of_an_answer(side, lambda tally: tally.tokens.prompt) if told else None for side in sides]
        seconds = [_of_an_answer(side, lambda tally: tally.latency_s) for side in sides]
        return cls(
            n_problems=len(sides[0]),
            before_prompt=prompts[0],
            after_prompt=prompts[1],
            before_latency_s=seconds[0],
            after_latency_s=seconds[1],
        )


def _whole(tallies: Sequence[Tally]) -> dict[str, Tally]:
    return {tally.problem_id: tally for tally in tallies if tally.rewards and not tally.failed}


def _of_an_answer(tallies: Sequence[Tally], amount: Callable[[Tally], float]) -> float:
    return fmean(amount(tally) / tally.size for tally in tallies)
