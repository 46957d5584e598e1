"""One step: what is drawn, what is shown, what is counted (SPEC 1)."""

import asyncio
import gc
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from gym.core.admission import Admission
from gym.core.chat import Completion, Message, Sampling
from gym.core.experience import Library, Use
from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.core.reflection import Studied, Summary
from gym.core.rollout import Group, Rollout
from gym.embedding import similarity
from gym.embedding.hashing import HashingEmbedder
from gym.errors import AccessDenied, RateLimited
from gym.llm.call_log import CallLog
from gym.llm.guarded import Guarded
from gym.llm.limiter import Limiter
from gym.llm.recorded import Recorded
from gym.llm.scripted import Scripted
from gym.train.grpo.loop import Loop, batches, shuffled, teaches, uses
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.rollout_manager import RolloutManager, rollout_seed
from gym.train.grpo.run_dir import safe_name
from gym.train.grpo.screen import alike
from gym.train.grpo.session import Session
from gym.train.grpo.solvers.single_turn import single_turn
from gym.train.grpo.stages.settings import ReflectionSettings

PROBLEMS = tuple(Problem(id=f"p{n}", query=f"question {n}", ground_truth="yes") for n in range(7))


def manager(model: Scripted, *, slots: int = 8, group_size: int = 5, timeout_s: float = 60.0) -> RolloutManager:
    limiter = Limiter(slots)
    return RolloutManager(
        Guarded(model, limiter, max_retries=0), single_turn, resolve_reward("exact"), width=lambda: limiter.limit,
        sampling=Sampling(temperature=0.7), group_size=group_size, timeout_s=timeout_s,
    )  # fmt: skip


async def test_a_group_is_g_distinct_draws_of_one_prompt() -> None:
    seen: list[Sampling] = []

    def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        seen.append(sampling)
        return "yes" if sampling.sample % 2 else "no"

    group = await manager(Scripted(reply)).group(PROBLEMS[0], Library())
    assert len({(sampling.seed, sampling.sample) for sampling in seen}) == 5
    assert group.rewards == (0.0, 1.0, 0.0, 1.0, 0.0)
    assert {sampling.temperature for sampling in seen} == {0.7}


async def test_each_rollout_is_shown_what_is_chosen_for_it_and_tells_so() -> None:
    library = Library().minted("When asked, say yes.").library.minted("When unsure, say no.").library

    def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        return "yes" if "[G0]" in messages[0].content else "no"

    rollouts = RolloutManager(
        Scripted(reply), single_turn, resolve_reward("exact"), width=lambda: 8, sampling=Sampling(), group_size=3,
        choose=lambda library, problem, index, epoch: library.only(library.ids[:index]),
    )  # fmt: skip
    group = (await rollouts.run(PROBLEMS[:1], library))[0]
    assert [rollout.shown for rollout in group.rollouts] == [(), ("G0",), ("G0", "G1")]
    assert [rollout.library for rollout in group.rollouts] == ["", library.only(["G0"]).digest, library.digest]
    assert group.rewards == (0.0, 1.0, 1.0)


async def test_the_time_limit_of_a_rollout_does_not_count_queueing() -> None:
    async def slow(messages: Sequence[Message], sampling: Sampling) -> str:
        await asyncio.sleep(0.02)
        return "yes"

    groups = await manager(Scripted(slow), slots=1, timeout_s=0.5).run(PROBLEMS, Library())
    assert {rollout.outcome for group in groups for rollout in group.rollouts} == {"answered"}


async def test_a_rollout_that_takes_too_long_is_failed_and_its_slot_comes_back() -> None:
    async def hang_once(messages: Sequence[Message], sampling: Sampling) -> str:
        if sampling.sample == 0:
            await asyncio.Event().wait()
        return "yes"

    group = await manager(Scripted(hang_once), slots=1, timeout_s=0.05).group(PROBLEMS[0], Library())
    assert [rollout.outcome for rollout in group.rollouts] == ["failed", *["answered"] * 4]
    assert group.rollouts[0].failure == Failure(boundary="generate", type="Timeout", message="no answer within 0.05 s")


async def test_results_keep_the_order_of_the_problems_and_never_exceed_the_limit() -> None:
    running = most = 0

    async def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep((sampling.seed or 0) % 5 / 1000)
        running -= 1
        return "yes"

    groups = await manager(Scripted(reply), slots=3).run(PROBLEMS, Library())
    assert [group.problem.id for group in groups] == [problem.id for problem in PROBLEMS]
    assert [rollout.index for rollout in groups[0].rollouts] == [0, 1, 2, 3, 4]
    assert most == 3


async def test_a_fatal_error_stops_the_run_and_a_passing_one_fails_its_rollout() -> None:
    with pytest.raises(AccessDenied):
        await manager(Scripted(lambda messages, sampling: AccessDenied("no"))).group(PROBLEMS[0], Library())
    group = await manager(Scripted(lambda messages, sampling: RateLimited("later"))).group(PROBLEMS[0], Library())
    assert {rollout.outcome for rollout in group.rollouts} == {"failed"}
    assert group.rewards == ()
    assert not group.is_informative


async def test_an_answer_cut_at_its_limit_is_no_answer_and_scores_zero() -> None:
    cut = Completion(text="<think> maybe yes", finish_reason="length")
    group = await manager(Scripted(lambda messages, sampling: cut), group_size=1).group(PROBLEMS[0], Library())
    assert (group.rollouts[0].outcome, group.rewards) == ("no answer", (0.0,))


class OneModel:
    """A session whose every stage is the same model."""

    def __init__(self, model: Scripted) -> None:
        self._model = model

    def model(self, stage: str) -> Scripted:
        return self._model


async def test_a_group_is_reflected_on_while_others_still_roll_out() -> None:
    reflected = asyncio.Event()

    async def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        if not messages[-1].content.startswith("question"):
            reflected.set()
            return "[]"
        if messages[-1].content == PROBLEMS[1].query:
            await reflected.wait()  # a barrier before reflection would wait here for ever
        return "yes" if sampling.sample % 2 else "no"

    model = Scripted(reply)
    loop = Loop(
        session=cast(Session, OneModel(model)), rollouts=manager(model, slots=64),
        settings=ReflectionSettings(profile="large"),
        admission=lambda shown, refuted: Admission(similarity=lambda one, others: [0.0] * len(others)),
    )  # fmt: skip
    async with asyncio.timeout(60):
        took = await loop.step(PROBLEMS[:2], Library(), epoch=0, step=0)
    assert [len(group.scored) for group in took.groups] == [5, 5]
    assert len(took.critiques) == 2


async def test_side_by_side_each_critique_sees_other_groups_that_teach_drawn_for_its_sample_alone() -> None:
    shown: dict[int, list[set[str]]] = {}

    def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        if messages[-1].content.startswith("question"):
            return "no" if messages[-1].content == PROBLEMS[0].query else "yes" if sampling.sample % 2 else "no"
        seen = {problem.query for problem in PROBLEMS if f"{problem.query}\n" in messages[-1].content}
        shown.setdefault(sampling.sample, []).append(seen)
        return "When asked, say yes."

    model = Scripted(reply)
    loop = Loop(
        session=cast(Session, OneModel(model)), rollouts=manager(model),
        settings=ReflectionSettings(profile="small", groups=3, samples=2),
        admission=lambda shown, refuted: Admission(similarity=lambda one, others: [0.0] * len(others)),
    )  # fmt: skip
    took = await loop.step(PROBLEMS, Library(), epoch=0, step=0)
    again = await loop.step(PROBLEMS, Library(), epoch=0, step=0)
    teaching = [problem.id for problem in PROBLEMS[1:]]
    assert [item.problem_id for item in took.critiques] == [name for name in teaching for _ in range(2)]
    assert took.critiques == again.critiques
    assert all(len(seen) == 3 and PROBLEMS[0].query not in seen for several in shown.values() for seen in several)
    assert shown[0] != shown[1]


def test_side_by_side_stand_groups_whose_questions_are_alike() -> None:
    questions = ["Is the shop open?", "Write the date: 3 May.", "Is the bath open?", "Write the date: 9 June."]
    others = [Studied(Problem(id=str(place), query=text), ()) for place, text in enumerate(questions)]
    near = alike(Problem(id="own", query="Is the bar open?"), others, similarity(HashingEmbedder()))
    assert {studied.problem.query for studied in near[:2]} == {questions[0], questions[2]}


async def test_a_long_run_begins_no_more_than_keeps_the_model_busy_and_lets_go_of_every_group() -> None:
    most = 0

    async def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        nonlocal most
        most = max(most, len(asyncio.all_tasks()))
        await asyncio.sleep(0)
        return "yes"

    problems = [Problem(id=f"p{n}", query=f"question {n}", ground_truth="yes") for n in range(2_000)]
    groups: list[weakref.ref[Group]] = []

    def keep(group: Group) -> str:
        groups.append(weakref.ref(group))
        return group.problem.id

    assert await manager(Scripted(reply), slots=4).each(problems, Library(), keep=keep) == [
        item.id for item in problems
    ]
    gc.collect()
    assert most < 150  # of the 10,000 rollouts
    assert all(group() is None for group in groups)


async def test_a_resumed_run_begins_at_the_first_problem_that_is_not_answered(tmp_path: Path) -> None:
    asked: list[str] = []

    def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        asked.append(messages[-1].content)
        return "yes"

    with CallLog.open(tmp_path / "calls.jsonl") as log:
        rollouts = manager(Scripted(reply), group_size=2)
        rollouts.model = Recorded(rollouts.model, log, "evaluate")
        await rollouts.run(PROBLEMS[:4], Library())
        asked.clear()
        groups = await rollouts.run(PROBLEMS, Library())
    assert asked == [problem.query for problem in PROBLEMS[4:] for _ in range(2)]
    assert [group.problem for group in groups] == list(PROBLEMS)


def test_a_seed_depends_on_its_place_alone() -> None:
    assert rollout_seed(1, 0, "p", 2) == rollout_seed(1, 0, "p", 2)
    places = {
        rollout_seed(run, epoch, name, index)
        for run in (0, 1)
        for epoch in (-1, 0)
        for name in "pq"
        for index in (0, 1)
    }
    assert len(places) == 16
    assert all(0 <= seed < 2**31 for seed in places)


def test_each_epoch_is_shuffled_by_the_seed_and_the_short_last_batch_is_kept() -> None:
    plan = list(batches(PROBLEMS, epochs=2, batch_size=3, seed=0))
    assert [(batch.epoch, batch.step, len(batch.problems)) for batch in plan] == [
        (0, 0, 3), (0, 1, 3), (0, 2, 1), (1, 3, 3), (1, 4, 3), (1, 5, 1),
    ]  # fmt: skip
    assert sorted(problem.id for batch in plan[:3] for problem in batch.problems) == [f"p{n}" for n in range(7)]
    assert shuffled(PROBLEMS, 0, 0) != shuffled(PROBLEMS, 0, 1)
    assert shuffled(PROBLEMS, 0, 0) == shuffled(PROBLEMS, 0, 0)


def group_of(
    *rewards: float, output: str = "answer", ground_truth: str | None = "yes", shown: tuple[str, ...] = ()
) -> Group:
    problem = Problem(id="p", query="q", ground_truth=ground_truth)
    rollouts = tuple(
        Rollout(
            problem=problem,
            index=index,
            shown=shown,
            trajectory=Trajectory(messages=(), output=output),
            verdict=Verdict(reward=reward),
        )
        for index, reward in enumerate(rewards)
    )
    return Group(problem=problem, rollouts=rollouts)


@pytest.mark.parametrize(
    ("rewards", "mixed", "with_all_wrong"),
    [
        ((0, 1), True, True),
        ((0, 0), False, True),
        ((1, 1), False, False),
        ((0.5, 0.5), False, True),
        ((0,), False, True),
    ],
)
def test_which_groups_teach(rewards: tuple[float, ...], mixed: bool, with_all_wrong: bool) -> None:
    group = group_of(*rewards)
    assert teaches(group, "mixed") is mixed
    assert teaches(group, "mixed+all_wrong") is with_all_wrong
    assert teaches(group_of(*rewards, ground_truth=None), "mixed+all_wrong") is mixed


def test_citations_are_counted_once_a_rollout_and_credited_by_its_advantage() -> None:
    library = Library().minted("When a, do b.").library.minted("When c, do d.").library
    group = group_of(1.0, 0.0, 0.0, output="By [G0] and again [G0], but not [G9].", shown=library.ids)
    told = [Summary(problem_id="p", index=1, text="It used [G1].", reward=0.0, outcome="answered", output="")]
    assert uses([group], told, library) == {
        "G0": Use(uses=3, helpful=1, harmful=2),
        "G1": Use(uses=1, helpful=0, harmful=1),
    }


def test_what_a_rollout_was_not_shown_it_did_not_use() -> None:
    library = Library().minted("When a, do b.").library.minted("When c, do d.").library
    group = group_of(1.0, 0.0, output="By [G0] and [G1].", shown=("G1",))
    assert uses([group], [], library) == {"G1": Use(uses=2, helpful=1, harmful=1)}


@pytest.mark.parametrize(
    ("name", "safe"),
    [("llama3.1:8b", "llama3.1-8b"), ("org/model", "org-model"), ("a/b", "a-b"), ("CON", "CON_"), ("con.txt", "con.txt_"),
     ("x.", "x"), ("..", "run"), ("", "run"), ("../../etc", "etc"), ("数学", "数学")],
)  # fmt: skip
def test_names_are_made_safe_for_any_file_system(name: str, safe: str) -> None:
    assert safe_name(name) == safe
