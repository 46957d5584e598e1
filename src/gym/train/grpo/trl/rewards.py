"""The same reward functions on both sides: TRL's score completions of many prompts, ours a group of one problem."""

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard, cast

from gym.core.chat import Message
from gym.core.problem import Failure, Problem, Reward, Trajectory, Verdict
from gym.errors import ConfigError
from gym.llm import blocking
from gym.train.grpo.trl.rows import Key, Row, like, problem, problem_id, said

TrlReward = Callable[..., Sequence[float | None] | Awaitable[Sequence[float | None]]]
"""(prompts=, completions=, completion_ids=, each column of the data set=, trainer_state= …) -> a number each, or None."""
RewardFunction = TrlReward | Reward
Score = Verdict | Failure | float | None
"""What one function says of one completion; None: it does not apply."""


def listed(rewards: RewardFunction | Sequence[RewardFunction] | None) -> tuple[RewardFunction, ...]:
    """One reward function, several or none."""
    match rewards:
        case None:
            return ()
        case list() | tuple():
            return tuple(rewards)
    return (cast(RewardFunction, rewards),)


def is_ours(function: object) -> TypeGuard[Reward]:
    """Whether it is a `Reward` and not one of TRL's functions."""
    return hasattr(function, "unscorable")


class AsTrl:
    """One of our rewards as TRL calls it. A group is the neighbours that answer one prompt; a failure is None, no score."""

    def __init__(
        self, reward: Reward, problems: Mapping[str, Problem], finished: Callable[[Sequence[int]], bool]
    ) -> None:
        """`problems`: what is known of rows beyond their columns; `finished` tells by its tokens whether a reply ended."""
        self.reward = reward
        self.__name__ = type(reward).__name__
        self._problems, self._finished = problems, finished

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        rows = [{"prompt": prompt, **_columns(columns, place, len(prompts))} for place, prompt in enumerate(prompts)]
        ids = columns.get("completion_ids") or [[]] * len(rows)
        trajectories = [self._trajectory(*one) for one in zip(completions, ids, strict=True)]
        return blocking.run(self._scored(rows, trajectories))

    async def _scored(self, rows: Sequence[Row], trajectories: Sequence[Trajectory]) -> list[float | None]:
        scores: list[float | None] = []
        names = [problem_id(row) for row in rows]
        while (start := len(scores)) < len(rows):
            end = next((place for place in range(start, len(rows)) if names[place] != names[start]), len(rows))
            item = self._problems.get(names[start]) or problem(rows[start])
            verdicts = await self.reward(item, trajectories[start:end])
            scores += [one.reward if isinstance(one, Verdict) else None for one in verdicts]
        return scores

    def _trajectory(self, completion: Any, ids: Sequence[int]) -> Trajectory:
        text = said(completion)
        reason = "stop" if self._finished(ids) else "length"
        return Trajectory(messages=(Message(role="assistant", content=text),), output=text, finish_reason=reason)


@dataclass(frozen=True)
class FromTrl:
    """TRL's reward functions, and ours among them, as one `Reward`: their weighted sum, which must lie in [0, 1]."""

    functions: Sequence[TrlReward | Reward]
    weights: Sequence[float]
    row: Callable[[Key], Row]
    tokens: Callable[[str], Sequence[int]] = lambda text: ()
    """Of a completion, for functions that count them."""
    more: Callable[[], Mapping[str, Any]] = field(default=dict)
    """What TRL passes beside the columns, as it is now."""

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """One verdict or failure per trajectory, in order; a sum outside [0, 1] raises `ConfigError`."""
        if len(self.functions) == 1 and self.weights[0] == 1.0 and is_ours(alone := self.functions[0]):
            return await alone(problem, trajectories)
        given = [await self._given(function, problem, trajectories) for function in self.functions]
        return [self._sum(problem, scores) for scores in zip(*given, strict=True)]

    def unscorable(self, problem: Problem) -> str | None:
        """Why one of our rewards among them cannot score the problem; TRL's functions do not say."""
        reasons = (function.unscorable(problem) for function in self.functions if is_ours(function))
        return next((reason for reason in reasons if reason), None)

    async def _given(
        self, function: TrlReward | Reward, problem: Problem, trajectories: Sequence[Trajectory]
    ) -> Sequence[Score]:
        if is_ours(function):
            return await function(problem, trajectories)
        try:
            return await self._asked(
                cast(TrlReward, function),
                self.row(Key(problem.id, problem.query)),
                [one.output for one in trajectories],
            )
        except Exception as error:  # a function of the user's may raise anything; its group is failed, not wrong
            told = Failure(boundary="reward", type=type(error).__name__, message=f"{_name(function)}: {error}")
            return [told] * len(trajectories)

    async def _asked(self, function: TrlReward, row: Row, texts: Sequence[str]) -> Sequence[Score]:
        """The numbers of a TRL function, which may be a coroutine; a plain one runs beside the event loop."""
        columns = {name: [value] * len(texts) for name, value in row.items() if name not in ("prompt", "completion")}
        call = {
            "prompts": [row["prompt"]] * len(texts),
            "completions": [like(row["prompt"], text) for text in texts],
            "completion_ids": [list(self.tokens(text)) for text in texts],
            **columns,
            **self.more(),
        }
        found: Any = await asyncio.to_thread(function, **call)
        numbers = list(await found if inspect.isawaitable(found) else found)
        if len(numbers) != len(texts):
            raise ValueError(f"returned {len(numbers)} rewards for {len(texts)} completions")
        return [None if one is None or math.isnan(one) else float(one) for one in numbers]

    def _sum(self, problem: Problem, scores: Sequence[Score]) -> Verdict | Failure:
        if broken := next((one for one in scores if isinstance(one, Failure)), None):
            return broken
        numbers = [one.reward if isinstance(one, Verdict) else one for one in scores if not isinstance(one, Failure)]
        if all(one is None for one in numbers):
            return Failure(boundary="reward", type="NoReward", message="every reward function returned None")
        total = sum(weight * one for weight, one in zip(self.weights, numbers, strict=True) if one is not None)
        if not 0.0 <= total <= 1.0:
            named = " + ".join(map(_name, self.functions))
            raise ConfigError(
                f"reward {named}, problem {problem.id!r}: {total:g} does not lie in [0, 1], which the training-free mode "
                "needs: scale it, by reward_weights say"
            )
        feedback = "; ".join(one.feedback for one in scores if isinstance(one, Verdict) and one.feedback)
        return Verdict(reward=total, feedback=feedback)


def _columns(columns: Mapping[str, Any], place: int, count: int) -> dict[str, Any]:
    """A row's own values of what TRL passes as lists."""
    lists = {name: value for name, value in columns.items() if isinstance(value, list) and len(value) == count}
    return {name: value[place] for name, value in lists.items() if name != "completion_ids"}


def _name(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)
