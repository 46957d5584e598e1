"""Proposals are tried on problems that just taught something, each once."""

import json
from collections.abc import Callable

from gym.config import RunConfig
from gym.core.chat import Sampling
from gym.core.experience import Add, Keep, Library
from gym.core.problem import Problem, Trajectory, Verdict
from gym.core.reflection import Critique
from gym.core.rollout import Group, Rollout
from gym.embedding import similarity
from gym.embedding.hashing import HashingEmbedder
from gym.llm.call_log import CallLog
from gym.llm.scripted import Scripted, echo
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.rollout_manager import RolloutManager
from gym.train.grpo.screen import Screen
from gym.train.grpo.solvers.single_turn import single_turn
from gym.train.grpo.training_free_workflow import train

Configured = Callable[..., RunConfig]


def group(name: str, first: int = 0) -> Group:
    problem = Problem(id=name, query=f"How many {name}?", ground_truth="1")
    answers = ((first, 0.0), (first + 1, 1.0))
    rollouts = tuple(
        Rollout(
            problem=problem, index=index, trajectory=Trajectory(messages=(), output="x"), verdict=Verdict(reward=reward)
        )
        for index, reward in answers
    )
    return Group(problem=problem, rollouts=rollouts)


def rollouts_of(model: Scripted) -> RolloutManager:
    return RolloutManager(
        model, single_turn, resolve_reward("exact"), width=lambda: 1, sampling=Sampling(), group_size=2
    )


async def test_a_sentence_that_several_propose_is_tried_once_on_each_problem() -> None:
    model = Scripted(lambda messages, sampling: "1")
    screen = Screen(rollouts_of(model), similarity(HashingEmbedder()))
    groups, says = [group("apples"), group("pears")], Add(experience="When asked for a number, write 1.")
    critiques = [Critique(problem_id=one.problem.id, operations=(says, says)) for one in groups]
    tried = await screen.tried(critiques, groups, Library())
    assert [critique.operations for critique in tried] == [(says, says)] * 2
    assert model.calls == 2 * len(groups)


async def test_a_sentence_that_the_library_holds_is_left_to_the_gate_untried() -> None:
    model = Scripted(echo)
    known, new = Add(experience="When asked, WRITE 1."), Add(experience="When asked, spell it.")
    critique = Critique(problem_id="apples", operations=(known, new, Keep()))
    library = Library().minted("When asked, write 1.").library
    (tried,) = await Screen(rollouts_of(model), similarity(HashingEmbedder())).tried(
        [critique], [group("apples")], library
    )
    assert tried.operations == (known, Keep())
    assert [item.operation for item in tried.rejected] == [new]
    assert tried.rejected[0].reason.startswith("tried on apples: mean reward 0.50 without it, 0.00 with it")
    assert model.calls == 2


def test_a_problem_that_was_drawn_twice_serves_once() -> None:
    groups = [group("apples"), group("pears"), group("apples", 2), group("pears", 2), group("plums")]
    chosen = Screen(rollouts_of(Scripted(echo)), similarity(HashingEmbedder())).nearest("apples", groups)
    assert chosen[0] is groups[0]
    assert sorted(one.problem.id for one in chosen) == ["apples", "pears", "plums"]


def test_only_problems_whose_groups_were_mixed_serve(configured: Configured) -> None:
    run = train(configured(screen_answers=2, epochs=1, group_size=2))
    mixed, alike = set(), set()
    for path in run.folder.glob("epoch_0/step_*/rollout.jsonl"):
        rewards: dict[str, set[float]] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            found = json.loads(line)
            rewards.setdefault(found["problem"]["query"], set()).add(found["verdict"]["reward"])
        mixed |= {query for query, several in rewards.items() if len(several) > 1}
        alike |= {query for query, several in rewards.items() if len(several) == 1}
    with CallLog.open(run.folder / "calls.jsonl") as log:
        tried = {call.request.messages[-1].content for call in log if call.stage == "screen"}
    assert alike
    assert tried
    assert tried <= mixed
