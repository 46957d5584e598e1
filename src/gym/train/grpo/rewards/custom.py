"""A reward of the user's own, `pkg.mod:fn`: plain or async, run in a worker that can be killed (FAULTS G4, G17, P10).

The function takes what it names: `output` or `response` (the final text, thoughts removed), `ground_truth` or
`groundtruth`, `query`, `problem` (`gym.core.problem.Problem`), `trajectory` (`gym.core.problem.Trajectory`). `answer`
is the ground truth beside `output` or `response`, else the model's text. With other names, two parameters are the text
and the ground truth, one is the text. It returns a number in [0, 1], a bool, or (number, feedback).
"""

import asyncio
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any

from gym.core.chat import ChatModel
from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.errors import ConfigError
from gym.plugins import import_attribute
from gym.train.grpo.rewards.answers import final_text
from gym.train.grpo.rewards.base import ONLY_THOUGHTS, missing_gold, no_answer
from gym.train.grpo.rewards.workers import Workers, shared

NAMES = ("output", "response", "answer", "ground_truth", "groundtruth", "query", "problem", "trajectory")

OUT_OF_RANGE = "OutOfRange"


def wants(function: Callable[..., Any], path: str) -> Mapping[str, str]:
    """Parameter name -> what goes there; raises `ConfigError` when the parameters say too little.

    >>> wants(lambda response, answer: 1.0, "m:f")
    {'response': 'text', 'answer': 'ground_truth'}
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"reward {path!r} is no function that can be called: {error}") from error
    required = [item.name for item in parameters if item.default is item.empty and item.kind not in _STARRED]
    named = [item.name for item in parameters if item.name in NAMES and item.kind is not item.POSITIONAL_ONLY]
    if set(required) <= set(named) and named:
        has_text, has_gold = {"output", "response"} & set(named), {"ground_truth", "groundtruth"} & set(named)
        answer = "ground_truth" if has_text and not has_gold else "text"
        return {name: answer if name == "answer" else _MEANING[name] for name in named}
    if 1 <= len(required) <= 2 and not set(required) & set(NAMES):
        return dict(zip(required, ("text", "ground_truth"), strict=False))
    raise ConfigError(
        f"reward {path!r} takes ({', '.join(required)}): name its parameters among {', '.join(NAMES)}, "
        "or take (output, ground_truth)"
    )


_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_MEANING = {
    "output": "text",
    "response": "text",
    "ground_truth": "ground_truth",
    "groundtruth": "ground_truth",
    "query": "query",
    "problem": "problem",
    "trajectory": "trajectory",
}


def as_verdict(value: Any) -> Verdict | Failure:
    """What a reward function returned, as a verdict; a failure that names the value when it is none.

    >>> as_verdict((0.5, "half")).feedback, as_verdict(True).reward, as_verdict("1").message
    ('half', 1.0, "the reward returned '1': expected a number in [0, 1], a bool, or (number, feedback)")
    """
    feedback = ""
    if isinstance(value, Verdict):
        return value
    if isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[1], str):
        value, feedback = value
    scalar = value.item() if hasattr(value, "item") and not isinstance(value, Real) else value
    if not isinstance(scalar, Real) or math.isnan(number := float(scalar)):
        expected = "expected a number in [0, 1], a bool, or (number, feedback)"
        return _failure("BadReward", f"the reward returned {value!r:.200}: {expected}")
    if not 0.0 <= number <= 1.0:
        return _failure(OUT_OF_RANGE, f"the reward returned {value!r:.200}: it must lie in [0, 1], so scale it")
    return Verdict(reward=number, feedback=feedback)


def score(path: str, problem: Problem, trajectory: Trajectory) -> Verdict | Failure:
    """In a worker: the verdict of the function at `path`."""
    if not (text := final_text(trajectory.output)):
        return ONLY_THOUGHTS
    function = import_attribute(path, what="reward")
    offered = {
        "text": text,
        "ground_truth": problem.ground_truth,
        "query": problem.query,
        "problem": problem,
        "trajectory": trajectory,
    }
    taken = wants(function, path)
    by_name = {name: offered[what] for name, what in taken.items()}
    result = function(**by_name) if set(taken) <= set(NAMES) else function(*by_name.values())
    return as_verdict(asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result)


@dataclass(frozen=True)
class CustomReward:
    """The function at `path` as a reward; one task in a worker per trajectory."""

    path: str
    needs_gold: bool
    workers: Workers | None = None

    async def __call__(self, problem: Problem, trajectories: Sequence[Trajectory]) -> Sequence[Verdict | Failure]:
        """One verdict or failure per trajectory, in order; a value outside [0, 1] raises `ConfigError`."""
        return await asyncio.gather(*(self._one(problem, trajectory) for trajectory in trajectories))

    async def _one(self, problem: Problem, trajectory: Trajectory) -> Verdict | Failure:
        if verdict := no_answer(trajectory):
            return verdict
        workers = self.workers or shared()
        workers.prepare(partial(import_attribute, self.path, "reward"))
        result = await workers.call(score, self.path, problem, trajectory)
        if isinstance(result, Failure) and result.type == OUT_OF_RANGE:
            raise ConfigError(f"reward {self.path!r}, problem {problem.id!r}: {result.message}")
        return result

    def unscorable(self, problem: Problem) -> str | None:
        """Why the function would lack its ground truth, or None."""
        return missing_gold(problem) if self.needs_gold else None

    def bind(self, *, judge: ChatModel | None, workers: Workers | None) -> "CustomReward":
        """The same reward on these workers."""
        return replace(self, workers=workers)


def custom_reward(path: str, function: Callable[..., Any]) -> CustomReward:
    """The reward of the function found at `path`; raises `ConfigError` when its parameters cannot be filled."""
    return CustomReward(path, needs_gold="ground_truth" in wants(function, path).values())


async def _awaited(value: Any) -> Any:
    return await value


def _failure(kind: str, message: str) -> Failure:
    return Failure(boundary="reward", type=kind, message=message)
