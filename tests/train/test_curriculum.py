"""Problems that taught nothing rest, undecided ones are drawn twice, and a resumed run draws the same."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from gym.config import RunConfig
from gym.core.problem import Problem, Trajectory, Verdict
from gym.core.rollout import Group, Rollout
from gym.llm.call_log import CallLog
from gym.train.grpo.curriculum import Epoch, epoch_of, pass_rate, rests, served
from gym.train.grpo.loop import Batch, batches, shuffled, teaches
from gym.train.grpo.training_free_workflow import train

Configured = Callable[..., RunConfig]
PROBLEMS = tuple(Problem(id=name, query=name, ground_truth="yes") for name in "abcd")


def mixed(group: Group) -> bool:
    return teaches(group, "mixed")


def epoch(**rewards: list[float]) -> Epoch:
    """The answers to some problems, by their rewards."""
    return epoch_of(
        Rollout(
            problem=Problem(id=name, query=name, ground_truth="yes"),
            index=index,
            trajectory=Trajectory(messages=(), output="x"),
            verdict=Verdict(reward=reward),
        )
        for name, several in rewards.items()
        for index, reward in enumerate(several)
    )


def names(problems: tuple[Problem, ...]) -> str:
    return "".join(problem.id for problem in problems)


def test_the_first_epoch_is_the_shuffled_one() -> None:
    assert served(PROBLEMS, (), mixed) == PROBLEMS


def test_a_resting_problems_place_goes_to_the_one_whose_pass_rate_is_nearest_one_half() -> None:
    past = [epoch(a=[1, 1, 1], b=[0, 0, 1], c=[0, 1, 0.5], d=[0, 0, 0])]
    assert names(served(PROBLEMS, past, mixed)) == "cbcb"


def test_a_place_that_nobody_may_take_is_saved() -> None:
    past = [epoch(a=[1, 1], b=[0, 0], c=[0, 1], d=[0, 0])]
    assert names(served(PROBLEMS, past, mixed)) == "cc"


def test_where_all_wrong_groups_teach_they_do_not_rest() -> None:
    past = [epoch(a=[1, 1], b=[0, 0], c=[0, 1], d=[0, 0])]
    assert names(served(PROBLEMS, past, lambda group: teaches(group, "mixed+all_wrong"))) == "cbcd"


def test_when_every_problem_would_rest_nobody_does() -> None:
    assert served(PROBLEMS, [epoch(a=[1, 1], b=[0, 0], c=[1, 1], d=[0, 0])], mixed) == PROBLEMS


def test_a_problem_rests_one_epoch_longer_after_each_group_in_a_row_that_taught_nothing() -> None:
    dull, gone = epoch(a=[1, 1]), epoch()
    drawn = []
    past: list[Epoch] = []
    for _ in range(10):
        drawn.append(not rests("a", past, mixed))
        past.append(dull if drawn[-1] else gone)
    assert [place for place, was in enumerate(drawn) if was] == [0, 2, 5, 9]
    assert not rests("a", [dull, gone, dull, epoch(a=[0, 1])], mixed)


def test_a_problem_whose_answers_all_failed_is_as_if_it_had_not_been_drawn() -> None:
    problem = PROBLEMS[0]
    failed = epoch_of([Rollout(problem=problem, index=0)])
    assert not rests("a", [failed], mixed)
    assert pass_rate("a", [failed]) == 0.5


def test_a_pass_rate_is_drawn_towards_one_half_by_two_answers() -> None:
    assert pass_rate("a", [epoch(a=[1, 1, 1]), epoch(b=[0]), epoch(a=[1, 1, 1])]) == pytest.approx(7 / 8)
    assert pass_rate("a", []) == 0.5


def test_an_epoch_is_planned_when_its_first_step_is_asked_for_and_second_draws_are_numbered() -> None:
    told: list[tuple[int, int]] = []

    def serve(epoch: int, order: tuple[Problem, ...], earlier: tuple[Batch, ...]) -> tuple[Problem, ...]:
        told.append((epoch, len(earlier)))
        return (order[0], order[1], order[0]) if epoch else order

    plan = batches(PROBLEMS, epochs=2, batch_size=2, seed=0, serve=serve)  # type: ignore[arg-type]
    first = [next(plan), next(plan)]
    assert told == [(0, 0)]
    rest = list(plan)
    assert told == [(0, 0), (1, 2)]
    assert [(batch.epoch, batch.step, batch.draws, batch.resting) for batch in (*first, *rest)] == [
        (0, 0, (0, 0), 0), (0, 1, (0, 0), 0), (1, 2, (0, 0), 2), (1, 3, (1,), 0),
    ]  # fmt: skip


def order_of(folder: Path, epoch: int) -> list[str]:
    lines = (folder / f"epoch_{epoch}" / "shuffled_data.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["id"] for line in lines]


def test_a_run_with_a_curriculum_rests_problems_tells_so_and_resumes_to_the_same_end(configured: Configured) -> None:
    settings = {"curriculum": True, "epochs": 3, "group_size": 2}
    whole = train(configured(**settings))
    rested = sum(stats.draws.resting for stats in whole.steps if stats.draws)
    assert rested > 0
    assert f"{rested} problems sat out an epoch" in (whole.folder / "report.md").read_text(encoding="utf-8")
    orders = [order_of(whole.folder, epoch) for epoch in range(3)]
    with CallLog.open(whole.folder / "calls.jsonl") as log:
        drawn = [call.key for call in log if call.stage == "rollout"]
    assert len(set(drawn)) == len(drawn) == 2 * sum(map(len, orders))
    for path in (*whole.folder.glob("epoch_[12]/step_*/*"), *whole.folder.glob("epoch_*/shuffled_data.jsonl")):
        path.unlink()
    again = train(configured(**settings))
    assert [order_of(again.folder, epoch) for epoch in range(3)] == orders
    assert again.library == whole.library
    assert again.report.spent["total"]["calls"] == whole.report.spent["total"]["calls"]


def test_without_a_curriculum_every_epoch_is_its_shuffle_and_statistics_are_what_they_were(
    configured: Configured,
) -> None:
    run = train(configured())
    for epoch in range(2):
        problems = [Problem(id=f"p{n}", query="") for n in range(12)]
        assert order_of(run.folder, epoch) == [problem.id for problem in shuffled(problems, 0, epoch)]
    stats = json.loads((run.folder / "stats.json").read_text(encoding="utf-8"))
    assert all("draws" not in step for step in stats["steps"])
    assert "How answers were spent" not in (run.folder / "report.md").read_text(encoding="utf-8")


def test_a_run_from_before_a_setting_existed_goes_on_with_its_default(configured: Configured) -> None:
    run = train(configured(epochs=1))
    path = run.folder / "config.yaml"
    saved = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({key: saved[key] for key in saved if key != "curriculum"}), encoding="utf-8")
    assert train(configured(epochs=1)).library == run.library
