"""The shipped demo data: reproducible, disjoint, balanced, and right by rules that are checked here a second way."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "support_desk"
SIZES = {"train": 24, "val": 24, "test": 48}
Row = dict[str, str]


def rows(split: str) -> list[Row]:
    return [json.loads(line) for line in (FOLDER / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()]


EVERYTHING = [row for split in SIZES for row in rows(split)]


def family(name: str) -> list[Row]:
    return [row for row in EVERYTHING if row["family"] == name]


def named(row: Row) -> str:
    return row["id"]


def test_making_the_data_again_gives_the_same_bytes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(FOLDER / "make_data.py"), str(tmp_path)], check=True)
    for split in SIZES:
        assert (tmp_path / f"{split}.jsonl").read_bytes() == (FOLDER / f"{split}.jsonl").read_bytes()


@pytest.mark.parametrize("split", SIZES)
def test_every_split_has_its_size_and_balanced_families(split: str) -> None:
    counts = Counter(row["family"] for row in rows(split))
    assert counts == dict.fromkeys(("csv", "time", "sentiment", "yes_no"), SIZES[split] // 4)
    assert all(set(row) == {"id", "family", "question", "answer"} for row in rows(split))


def test_no_question_and_no_id_occurs_twice() -> None:
    texts = [" ".join(re.findall(r"\w+", row["question"].lower())) for row in EVERYTHING]
    assert len(set(texts)) == len(texts) == 96
    assert len({row["id"] for row in EVERYTHING}) == 96


def test_no_message_or_policy_is_shared_between_splits() -> None:
    """Wordings are shared between splits, what they hold is not."""
    held = {split: {content(row) for row in rows(split) if row["family"] in ("sentiment", "yes_no")} for split in SIZES}
    assert sum(map(len, held.values())) == 48
    assert len(set.union(*held.values())) == 48


def content(row: Row) -> str:
    """The customer's message or the policy, without the wording around it."""
    text = row["question"]
    if row["family"] == "yes_no":
        return text.removeprefix("Policy: ").split(".")[0]
    return text.split('"')[1] if '"' in text else text.split("\n")[0]


def test_questions_are_short() -> None:
    assert max(len(row["question"].split()) for row in EVERYTHING) < 60


@pytest.mark.parametrize("row", family("csv"), ids=named)
def test_csv_answers_are_the_named_values_in_order(row: Row) -> None:
    message = row["question"].split(": ", 1)[1]
    found = re.search(r"([a-z]+|\d+), ([a-z]+|\d+) and ([a-z]+|\d+)[ .?]", message)
    assert found is not None
    assert row["answer"] == ",".join(found.groups())
    assert len(set(found.groups())) == 3


CLOCK = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
WORDS = dict(zip(CLOCK, range(1, 13), strict=True))
TIME = re.compile(
    r"(?:(?P<lead>half|five|ten|twenty) past )?(?P<hour>\d+|[a-z]+)(?: o'clock)? in the (?P<part>morning|afternoon|evening)"
)


@pytest.mark.parametrize("row", family("time"), ids=named)
def test_times_are_h_mm_with_am_or_pm(row: Row) -> None:
    found = TIME.search(row["question"])
    assert found is not None
    hour = int(found["hour"]) if found["hour"].isdigit() else WORDS[found["hour"]]
    minute = {None: 0, "half": 30, "five": 5, "ten": 10, "twenty": 20}[found["lead"]]
    half = "AM" if found["part"] == "morning" else "PM"
    assert row["answer"] == f"{hour}:{minute:02d} {half}"
    on_24 = hour if half == "AM" else hour + 12
    assert on_24 in {"morning": range(5, 12), "afternoon": range(12, 18), "evening": range(18, 23)}[found["part"]]


PLEASED = re.compile(r"kind|nicer|Thank|thanks|Best|pleasant|helpful|delighted|Great|wonderful|friendly|happy")
UPSET = re.compile(r"Nobody|broken|tired|pieces|awful|angry|waste|rude|regret|scared|never came|worst")


@pytest.mark.parametrize("row", family("sentiment"), ids=named)
def test_sentiments_are_one_lower_case_word_and_fit_the_message(row: Row) -> None:
    pleased, upset = bool(PLEASED.search(row["question"])), bool(UPSET.search(row["question"]))
    assert not (pleased and upset)
    assert row["answer"] == ("positive" if pleased else "negative" if upset else "neutral")


NEGATED = re.compile(r"\b(not|no|never|cannot|closed|no longer|costs)\b")


@pytest.mark.parametrize("row", family("yes_no"), ids=named)
def test_yes_and_no_are_capitalised_bare_and_fit_the_policy(row: Row) -> None:
    assert row["answer"] == ("No" if NEGATED.search(content(row)) else "Yes")


def test_no_question_states_its_rule() -> None:
    told = re.compile(r"\b(AM|PM|lower-?case|capital\w*|full stop|spaces?)\b")
    assert [row["question"] for row in EVERYTHING if told.search(row["question"])] == []


@pytest.mark.parametrize("split", SIZES)
def test_no_label_is_the_answer_to_all_of_a_family(split: str) -> None:
    answers = Counter(row["answer"] for row in rows(split))
    assert min(answers[label] for label in ("Yes", "No", "positive", "negative")) >= 1
