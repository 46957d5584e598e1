"""A group takes no more answers than its contrast needs, and each answer is drawn once."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from gym.config import RunConfig
from gym.core.chat import Message, Sampling
from gym.core.experience import Library
from gym.core.problem import Problem
from gym.core.rollout import Group
from gym.errors import ConfigError, RateLimited
from gym.llm.scripted import Reply, Scripted
from gym.train.grpo.group_size import GroupSize
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.rollout_manager import RolloutManager
from gym.train.grpo.solvers.single_turn import single_turn
from gym.train.grpo.training_free_workflow import train

Configured = Callable[..., RunConfig]
PROBLEM = Problem(id="p", query="question", ground_truth="yes")


def drawn(answers: Sequence[str | RateLimited], size: GroupSize, *, draw: int = 0) -> tuple[Group, list[Sampling]]:
    """A group whose n-th answer is `answers[n]`, and the requests it made."""
    asked: list[Sampling] = []

    def reply(messages: Sequence[Message], sampling: Sampling) -> Reply:
        asked.append(sampling)
        return answers[sampling.sample - draw * size.most]

    rollouts = RolloutManager(
        Scripted(reply), single_turn, resolve_reward("exact"), width=lambda: 8, sampling=Sampling(), group_size=size.usual,
        sizes=size,
    )  # fmt: skip
    return asyncio.run(rollouts.group(PROBLEM, Library(), draw=draw)), asked


@pytest.mark.parametrize(
    ("answers", "count"),
    [
        (["no", "yes"], 2),
        (["no", "no", "no", "yes"], 4),
        (["no"] * 8, 8),
        (["yes"] * 8, 8),
        (["no"] * 6 + ["yes", "yes"], 7),
    ],
)
def test_a_group_stops_as_soon_as_it_is_mixed_and_goes_on_while_all_agree(answers: list[str], count: int) -> None:
    group, asked = drawn(answers, GroupSize(least=2, usual=5, most=8))
    assert [rollout.index for rollout in group.rollouts] == list(range(count))
    assert len({(sampling.seed, sampling.sample) for sampling in asked}) == len(asked) == count


def test_without_a_minimum_the_usual_answers_are_drawn_even_when_the_first_two_differ() -> None:
    group, _ = drawn(["no", "yes", "no", "no", "no"], GroupSize(least=5, usual=5, most=8))
    assert len(group.rollouts) == 5


def test_an_all_wrong_group_that_teaches_is_not_extended_but_an_all_right_one_is() -> None:
    size = GroupSize(least=2, usual=3, most=5, all_wrong_teaches=True)
    assert len(drawn(["no"] * 5, size)[0].rollouts) == 3
    assert len(drawn(["yes"] * 5, size)[0].rollouts) == 5


def test_a_failed_answer_counts_as_drawn_but_makes_no_contrast() -> None:
    group, _ = drawn(["yes", RateLimited("later"), "yes", "no"], GroupSize(least=2, usual=4, most=4))
    assert [rollout.outcome for rollout in group.rollouts] == ["answered", "failed", "answered", "answered"]


def test_a_second_draw_of_a_problem_in_one_epoch_has_answers_of_its_own() -> None:
    size = GroupSize(least=2, usual=3, most=4)
    (_, first), (again, second) = drawn(["no"] * 4, size), drawn(["no", "yes", "no", "no"], size, draw=1)
    assert not {sampling.seed for sampling in first} & {sampling.seed for sampling in second}
    assert [rollout.index for rollout in again.rollouts] == [4, 5]


def test_a_run_with_adaptive_groups_learns_from_fewer_answers_tells_how_many_and_resumes(
    configured: Configured,
) -> None:
    settings = {"group_size_min": 2, "group_size_max": 7, "epochs": 1}
    run = train(configured(**settings))
    assert len(run.library) > 0
    draws = [stats.draws for stats in run.steps if stats.draws]
    saved = sum(one.plain - one.answers for one in draws)
    assert sum(one.answers for one in draws) == sum(stats.rollouts for stats in run.steps) == 12 * 5 - saved
    assert sum(one.stopped for one in draws) > 0
    told = (run.folder / "report.md").read_text(encoding="utf-8")
    assert f"{saved:,} answers saved" in told or f"{-saved:,} answers more" in told
    for path in run.folder.rglob("step_1/*"):
        path.unlink()
    again = train(configured(**settings))
    assert again.library == run.library
    assert again.report.spent["total"]["calls"] == run.report.spent["total"]["calls"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"group_size_min": 6}, "group_size_min: 6 is more than a group's 5"),
        ({"group_size_max": 4}, "group_size_max: 4 is fewer than a group's 5"),
        ({"group_size_min": 2, "use_groundtruth": False}, "majority of the whole group"),
    ],
)
def test_sizes_that_cannot_be_are_refused_before_anything_is_paid(
    configured: Configured, settings: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        train(configured(**settings))
