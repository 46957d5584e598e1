"""The task families: the same seed gives the same problems, no part shares a question, and graders are exact."""

import re
from collections import Counter
from datetime import datetime
from random import Random

import pytest

from bench.tasks import FAMILIES
from bench.tasks.family import FULL, Family, Sizes, in_turn
from bench.tasks.grading import REWARD, score
from gym.core.operation import MAX_WORDS
from gym.core.problem import Problem
from gym.core.text import count_words
from gym.train.grpo.domains.columns import normalized

EVERY = pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
SEEDS = range(4)


def problems(family: Family, seed: int = 0) -> list[Problem]:
    return [problem for part in family.splits(seed) for problem in part]


@EVERY
def test_a_seed_gives_the_same_problems_and_another_one_others(family: Family) -> None:
    assert family.splits(3) == family.splits(3)
    assert {problem.query for problem in problems(family, 3)} != {problem.query for problem in problems(family, 4)}


@EVERY
def test_parts_have_their_sizes_and_share_no_question(family: Family) -> None:
    for seed in SEEDS:
        splits = family.splits(seed)
        assert tuple(map(len, splits)) == FULL
        asked = Counter(normalized(problem.query) for problem in problems(family, seed))
        assert asked.most_common(1)[0][1] == 1
        assert len({problem.id for problem in problems(family, seed)}) == sum(FULL)


@EVERY
def test_the_oracle_is_one_to_three_short_sentences_that_a_library_would_take(family: Family) -> None:
    assert 1 <= len(family.oracle) <= 3
    assert family.library.texts == family.oracle
    assert all(count_words(text) <= MAX_WORDS for text in family.oracle)


@EVERY
def test_problems_are_tagged_and_can_be_scored(family: Family) -> None:
    for problem in problems(family):
        assert problem.metadata == {"family": family.name, "rule": family.rule}
        assert REWARD.unscorable(problem) is None
        assert score(problem.ground_truth or "", problem.ground_truth or "").reward == 1.0


@EVERY
def test_no_question_holds_its_answer_with_its_marks_unless_the_answer_is_one_word(family: Family) -> None:
    """Otherwise the rule could be copied from the question."""
    for problem in problems(family):
        answer = problem.ground_truth or ""
        assert re.fullmatch(r"\w+", answer) or not re.search(rf"{re.escape(answer)}\b", problem.query)


@EVERY
def test_no_answer_is_more_than_half_of_a_part(family: Family) -> None:
    for part in family.splits(1):
        most = Counter(problem.ground_truth for problem in part).most_common(1)[0][1]
        assert most <= len(part) / 2


NEAR_MISSES = {
    "csv": ("1234, 5678,9012", "1234;5678;9012", "1234,5678", "5678,1234,9012"),
    "yes_no": ("yes", "Yes.", "No", "Yes, it is"),
    "dates": ("2019-4-7", "07-04-2019", "2019/04/07", "2019-07-04"),
    "sentiment": ("Positive", "positive.", "negative", "sentiment: positive"),
    "cash": ("46", "45.00", "45 euros", "45.93"),
    "units": ("66kg", "66 kilograms", "66 KG", "66", "66 kg."),
    "steps": ("sand > wash > pack", "Wash > Sand > Pack", "Sand > Wash", "Sand>Wash>Pack", "Sand > Wash > Pack."),
    "calls": ("25313", "office 91063", "office", "9106"),
}
RIGHT = {
    "csv": "1234,5678,9012", "yes_no": "Yes", "dates": "2019-04-07", "sentiment": "positive",
    "cash": "45", "units": "66 kg", "steps": "Sand > Wash > Pack", "calls": "91063",
}  # fmt: skip


@EVERY
def test_right_answers_are_accepted_and_near_misses_refused(family: Family) -> None:
    right = RIGHT[family.name]
    assert score(f" {right}\n", right).reward == 1.0
    assert [miss for miss in NEAR_MISSES[family.name] if score(miss, right).reward] == []


def test_feedback_tells_a_wrong_form_from_a_wrong_content() -> None:
    assert score("1234, 5678", "1234,5678").feedback.startswith("the content is right, its form is not: expected")
    assert score("1234, 5679", "1234,5678").feedback.startswith("wrong: expected '1234,5678', got '1234, 5679'")


def test_kinds_take_turns_and_nothing_is_drawn_twice() -> None:
    drawn = in_turn(Random(1), (range(20), range(100, 120)), 31)
    assert len(set(drawn)) == len(drawn) == 31
    assert [fact >= 100 for fact in drawn] == [place % 2 == 1 for place in range(31)]


MINUTES = {None: 0, "half": 30, "quarter": 15, "10": 10, "20": 20}
SYMBOLS = {"kilograms": "kg", "grams": "g", "metres": "m", "litres": "l", "kilometres": "km", "millimetres": "mm"}


def read(pattern: str, text: str) -> tuple[str, ...]:
    """The groups of the first match."""
    found = re.search(pattern, text)
    assert found, text
    return found.groups()


def expected(problem: Problem) -> str:
    """The answer by a second way: read from the question, with the rule written anew."""
    text = problem.query
    match problem.metadata["family"]:
        case "csv":
            return ",".join(re.findall(r"\d{4}", text))
        case "yes_no":
            return "No" if re.search(r" not |costs|only", text) else "Yes"
        case "dates":
            return datetime.strptime(" ".join(read(r"(\d+) ([A-Z]\w+) (\d{4})", text)), "%d %B %Y").date().isoformat()
        case "sentiment":
            return "negative" if re.search(r"pieces|regret|waste|Nobody|smells", text) else "positive"
        case "cash":
            return read(r"(\d+)\.\d\d", text)[0]
        case "units":
            number, word = read(r"(\d+) (\w+)", text)
            return f"{number} {SYMBOLS[word]}"
        case "steps":
            return " > ".join(word.capitalize() for word in re.findall(r"[a-z]+", text.partition(":")[2]))
        case "calls":
            return read(r"office (\d+)", text)[0]
    raise AssertionError(problem.metadata)


@EVERY
def test_answers_follow_the_rule_read_from_the_question_a_second_way(family: Family) -> None:
    for problem in problems(family, 2):
        assert problem.ground_truth == expected(problem), problem.query


def test_smaller_parts_are_cut_from_the_same_draw() -> None:
    assert tuple(map(len, FAMILIES["csv"].splits(0, Sizes(2, 3, 4)))) == (2, 3, 4)
