"""`gym data check`: which problems of one set are in another too, and exit codes that a script can rely on."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HENS = "A farmer has twelve hens, every hen lays three eggs in two days. How many eggs are laid in the four weeks of February?"
TRAIN = [
    {"id": "t1", "problem": HENS, "answer": "504"},
    {
        "id": "t2",
        "problem": "Write $\x0crac{6}{4}$ in lowest terms as a fraction; what is its numerator?",
        "answer": "003",
    },
    {"id": "t3", "problem": "In the figure, a square has the side $7$. What is its area?", "answer": "49"},
]
TEST = [
    {"question": f"Solve this: {HENS.upper()}", "answer": 504, "id": "e1"},
    {"question": "What is 5 + 5?", "answer": 10, "id": "e2"},
]


def gym(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from gym.cli.main import main; main()", "data", "check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=150, cwd=cwd)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_an_overlap_is_listed_by_ids_and_ends_with_1(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", TRAIN)
    write(tmp_path / "test.jsonl", TEST)
    done = gym("train.jsonl", "test.jsonl", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    first, last = done.stdout.splitlines()
    assert first.split()[0] == "100%"
    assert "t1 = e1" in first
    assert last.startswith("1 of 3 problems of train.jsonl share 50% of the text")


def test_json_holds_both_shares_and_every_repair_by_id(tmp_path: Path) -> None:
    write(tmp_path / "dapo_math.jsonl", TRAIN)
    write(tmp_path / "test.jsonl", TEST)
    done = gym("dapo_math", "test.jsonl", "--data-dir", str(tmp_path), "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    value = json.loads(done.stdout)
    ((pair),) = value["pairs"]
    assert (pair["a"], pair["b"], pair["a_in_b"]) == ("t1", "e1", 1.0)
    assert 0.8 < pair["b_in_a"] < 1.0
    assert (value["threshold"], value["shingle"]) == (0.5, 50)
    counts = {key: value["a"][key] for key in ("set", "problems", "shared", "needs_figure")}
    assert counts == {"set": "dapo_math", "problems": 3, "shared": 1, "needs_figure": 1}
    assert list(value["a"]["repaired"]) == ["t2"]
    assert len(value["a"]["repaired"]["t2"]) == 2


def test_no_overlap_ends_with_0_and_says_so(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", TRAIN)
    write(tmp_path / "test.jsonl", TEST[1:])
    done = gym("train.jsonl", "test.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("no overlap: none of 3 problems of train.jsonl")


def test_a_higher_threshold_forgives_more(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", [{"question": f"{HENS[:70]} and that is all there is to know?", "answer": 1}])
    write(tmp_path / "test.jsonl", [{"question": HENS, "answer": 504}])
    assert gym("train.jsonl", "test.jsonl", "--threshold", "0.1", cwd=tmp_path).returncode == 1
    assert gym("train.jsonl", "test.jsonl", "--threshold", "0.9", "--domain", "jsonl", cwd=tmp_path).returncode == 0


def test_an_unknown_set_is_one_line_and_another_exit_code(tmp_path: Path) -> None:
    done = gym("amie24", "aime25", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("gym: unknown problem set 'amie24': did you mean 'aime24'?")
    assert done.stderr.count("\n") == 1
