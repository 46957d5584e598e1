"""The web rewards: parts in order, forms in words or figures, and a judge that only looks at what does not match."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.core.chat import Message, Sampling
from gym.core.problem import Failure, Problem, Trajectory, Verdict
from gym.errors import ConfigError
from gym.llm.scripted import Reply, Scripted
from gym.train.grpo.domains.web.parts import same, split
from gym.train.grpo.domains.web.verify import stated
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.rewards.grading import grades

INDEX = ("GIN; 4MB", "GIN, four megabytes")
DAYS = "Which came first, and how many days apart were those releases?"


def problem(*accepted: str, query: str = "Which?", **metadata: Any) -> Problem:
    return Problem(id="p", query=query, ground_truth=accepted[0], metadata={"accept": list(accepted[1:]), **metadata})


def said(text: str) -> Trajectory:
    return Trajectory(messages=(), output=text)


@pytest.mark.parametrize(
    ("given", "accepted", "question"),
    [
        ("GIN; 4 MB", INDEX, ""),
        ("gin and four megabytes", INDEX, ""),
        ("the `GIN` index; 4MB", ("GIN index; 4MB",), ""),
        ("GIN; four megabytes", INDEX, ""),
        ("SQLite, 400", ("SQLite, by 400", "SQLite; 400"), ""),
        ("UPSERT; 103", ("UPSERT; 103 days",), DAYS),
        ("UPSERT; 103 days", ("UPSERT; 103",), DAYS),
        ("1,988", ("1988",), ""),
        ("1988.0", ("1988",), ""),
        ("twenty-one", ("21",), ""),
        ("5 dollars", ("$5",), ""),
        ("50 percent", ("50 %",), ""),
        ("Anna Holt, March 12th, 2021", ("Anna Holt; 12 March 2021",), ""),
        ("2021-03-12", ("12 March 2021",), ""),
        ("Dec. 2022", ("December 2022",), ""),
        ("IAG", ("International Association of Geodesy (IAG)",), ""),
        ("30 (WARNING)", ("30",), ""),
        ("emile zola", ("Émile Zola",), ""),
        ("Smith & Sons", ("Smith and Sons",), ""),
        ("U.S.A.", ("USA",), ""),
        ("Yes, it does.", ("yes",), ""),
        ("Yes, there is no limit", ("yes",), ""),
        ("4MB (4 MB)", ("4MB",), ""),
        ("4MB (4096 kB)", ("4MB",), ""),
        ("G\u200bIN", ("GIN",), ""),
        ("国家级一流本科课程。", ("国家级一流本科课程",), ""),
    ],
)
def test_these_are_the_same(given: str, accepted: Sequence[str], question: str) -> None:
    assert same(given, accepted, question).equal


@pytest.mark.parametrize(
    ("given", "accepted", "question"),
    [
        ("4MB; GIN", INDEX, ""),
        ("GIN; 64MB", INDEX, ""),
        ("GIN; 4", INDEX, "how large?"),
        ("GIN", INDEX, ""),
        ("GIN; 4MB; GiST", INDEX, ""),
        ("GIN (or GiST); 4MB", INDEX, ""),
        ("3.1", ("3.10",), ""),
        ("5 million", ("5",), "how many million?"),
        ("12 March 2022", ("12 March 2021",), ""),
        ("Anna", ("Anna Holt",), ""),
        ("no", ("yes",), ""),
        ("yes or no", ("yes",), ""),
        ("Yes? No.", ("yes",), ""),
        ("4MB (64MB)", ("4MB",), ""),
        ("G\u0406N", ("GIN",), ""),
        ("かき", ("がき",), ""),
        ("", ("x",), ""),
        ("Holt " * 300, ("Holt",), ""),
        (f"Holt ({'so they say ' * 90})", ("Holt",), ""),
    ],
)
def test_these_are_not_the_same(given: str, accepted: Sequence[str], question: str) -> None:
    assert not same(given, accepted, question).equal


WORDS = st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), max_size=30)


@given(WORDS)
def test_an_answer_is_itself_whatever_stands_around_it(text: str) -> None:
    assert same(f" **{text}**\n", (text,)).equal


@given(
    st.lists(
        st.sampled_from(["Halden", "1 May 2020", "4 MB", "1,988", "Nora Lind", "O'Brien-Moss"]), min_size=1, max_size=4
    )
)
def test_an_answer_is_the_same_as_itself_and_comes_apart_as_it_was_joined(parts: list[str]) -> None:
    joined = "; ".join(parts)
    assert split(joined, len(parts)) == tuple(parts)
    assert same(joined, (joined,)).equal


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I read two pages.\n\nAnswer: St. John; 4MB", "St. John; 4MB"),
        ("Answer: maybe GiST\nNo.\n**Answer:** GIN; 4MB", "GIN; 4MB"),
        ("## Final answer: **GIN**", "GIN"),
        ("Answer:\n1. GIN\n2. 4MB\n\nSource: the manual", "GIN\n4MB"),
        ("The answer is GIN.", "GIN"),
        ("答案：石墨烯", "石墨烯"),
        ("just GIN", "just GIN"),
        ("\n" * 50_000 + "Answer: GIN", "GIN"),
        ("-\n" * 25_000 + "GIN", "GIN"),
    ],
)
def test_the_stated_answer_is(text: str, answer: str) -> None:
    assert stated(text) == answer


async def verdict(reward: str, output: str, judge: Scripted | None = None) -> Verdict | Failure:
    (found,) = await resolve_reward(reward, judge=judge)(problem(*INDEX), [said(output)])
    return found


async def test_the_feedback_names_the_parts_that_are_wrong() -> None:
    found = await verdict("web", "Answer: GIN; 64MB")
    assert isinstance(found, Verdict)
    assert (found.reward, found.answer) == (0.0, "GIN; 64MB")
    assert found.feedback == "expected 'GIN; 4MB', got 'GIN; 64MB'; of 2 parts wrong: 2"


@pytest.mark.parametrize("output", ["", "<think>GIN; 4MB</think>"])
async def test_what_states_nothing_scores_0_and_asks_no_judge(output: str) -> None:
    model = Scripted(lambda messages, sampling: "GRADE: CORRECT")
    found = await verdict("web_judge", output, model)
    assert isinstance(found, Verdict)
    assert (found.reward, model.calls) == (0.0, 0)


@pytest.mark.parametrize(
    ("reply", "reward"),
    [("It is incorrect? No.\nGrade: CORRECT", 1.0), ("grade: correct\nbut wait\ngrade: incorrect", 0.0)],
)
async def test_a_judge_has_the_last_word_on_what_does_not_match_and_sees_the_accepted_forms(
    reply: str, reward: float
) -> None:
    seen: list[str] = []

    def judge(messages: Sequence[Message], sampling: Sampling) -> Reply:
        seen.append(messages[-1].content)
        return reply

    found = await verdict("web_judge", "Answer: an inverted index of 4096 kB", Scripted(judge))
    assert isinstance(found, Verdict)
    assert (found.reward, found.answer) == (reward, "an inverted index of 4096 kB")
    assert "GIN; 4MB (accepted as well: GIN, four megabytes)" in seen[0]
    assert "BEGIN CANDIDATE ANSWER\nAnswer: an inverted index" in seen[0]


async def test_matching_parts_ask_no_judge() -> None:
    model = Scripted(lambda messages, sampling: "GRADE: INCORRECT")
    found = await verdict("web_judge", "Answer: GIN; 4MB", model)
    assert isinstance(found, Verdict)
    assert (found.reward, model.calls) == (1.0, 0)


async def test_a_grade_that_cannot_be_read_is_a_failure_and_never_a_0() -> None:
    found = await verdict("web_judge", "Answer: GiST", Scripted(lambda messages, sampling: "Hard to say."))
    assert isinstance(found, Failure)
    assert (found.boundary, found.type) == ("reward", "UnreadableVerdict")


async def test_each_grade_names_what_decided() -> None:
    reward = resolve_reward("web_judge", judge=Scripted(lambda messages, sampling: "GRADE: CORRECT"))
    found = await grades(reward, "", problem(*INDEX), [said("Answer: GIN; 4MB"), said("Answer: GiST")])
    assert [(grade.result, grade.rule) for grade in found] == [("correct", "parts"), ("correct", "judge")]


async def test_a_judge_without_a_model_says_so_when_asked() -> None:
    with pytest.raises(ConfigError, match="--judge-model"):
        await verdict("web_judge", "Answer: GiST")


def test_a_problem_without_an_answer_is_unscorable() -> None:
    assert resolve_reward("web").unscorable(Problem(id="p", query="Which?")) is not None
