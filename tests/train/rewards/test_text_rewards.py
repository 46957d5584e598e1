"""Rewards that compare texts: exact, normalized, regex, numeric, json; and what all of them do with thoughts and silence."""

import importlib
import inspect
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gym.core.problem import Failure, Problem, Reward, Trajectory, Verdict
from gym.errors import ConfigError
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.rewards.answers import final_text
from gym.train.grpo.rewards.base import Score, TextReward
from gym.train.grpo.rewards.json import last_value
from gym.train.grpo.rewards.workers import Workers


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(1, limit_s=1.0) as pool:
        yield pool


def problem(gold: str | None) -> Problem:
    return Problem(id="p", query="?", ground_truth=gold)


def said(output: str, finish_reason: str = "stop") -> Trajectory:
    return Trajectory(messages=(), output=output, finish_reason=finish_reason)


async def verdict(name: str, gold: str, output: str, finish_reason: str = "stop") -> Verdict:
    (found,) = await resolve_reward(name)(problem(gold), [said(output, finish_reason)])
    assert isinstance(found, Verdict)
    return found


@pytest.mark.parametrize(
    ("name", "gold", "output", "reward"),
    [
        ("exact", "3:05 PM", " 3:05 PM\n", 1.0),
        ("exact", "3:05 PM", "3:05 pm", 0.0),
        ("exact", "9", "<think>7, no</think>9", 1.0),
        ("normalized", "New York", "  **new   york.** ", 1.0),
        ("normalized", "New York", "Ｎew York", 1.0),
        ("normalized", "-5", "5", 0.0),
        ("normalized", "C", "C++", 0.0),
        ("numeric", "7", "could be 17, 27 or 70", 0.0),
        ("numeric", "70", "could be 17, 27 or 70", 0.0),
        ("numeric", "7", "It takes 7 days.", 1.0),
        ("numeric", "12", "3 * 4 = 12", 1.0),
        ("numeric", "12", "There are 3 rows of 4, 12 in all", 0.0),
        ("numeric", "12", "There are 3 rows of 4. The answer is 12.", 1.0),
        ("numeric", "1200.5", "$1,200.50", 1.0),
        ("numeric", "0.3333333333", "1/3", 1.0),
        ("numeric", "1000000", "1000000.5", 1.0),
        ("numeric", "1000000", "1000002", 0.0),
        ("numeric", "0", "1e-10", 1.0),
        ("numeric", "7", "seventeen", 0.0),
        ("numeric", "2", r"\boxed{3} wait, no: \boxed{2}", 1.0),
        ("numeric", "-3", "−3", 1.0),
        ("numeric", "5", "nan", 0.0),
        ("json", '{"a": 1, "b": [true]}', 'Sure: {"a": 2}\n```json\n{"b": [true], "a": 1.0}\n```', 1.0),
        ("json", '{"a": 1}', '{"a": true}', 0.0),
        ("json", "[1, 2]", "[2, 1]", 0.0),
        ("json", "7", "7.0", 1.0),
        ("json", '{"a": 1}', "no object here", 0.0),
    ],
)
async def test_the_reward_is(name: str, gold: str, output: str, reward: float) -> None:
    assert (await verdict(name, gold, output)).reward == reward


async def test_feedback_names_what_was_expected_and_what_came() -> None:
    assert (await verdict("exact", "3:05 PM", "15:05")).feedback == "expected '3:05 PM', got '15:05'"
    assert (await verdict("json", '{"a": [1, 2]}', '{"a": [1, 3]}')).feedback == "at $.a[1] expected 2, got 3"
    assert "several numbers" in (await verdict("numeric", "7", "17, 27 or 70")).feedback


@pytest.mark.parametrize("name", ["exact", "normalized", "numeric", "json", "regex", "math", "majority_vote"])
@pytest.mark.parametrize(
    ("output", "finish_reason", "why"),
    [
        ("", "stop", "empty"),
        ("4", "length", "token limit"),
        ("<think> maybe 4", "stop", "nothing follows the thoughts"),
        (r"<think> maybe \boxed{4}", "length", "token limit"),
    ],
)
async def test_no_answer_is_zero_with_its_reason(name: str, output: str, finish_reason: str, why: str) -> None:
    found = await verdict(name, "4", output, finish_reason)
    assert found.reward == 0.0
    assert found.answer is None
    assert found.feedback.startswith("no answer: ")
    assert why in found.feedback


def test_only_what_follows_the_last_closed_thought_counts() -> None:
    assert final_text(r"2+2 is 4 then… \boxed{9}</think>The answer is \boxed{4}") == r"The answer is \boxed{4}"
    assert final_text("<think>a</think>b<think>c</think>d") == "d"
    assert final_text("a<think>b") == "a"


async def test_a_regex_must_match_the_whole_text(workers: Workers) -> None:
    reward = resolve_reward("regex", workers=workers)
    verdicts = await reward(problem(r"0?3:05 ?(am|pm)"), [said(" 3:05 pm "), said("at 3:05 pm")])
    assert [found.reward for found in verdicts if isinstance(found, Verdict)] == [1.0, 0.0]


async def test_a_regex_that_runs_for_ever_fails_and_the_worker_is_replaced(workers: Workers) -> None:
    reward = resolve_reward("regex", workers=workers)
    hung, fine = await reward(problem(r"(a|aa)+b|x"), [said("a" * 60), said("x")])
    assert isinstance(hung, Failure)
    assert hung.type == "Timeout"
    assert isinstance(fine, Verdict)
    assert fine.reward == 1.0


@pytest.mark.parametrize(
    ("name", "gold", "reason"),
    [
        ("exact", None, "no ground truth"),
        ("normalized", " ", "no ground truth"),
        ("numeric", "see figure", "no number"),
        ("json", "{oops", "no JSON"),
        ("regex", "(", "no regular expression"),
        ("math", "see figure", "no mathematical answer"),
        ("judge", None, "no ground truth"),
    ],
)
def test_a_gold_that_cannot_be_read_is_unscorable(name: str, gold: str | None, reason: str) -> None:
    said_why = resolve_reward(name).unscorable(problem(gold))
    assert said_why is not None
    assert reason in said_why


@pytest.mark.parametrize(
    ("name", "gold"),
    [
        ("exact", "x"),
        ("numeric", "1,234"),
        ("json", "null"),
        ("regex", "a+"),
        ("math", r"\text{Evelyn}"),
        ("math", "025"),
    ],
)
def test_a_gold_that_can_be_read_is_scorable(name: str, gold: str) -> None:
    assert resolve_reward(name).unscorable(problem(gold)) is None


def test_an_unknown_reward_names_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match="unknown reward 'numerc': did you mean 'numeric'"):
        resolve_reward("numerc")


def test_every_built_in_reward_resolves() -> None:
    names = ("exact", "normalized", "regex", "numeric", "json", "math", "judge", "majority_vote")
    rewards: list[Reward] = [resolve_reward(name) for name in names]
    assert all(callable(reward) for reward in rewards)


def where(text: str, ground_truth: str) -> Verdict:
    """A score that says in which process it was made."""
    return Verdict(reward=1.0, feedback=str(os.getpid()))


async def scored_in(reward: TextReward, output: str) -> int:
    (found,) = await reward(problem("7"), [said(output)])
    assert isinstance(found, Verdict)
    return int(found.feedback)


@pytest.fixture
def where_in_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Score:
    """The same function under a name that a worker can import."""
    source = "import os\nfrom gym.core.problem import Verdict\n" + inspect.getsource(where)
    (tmp_path / "whereabouts.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    score: Score = importlib.import_module("whereabouts").where
    return score


async def test_a_short_text_is_scored_here_and_one_of_five_megabytes_in_a_worker(where_in_a_module: Score) -> None:
    with Workers(1) as pool:
        reward = TextReward(where_in_a_module, workers=pool)
        assert await scored_in(reward, "7") == os.getpid()
        assert await scored_in(reward, "x" * 5_000_000) != os.getpid()


async def test_a_score_that_may_hang_never_runs_here(where_in_a_module: Score) -> None:
    with Workers(1) as pool:
        assert await scored_in(TextReward(where_in_a_module, short=-1, workers=pool), "7") != os.getpid()


async def test_a_group_is_scored_in_order_wherever_each_text_is_read(workers: Workers) -> None:
    outputs = ["7", "x" * 20_000, "", "<think>7</think>", "8", " " * 20_000 + "7"]
    found = await resolve_reward("exact", workers=workers)(problem("7"), [said(output) for output in outputs])
    assert [item.reward if isinstance(item, Verdict) else None for item in found] == [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("name", ["exact", "normalized", "numeric", "json", "regex", "majority_vote"])
async def test_nothing_after_the_thoughts_is_no_answer_in_words(name: str, workers: Workers) -> None:
    (found,) = await resolve_reward(name, workers=workers)(problem("7"), [said("<think>7</think> ")])
    assert found == Verdict(reward=0.0, feedback="no answer: nothing follows the thoughts")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"\[x\] and {see} " * 5_000 + '{"a": 1}', {"a": 1}),
        ("[" * 50_000, ...),
        ('{"a":' * 10_000, ...),
        ("[1, 2, [3]", [3]),
        ("{ } then [ ]", []),
    ],
)
def test_the_last_json_value_is_found_among_brackets_that_open_none(text: str, value: object) -> None:
    assert last_value(text) == value
