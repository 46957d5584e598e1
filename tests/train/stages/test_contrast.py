"""What a program tells the critic of two answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.core.problem import Problem
from gym.core.reflection import Studied, Summary
from gym.train.grpo.stages.contrast import difference, form, nearest_first
from gym.train.grpo.stages.prompts import CONTRASTS, EXAMPLES
from gym.train.grpo.stages.settings import ReflectionSettings
from gym.train.grpo.stages.small_critic import small_question

CONTRAST = ReflectionSettings(profile="small", contrast=True)


def studied(query: str, reference: str, *answers: tuple[str, float]) -> Studied:
    made = (
        Summary(problem_id="p", index=index, text=text, reward=reward, outcome="answered", output=text)
        for index, (text, reward) in enumerate(answers)
    )
    return Studied(Problem(id="p", query=query, ground_truth=reference), tuple(made))


def told(group: Studied, settings: ReflectionSettings = CONTRAST) -> list[str]:
    return small_question([group], settings).messages[-1].content.splitlines()


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("Yes", "yes", "only capital letters"),
        ("1,2", "1, 2", "only spaces"),
        ("Yes", "Yes.", "only punctuation"),
        ("A > B", "a>b.", "only capital letters and spaces and punctuation"),
        ("12 kg", "It weighs 12 kg.", 'the rejected one has "It weighs" before it and "." after it'),
        ("12", "12\nACCEPTED: 13", 'the rejected one has "ACCEPTED: 13" after it'),
        ("Yes", "Oh, yes, it is.", "capital letters, and the rejected one has more around it"),
        ("A", "Healthy.", ""),
        ("12", "120", ""),
        ("12", "12", ""),
        ("", "12", ""),
        ("12", "", ""),
    ],
)
def test_a_near_miss_is_told_by_what_makes_it_one(right: str, wrong: str, said: str) -> None:
    assert difference(right, wrong) == said


@pytest.mark.parametrize(
    ("query", "right", "slots"),
    [
        ("Take 12, 7 and 012.", "12,7", "<number>,<number>"),
        ("On 3 May 2026", "2026-05-03", "<number>-05-<number>"),
        ("Mix red with blue.", "red/blue", "<word>/<word>"),
        ("Call Anna or Ben.", "Ben", "<Word>"),
        ("Größe von Äpfeln?", "ÄPFELN", "<Word>, with a capital letter"),
        ("What is x²?", "x² + 1", "<word> + 1"),
        ("Say it.", "A long answer " * 20, ""),
        ("Say it twice.", "it\nit", ""),
    ],
)
def test_the_form_of_an_answer_has_slots_for_what_its_task_gives(query: str, right: str, slots: str) -> None:
    assert form(query, right) == slots


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    assert (difference(one, other) == "") or one != other
    assert sorted(nearest_first(one, [other, one])) == sorted([other, one])
    assert form(one, other) != other or not other


def test_a_near_miss_is_shown_with_its_difference_and_no_form() -> None:
    group = studied("Sand, paint.", "Sand > Paint", ("First you sand.", 0.0), ("sand > paint", 0.0))
    assert told(group)[1:4] == ["ACCEPTED: Sand > Paint", "REJECTED: sand > paint", "DIFFERENCE: only capital letters"]
    assert not any(line.startswith("FORM") for line in told(group))


def test_far_from_every_wrong_answer_the_form_is_shown() -> None:
    group = studied("Sand, paint.", "Sand > Paint", ("First you sand.", 0.0))
    assert told(group)[2] == "FORM: <Word> > <Word>, with a capital letter"


def test_without_the_reference_only_answers_are_compared() -> None:
    blind = CONTRAST.model_copy(update={"use_groundtruth": False})
    wrong = studied("Sand, paint.", "Sand > Paint", ("sand > paint", 0.0))
    mixed = studied("Sand, paint.", "Sand > Paint", ("sand > paint", 0.0), ("sand>paint", 1.0))
    assert told(wrong, blind) == ["TASK: Sand, paint.", "REJECTED: sand > paint"]
    assert told(mixed, blind)[1:] == ["ACCEPTED: sand>paint", "REJECTED: sand > paint", "DIFFERENCE: only spaces"]


def test_the_examples_have_the_lines_that_their_tasks_would_get() -> None:
    assert len(CONTRASTS) == len(EXAMPLES)
    for (tasks, _), (plain, _) in zip(CONTRASTS, EXAMPLES, strict=True):
        made = []
        for block in plain.split("\n\n"):
            query, right, wrong = (line.partition(": ")[2] for line in block.splitlines())
            made.append("\n".join(told(studied(query, right, (wrong, 0.0)))))
        assert tasks == "\n\n".join(made)
