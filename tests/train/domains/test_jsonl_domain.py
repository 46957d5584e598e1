"""Bring your own data: formats, columns, and every bad row named with its line."""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.lib
import pyarrow.parquet
import pytest

from gym import plugins
from gym.errors import DataError, MissingExtra
from gym.train.grpo.domains.base import Domain, Loaded
from gym.train.grpo.domains.columns import require_ground_truth


def load(source: Path | str, **options: Any) -> Loaded:
    domain: Domain = plugins.resolve("domain", "jsonl")
    given = {"data_dir": "", "input_key": "", "answer_key": "", "truncate": None} | options
    return domain.load(str(source), **given)


def jsonl(folder: Path, *rows: object, name: str = "data.jsonl") -> Path:
    path = folder / name
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def pairs(loaded: Loaded) -> list[tuple[str, str | None]]:
    return [(problem.query, problem.ground_truth) for problem in loaded.problems]


TWO = [("What is 1+1?", "2"), ("What is 2+2?", "4")]


def test_jsonl_csv_tsv_json_and_parquet_give_the_same_problems(tmp_path: Path) -> None:
    records = [{"question": question, "answer": answer} for question, answer in TWO]
    jsonl(tmp_path, *records)
    (tmp_path / "data.json").write_text(json.dumps(records))
    (tmp_path / "data.csv").write_text("question,answer\n" + "".join(f"{q},{a}\n" for q, a in TWO))
    (tmp_path / "data.tsv").write_text("question\tanswer\n" + "".join(f"{q}\t{a}\n" for q, a in TWO))
    (tmp_path / "semi.csv").write_text("question;answer\n" + "".join(f"{q};{a}\n" for q, a in TWO))
    columns = {"question": [question for question, _ in TWO], "answer": [answer for _, answer in TWO]}
    pyarrow.parquet.write_table(pyarrow.lib.table(columns), tmp_path / "data.parquet")  # type: ignore[no-untyped-call]
    for name in ("data.jsonl", "data.json", "data.csv", "data.tsv", "semi.csv", "data.parquet"):
        assert pairs(load(tmp_path / name)) == TWO, name


@pytest.mark.parametrize("question", ["question", "Problem", "QUERY", " prompt ", "input"])
@pytest.mark.parametrize("answer", ["answer", "GroundTruth", "ground_truth", "Label", "output", "target"])
def test_usual_columns_are_recognised_in_any_case(tmp_path: Path, question: str, answer: str) -> None:
    assert pairs(load(jsonl(tmp_path, {question: "q", answer: "a", "level": 3}))) == [("q", "a")]


def test_other_columns_become_metadata(tmp_path: Path) -> None:
    (problem,) = load(jsonl(tmp_path, {"question": "q", "answer": "a", "level": 3, "tags": ["x"]})).problems
    assert problem.metadata == {"level": 3, "tags": ["x"]}


def test_keys_choose_other_columns(tmp_path: Path) -> None:
    path = jsonl(tmp_path, {"question": "no", "frage": "q", "antwort": "a"})
    assert pairs(load(path, input_key="frage", answer_key="antwort")) == [("q", "a")]
    with pytest.raises(
        DataError, match="--input-key 'fragen': there is no such column; found 'question', 'frage', 'antwort'"
    ):
        load(path, input_key="fragen")


def test_a_missing_or_ambiguous_column_lists_the_columns_and_the_option(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no question column among 'frage', 'answer'.*--input-key"):
        load(jsonl(tmp_path, {"frage": "q", "answer": "a"}))
    with pytest.raises(DataError, match=r"'question', 'prompt' could each be the question.*--input-key"):
        load(jsonl(tmp_path, {"question": "q", "prompt": "p", "answer": "a"}))
    with pytest.raises(DataError, match=r"'label', 'answer' could each be the answer.*--answer-key"):
        load(jsonl(tmp_path, {"question": "q", "label": "l", "answer": "a"}))


def test_answers_that_are_no_text_become_json_text(tmp_path: Path) -> None:
    answers = [7, 7.0, True, [1, "é"], {"b": 1}, -0.5]
    path = jsonl(tmp_path, *({"question": f"q{i}", "answer": answer} for i, answer in enumerate(answers)))
    assert [problem.ground_truth for problem in load(path).problems] == [
        "7",
        "7.0",
        "true",
        '[1, "é"]',
        '{"b": 1}',
        "-0.5",
    ]


def test_ids_are_the_rows_own_when_unique_and_else_stem_and_line(tmp_path: Path) -> None:
    own = jsonl(tmp_path, {"id": 5, "question": "a", "answer": 1}, {"id": "x", "question": "b", "answer": 1})
    assert [problem.id for problem in load(own).problems] == ["5", "x"]
    twice = jsonl(tmp_path, {"id": 5, "question": "a", "answer": 1}, "", {"id": 5, "question": "b", "answer": 1})
    loaded = load(twice)
    assert [problem.id for problem in loaded.problems] == ["data-1", "data-3"]
    assert "lines 1, 3 share the id '5'" in loaded.notes[0]


def test_malformed_rows_are_all_counted_and_the_first_named_with_their_lines(tmp_path: Path) -> None:
    good = {"question": "q", "answer": "a"}
    with pytest.raises(DataError) as caught:
        load(jsonl(tmp_path, good, "{oops", "[1]", '"text"', "NaN", *["}"] * 4))
    message = str(caught.value)
    assert "8 malformed rows" in message
    assert "line 2: not JSON" in message
    assert "line 3: expected an object, found a list" in message
    assert "line 4: expected an object, found a text" in message
    assert "and 3 more" in message
    (tmp_path / "bad.csv").write_text('question,answer\n"two\nlines",a\nq,a,extra\n')
    with pytest.raises(DataError, match=r"1 malformed row: line 4: 3 cells under 2 columns"):
        load(tmp_path / "bad.csv")


def test_empty_and_repeated_questions_are_dropped_and_their_lines_said(tmp_path: Path) -> None:
    loaded = load(
        jsonl(
            tmp_path,
            {"question": "Who?", "answer": "A"},
            {"question": "  ", "answer": "A"},
            {"question": "who ?", "answer": "A"},
            {"question": "When?", "answer": "now"},
            {"question": "when", "answer": "later"},
            {"question": None, "answer": "A"},
        )
    )
    assert pairs(loaded) == [("Who?", "A")]
    notes = " | ".join(loaded.notes)
    assert "lines 2, 6 without a question dropped" in notes
    assert "line 3 repeats line 1: dropped" in notes
    assert "lines 4, 5 ask the same question with different answers ('now', 'later'): all dropped" in notes


def test_missing_answers_are_named_and_fine_only_without_ground_truth(tmp_path: Path) -> None:
    some = load(jsonl(tmp_path, {"question": "a", "answer": "1"}, {"question": "b", "answer": None}, {"question": "c"}))
    assert [problem.ground_truth for problem in some.problems] == ["1", None, None]
    assert "lines 2, 3 without an answer" in some.notes[0]
    with pytest.raises(
        DataError, match=r"2 of 3 problems have no answer \(data-2, data-3\).*--answer-key.*use-groundtruth"
    ):
        require_ground_truth(some.problems)
    none = load(jsonl(tmp_path, {"question": "a", "reply": "1"}))
    assert none.problems[0].ground_truth is None
    assert "no answer column among 'question', 'reply'" in none.notes[0]
    require_ground_truth(some.problems[:1])


def test_empty_files_and_files_without_rows_say_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"the file is empty"):
        load(jsonl(tmp_path, "", "  "))
    (tmp_path / "header.csv").write_text("question,answer\n")
    with pytest.raises(DataError, match=r"no rows"):
        load(tmp_path / "header.csv")
    with pytest.raises(DataError, match=r"no problem is left; line 1 without a question dropped"):
        load(jsonl(tmp_path, {"question": "", "answer": "a"}))


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    (tmp_path / "bom.csv").write_bytes("\ufeffquestion,answer\r\nWho? é,A\r\n".encode())
    assert pairs(load(tmp_path / "bom.csv")) == [("Who? é", "A")]


def test_a_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("question,answer\nok,1\nGrüße,2\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"line 3 is not UTF-8"):
        load(tmp_path / "latin.csv")


def test_a_missing_file_names_the_nearest_one(tmp_path: Path) -> None:
    jsonl(tmp_path, {"question": "q", "answer": "a"})
    with pytest.raises(DataError, match=r"does not exist; did you mean 'data.jsonl'"):
        load(tmp_path / "dat.jsonl")
    (tmp_path / "data.xlsx").write_text("x")
    with pytest.raises(DataError, match=r"unknown format '.xlsx': expected .jsonl"):
        load(tmp_path / "data.xlsx")
    (tmp_path / "broken.parquet").write_text("x")
    with pytest.raises(DataError, match=r"not a Parquet file"):
        load(tmp_path / "broken.parquet")


def test_a_name_is_also_looked_for_below_the_data_dir(tmp_path: Path) -> None:
    jsonl(tmp_path, {"question": "q", "answer": "a"})
    assert pairs(load("data.jsonl", data_dir=str(tmp_path))) == [("q", "a")]


def test_a_hub_id_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"Hugging Face data set.*zoo-gym\[data\]"):
        load("nobody/nothing")


def test_truncate_takes_the_first_problems(tmp_path: Path) -> None:
    path = jsonl(tmp_path, *({"question": f"q{i}", "answer": i} for i in range(5)))
    assert [problem.query for problem in load(path, truncate=2).problems] == ["q0", "q1"]
