"""A user's own reward: found, called by the names it takes, contained, and its value checked (FAULTS G4, G17, P10)."""

import contextlib
from collections.abc import Iterator

import pytest

from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.errors import ConfigError
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.rewards.workers import Workers

MODULE = """
import asyncio

def half(output, ground_truth):
    return 0.5

def told(response, answer):
    return (1.0, f"{response} for {answer}")

def by_position(guess, gold):
    return guess == gold

def one_argument(text):
    return len(text) == 2

async def later(output, query):
    await asyncio.sleep(0)
    return float(query == "How many?" and output == "42"), "awaited"

def whole(problem, trajectory):
    return problem.ground_truth in trajectory.output

def extra(output, *, weight=1.0, **others):
    return weight

def stuck(output, ground_truth):
    while output == "41":
        pass
    return 1.0

def broken(output, ground_truth):
    return {}[output]

def strange(output, ground_truth):
    return VALUES[output]

def numpy_number(output):
    import numpy
    return numpy.float32(0.25)

def unfillable(a, b, c):
    return 0.0

VALUES = {"nan": float("nan"), "none": None, "true": True, "text": "1", "high": 1.7, "low": -0.2, "dict": {"reward": 1}}
"""

PROBLEM = Problem(id="p-1", query="How many?", ground_truth="42")


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "rewards_of_mine.py").write_text(MODULE, encoding="utf-8")
    with contextlib.chdir(folder), Workers(1, limit_s=2.0) as pool:
        yield pool


async def scored(workers: Workers, function: str, *outputs: str) -> list[Verdict | Failure]:
    reward = resolve_reward(f"rewards_of_mine:{function}", workers=workers)
    return list(await reward(PROBLEM, [Trajectory(messages=(), output=output) for output in outputs]))


@pytest.mark.parametrize(
    ("function", "output", "expected"),
    [
        ("half", "42", Verdict(reward=0.5)),
        ("told", "<think>x</think> 41", Verdict(reward=1.0, feedback="41 for 42")),
        ("by_position", "42", Verdict(reward=1.0)),
        ("one_argument", "421", Verdict(reward=0.0)),
        ("later", "42", Verdict(reward=1.0, feedback="awaited")),
        ("whole", "it is 42", Verdict(reward=1.0)),
        ("extra", "42", Verdict(reward=1.0)),
        ("numpy_number", "42", Verdict(reward=0.25)),
    ],
)
async def test_a_function_gets_what_it_names(workers: Workers, function: str, output: str, expected: Verdict) -> None:
    assert await scored(workers, function, output) == [expected]


async def test_a_reward_that_hangs_fails_its_rollout_and_the_next_is_scored(workers: Workers) -> None:
    hung, fine = await scored(workers, "stuck", "41", "42")
    assert isinstance(hung, Failure)
    assert (hung.boundary, hung.type) == ("reward", "Timeout")
    assert fine == Verdict(reward=1.0)


async def test_an_exception_in_it_is_a_failure_that_names_it(workers: Workers) -> None:
    assert await scored(workers, "broken", "x") == [Failure(boundary="reward", type="KeyError", message="'x'")]


@pytest.mark.parametrize(
    ("value", "named"), [("nan", "nan"), ("none", "None"), ("text", "'1'"), ("dict", "{'reward': 1}")]
)
async def test_what_is_no_number_is_a_failure_that_names_the_value(workers: Workers, value: str, named: str) -> None:
    (found,) = await scored(workers, "strange", value)
    assert isinstance(found, Failure)
    assert (found.boundary, found.type) == ("reward", "BadReward")
    assert f"returned {named}:" in found.message


async def test_true_is_one(workers: Workers) -> None:
    assert await scored(workers, "strange", "true") == [Verdict(reward=1.0)]


@pytest.mark.parametrize(("value", "named"), [("high", "1.7"), ("low", "-0.2")])
async def test_a_number_out_of_range_is_an_error_that_names_it(workers: Workers, value: str, named: str) -> None:
    with pytest.raises(ConfigError, match=f"problem 'p-1': the reward returned {named}"):
        await scored(workers, "strange", value)


async def test_silence_is_not_passed_to_it(workers: Workers) -> None:
    for found in await scored(workers, "half", "", "<think>42</think> "):
        assert isinstance(found, Verdict)
        assert found.reward == 0.0


def test_it_is_unscorable_without_the_ground_truth_it_takes(workers: Workers) -> None:
    unlabelled = PROBLEM.model_copy(update={"ground_truth": None})
    assert resolve_reward("rewards_of_mine:half", workers=workers).unscorable(unlabelled) == "it has no ground truth"
    assert resolve_reward("rewards_of_mine:later", workers=workers).unscorable(unlabelled) is None


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module:score", "cannot import 'no_such_module'"),
        ("rewards_of_mine:absent", "has no 'absent'"),
        ("rewards_of_mine:unfillable", r"takes \(a, b, c\): name its parameters among output, response"),
        ("rewards_of_mine:VALUES", "is no function"),
    ],
)
def test_a_path_that_gives_no_reward_says_why(workers: Workers, path: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve_reward(path, workers=workers)
