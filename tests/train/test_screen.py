"""Proposals are tried on problems that just taught something, each once."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from gym.config import RunConfig
from gym.core.chat import Message, Sampling
from gym.core.experience import Add, Keep, Library
from gym.core.operation import Evidence
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


def group(name: str, first: int = 0, rewards: Sequence[float] = (0.0, 1.0)) -> Group:
    problem = Problem(id=name, query=f"How many {name}?", ground_truth="1")
    answers = enumerate(rewards, start=first)
    rollouts = tuple(
        Rollout(
            problem=problem, index=index, trajectory=Trajectory(messages=(), output="x"), verdict=Verdict(reward=reward)
        )
        for index, reward in answers
    )
    return Group(problem=problem, rollouts=rollouts)


def rollouts_of(model: Scripted) -> RolloutManager:
    return RolloutManager(
        model, single_turn, resolve_reward("exact"), width=lambda: 1, sampling=Sampling(), group_size=1
    )


async def test_a_sentence_that_several_propose_is_tried_once_on_each_problem() -> None:
    model = Scripted(lambda messages, sampling: "1")
    screen = Screen(rollouts_of(model), similarity(HashingEmbedder()), answers=2)
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
    (tried,) = await Screen(rollouts_of(model), similarity(HashingEmbedder()), answers=2).tried(
        [critique], [group("apples")], library
    )
    assert tried.operations == (known, Keep())
    assert [item.operation for item in tried.rejected] == [new]
    assert tried.rejected[0].reason.startswith("tried on apples: mean reward 0.50 without it, 0.00 with it")
    assert model.calls == 2


async def test_in_a_race_the_better_half_goes_on_and_the_best_stay() -> None:
    asked: list[str] = []

    def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        (number,) = re.findall(r"say (\d+)", messages[0].content)
        asked.append(number)
        return "1" if int(number) >= (6 if sampling.sample < 2 else 7) else "0"

    groups = [group("apples"), group("pears")]
    says = tuple(Add(experience=f"When asked, say {number}.") for number in range(9))
    screen = Screen(rollouts_of(Scripted(reply)), similarity(HashingEmbedder()), answers=3, keep=1)
    (tried,) = await screen.tried([Critique(problem_id="apples", operations=says)], groups, Library())
    assert Counter(Counter(asked).values()) == {2 * 1: 4, 2 * 2: 2, 2 * 3: 3}
    assert tried.operations == (says[7],)
    reasons = {item.operation: item.reason for item in tried.rejected}
    assert reasons[says[8]].endswith("; only the best 1 of this step stay")
    assert "0.67 with it" in reasons[says[6]]
    assert reasons[says[0]].startswith("tried on apples, pears: mean reward 0.50 without it, 0.00 with it")


async def test_of_groups_seen_side_by_side_the_one_most_like_the_sentence_taught_it() -> None:
    asked: set[str] = set()

    def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        asked.add(messages[-1].content)
        return "1"

    groups = [group(name) for name in ("apples", "pears", "Cox apples", "Fuji apples", "Gala apples")]
    seen = Evidence(origin=("pears", "apples", "no problem of this step"))
    says = Add(experience="When asked how many apples there are, say 1.", evidence=seen)
    screen = Screen(rollouts_of(Scripted(reply)), similarity(HashingEmbedder()), answers=1)
    await screen.tried([Critique(problem_id="pears", operations=(says,))], groups, Library())
    assert len(asked) == 3
    assert all("apples" in question for question in asked)


async def test_of_near_copies_the_best_stays_and_leaves_its_place_to_another_rule() -> None:
    worse, better, other = (
        "When asked for the name of a fruit, write the name without a full stop.",
        "When asked for the name of a fruit, write the name without a full stop after it.",
        "When asked for the number of trees, begin with a capital.",
    )

    def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        all_right = better in messages[0].content
        return "1" if all_right or "plums" not in messages[-1].content else "0"

    groups = [group(name, rewards=(0.0, 0.0)) for name in ("apples", "pears", "plums")]
    says = tuple(Add(experience=text) for text in (worse, better, other))
    screen = Screen(rollouts_of(Scripted(reply)), similarity(HashingEmbedder()), answers=2, keep=2)
    (tried,) = await screen.tried([Critique(problem_id="apples", operations=says)], groups, Library())
    assert tried.operations == (says[1], says[2])
    assert tried.rejected[0].reason.endswith(
        "; nearly 'When asked for the name of a fruit, write the name without…', which stays"
    )


async def test_another_rules_sentence_stays_before_a_second_one_for_the_same_problems() -> None:
    names = [f"{kind} {fruit}" for fruit in ("apples", "plums") for kind in ("Cox", "Fuji", "Gala")]
    first, again, other = (
        "When asked how many apples there are, say 1.",
        "For apples of any sort, one is the number to write; nothing else.",
        "When asked how many plums there are, say 1.",
    )

    def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        system, question = messages[0].content, messages[-1].content
        lucky = "Gala" not in question or "plums" not in question
        return "1" if ("apples" in system) == ("apples" in question) and lucky else "0"

    groups = [group(name, rewards=(0.0, 0.0)) for name in names]
    says = tuple(Add(experience=text, evidence=Evidence(origin=(names[0], names[3]))) for text in (first, again, other))
    screen = Screen(rollouts_of(Scripted(reply)), similarity(HashingEmbedder()), answers=2, keep=2)
    (tried,) = await screen.tried([Critique(problem_id=names[0], operations=says)], groups, Library())
    assert tried.operations == (says[0], says[2])
    (rejected,) = tried.rejected
    assert "1.00 with it" in rejected.reason
    assert rejected.reason.endswith("; only the best 2 of this step stay")


async def test_a_near_copy_of_the_library_is_left_to_its_gate_untried() -> None:
    model = Scripted(echo)
    library = Library().minted("When asked for the name of a fruit, write the name without a full stop.").library
    copy = Add(experience="When asked for the name of a fruit, write the name without a full stop after it.")
    screen = Screen(rollouts_of(model), similarity(HashingEmbedder()), answers=2)
    (tried,) = await screen.tried([Critique(problem_id="apples", operations=(copy,))], [group("apples")], library)
    assert tried.operations == (copy,)
    assert model.calls == 0


@pytest.mark.parametrize(("gated", "kept"), [(False, []), (True, ["When asked, say 1.", "When asked, say 2."])])
async def test_where_a_gate_decides_the_doubtful_go_on_to_it(gated: bool, kept: list[str]) -> None:
    right = {"say 1": ("apples", "plums"), "say 2": ("apples", "pears"), "say 3": ()}

    def reply(messages: Sequence[Message], sampling: Sampling) -> str:
        (told,) = re.findall(r"say \d", messages[0].content)
        return "1" if any(name in messages[-1].content for name in right[told]) else "0"

    groups = [group("apples"), group("pears"), group("plums")]
    says = tuple(Add(experience=f"When asked, {what}.") for what in right)
    screen = Screen(rollouts_of(Scripted(reply)), similarity(HashingEmbedder()), answers=1, gated=gated)
    (tried,) = await screen.tried([Critique(problem_id="apples", operations=says)], groups, Library())
    assert [one.experience for one in tried.operations if isinstance(one, Add)] == kept


async def test_a_sentence_that_did_no_better_goes_to_no_gate() -> None:
    screen = Screen(rollouts_of(Scripted(lambda *_: "0")), similarity(HashingEmbedder()), answers=1, gated=True)
    (tried,) = await screen.tried(
        [Critique(problem_id="apples", operations=(Add(experience="When asked, say 0."),))],
        [group("apples")],
        Library(),
    )
    assert tried.operations == ()


def test_a_problem_that_was_drawn_twice_serves_once() -> None:
    groups = [group("apples"), group("pears"), group("apples", 2), group("pears", 2), group("plums")]
    chosen = Screen(rollouts_of(Scripted(echo)), similarity(HashingEmbedder()), answers=2).nearest("apples", groups)
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
