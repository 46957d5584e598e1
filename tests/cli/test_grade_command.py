"""`gym grade`: every row gets a result, an answer and a rule; bad rows are named (SPEC 4.1)."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def gym(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from gym.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=150, cwd=cwd)


def rows(path: Path, *records: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_rows_get_result_answer_and_rule_and_a_summary_counts_them(tmp_path: Path) -> None:
    rows(
        tmp_path / "answers.jsonl",
        {"id": "a", "gold": "25", "response": r"so \boxed{025}"},
        {"id": "b", "gold": 25, "response": "I think 24."},
        {"id": "c", "gold": "7", "response": ""},
        {"id": "d", "gold": "7", "response": r"\boxed{7}", "finish_reason": "length"},
        {"id": "e", "gold": "see figure", "response": "7"},
        {"id": "f", "gold": r"\cot x", "response": r"\boxed{\frac{1}{\tan x}}"},
        {"id": "g", "gold": r"25\%", "response": "25", "question": "What part?"},
    )
    done = gym("grade", "answers.jsonl", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert [(row["id"], row["result"], row["answer"], row["rule"]) for row in value["rows"]] == [
        ("a", "correct", "025", "integer"),
        ("b", "wrong", "24", "integer"),
        ("c", "no answer", None, ""),
        ("d", "truncated", None, ""),
        ("e", "error", None, "unscorable"),
        ("f", "correct", r"\frac{1}{\tan x}", "math-verify"),
        ("g", "wrong", "25", "percent"),
    ]
    assert value["summary"]["n"] == 7
    assert value["summary"]["results"] == {
        "correct": 2, "wrong": 2, "no answer": 1, "truncated": 1, "error": 1, "timeout": 0,
    }  # fmt: skip
    assert value["summary"]["rules"] == {"integer": 2, "unscorable": 1, "math-verify": 1, "percent": 1}


def test_people_get_a_table_and_one_sentence(tmp_path: Path) -> None:
    rows(tmp_path / "answers.jsonl", {"gold": "Paris", "response": "[paris]."}, {"gold": "x", "response": "y"})
    done = gym("grade", "answers.jsonl", "--reward", "normalized", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[paris]." in done.stdout
    assert "2 answers: 2 wrong; decided by normalized 2" in done.stderr
    rows(tmp_path / "answers.jsonl", {"gold": "x", "response": "x"})
    assert "1 answer: 1 correct" in gym("grade", "answers.jsonl", "--reward", "exact", cwd=tmp_path).stderr


def test_a_reward_of_ones_own_grades_and_one_that_hangs_times_out(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def score(output, ground_truth):\n    while output == 'stuck': pass\n    print('hello')\n    return 1.0\n"
    )
    rows(tmp_path / "answers.jsonl", {"gold": "1", "response": "stuck"}, {"gold": "1", "response": "fine"})
    done = gym("grade", "answers.jsonl", "--reward", "mine:score", "--timeout", "1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [row["result"] for row in json.loads(done.stdout)["rows"]] == ["timeout", "correct"]


def test_a_vote_is_refused_since_rows_are_graded_one_by_one(tmp_path: Path) -> None:
    rows(tmp_path / "answers.jsonl", {"gold": "1", "response": "2"})
    done = gym("grade", "answers.jsonl", "--reward", "majority_vote", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "gym: 'majority_vote' compares the answers to one question with each other; a file is graded" in done.stderr


def test_bad_rows_are_named_with_their_lines(tmp_path: Path) -> None:
    rows(tmp_path / "answers.jsonl", {"gold": "1", "response": "1"}, {"gold": "1"}, {"answer": "1"})
    done = gym("grade", "answers.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "gym: answers.jsonl: 2 malformed rows: line 2: no 'response'; line 3: no 'gold' and no 'response' "
        "(a row needs 'gold' and 'response')"
    ]


def test_an_unknown_reward_and_a_missing_file_are_one_line_each(tmp_path: Path) -> None:
    rows(tmp_path / "answers.jsonl", {"gold": "1", "response": "1"})
    unknown = gym("grade", "answers.jsonl", "--reward", "maths", cwd=tmp_path)
    missing = gym("grade", "answer.jsonl", cwd=tmp_path)
    assert (unknown.returncode, missing.returncode) == (2, 2)
    assert "did you mean 'math'" in unknown.stderr
    assert "did you mean 'answers.jsonl'" in missing.stderr
    folder = gym("grade", ".", cwd=tmp_path)
    assert (folder.returncode, folder.stderr) == (2, "gym: '.' is a folder: name a file\n")
    assert "Traceback" not in unknown.stderr + missing.stderr
