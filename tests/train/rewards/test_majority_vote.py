"""Majority vote: rewards without ground truth (SPEC 1.8)."""

from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.train.grpo.rewards import resolve_reward

PROBLEM = Problem(id="p", query="?", ground_truth="SECRET")


async def vote(*outputs: str) -> list[Verdict | Failure]:
    trajectories = [Trajectory(messages=(), output=output) for output in outputs]
    return list(await resolve_reward("majority_vote")(PROBLEM, trajectories))


async def rewards(*outputs: str) -> list[float]:
    return [found.reward for found in await vote(*outputs) if isinstance(found, Verdict)]


async def test_the_most_common_answer_is_the_label_whatever_its_dress() -> None:
    assert await rewards(r"\boxed{042}", "The answer is 42.", "**Answer:** 42", "41", "") == [1.0, 1.0, 1.0, 0.0, 0.0]
    assert await rewards("Paris", "paris.", "Rome") == [1.0, 1.0, 0.0]


async def test_a_tie_gives_no_label_and_the_whole_group_fails() -> None:
    found = await vote("1", "2", "1", "2", "")
    assert [item.type for item in found if isinstance(item, Failure)] == ["tie"] * 5


async def test_a_majority_of_silence_is_no_label() -> None:
    assert await rewards("", "", "7") == [0.0, 0.0, 1.0]


async def test_nothing_it_says_comes_from_the_ground_truth() -> None:
    assert all("SECRET" not in item.model_dump_json() for item in await vote("SECRE", "1", "1"))
    assert resolve_reward("majority_vote").unscorable(PROBLEM.model_copy(update={"ground_truth": None})) is None
