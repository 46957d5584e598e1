"""Named problem sets: found, repaired, filtered, and every change told."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gym import plugins
from gym.errors import DataError
from gym.train.grpo.domains.base import Domain, Loaded
from gym.train.grpo.domains.math.dataset import same_question

DAPO: list[dict[str, Any]] = [
    {"id": "d0", "problem": "Write it as \x0crac{m}{n}.", "answer": "7"},
    {"id": "d1", "problem": "How many $n$?", "answer": "025"},
    {"id": "d2", "problem": "How many \\( n \\)", "answer": 25},
    {"id": "d3", "problem": "Find $S+T$.", "answer": "1,024"},
    {"id": "d4", "problem": "Find $S + T$", "answer": "1023"},
    {"id": "d5", "problem": "Asked twice.", "answer": "6", "answer_conflict": True},
    {"id": "d6", "problem": "asked  twice", "answer": "8"},
    {"id": "d7", "problem": "In the figure, find $x$.", "answer": "3"},
    {"id": "d8", "problem": "求 $x$ 的值。", "answer": "4"},
]


def write(folder: Path, name: str, *rows: dict[str, Any]) -> Path:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def load(source: str, data_dir: Path | str = "", truncate: int | None = None) -> Loaded:
    domain: Domain = plugins.resolve("domain", "math")
    return domain.load(source, data_dir=str(data_dir), input_key="", answer_key="", truncate=truncate)


def ids(loaded: Loaded) -> list[str]:
    return [problem.id for problem in loaded.problems]


def competition(folder: Path, first: int, last: int) -> Path:
    rows = (
        {"id": f"aime-{year}-{n}", "problem": f"Find $n^{{{year}}} + {n}$.", "answer": "012", "year": year}
        for year in range(first, last + 1)
        for n in range(5)
    )
    return write(folder, f"aime_{first}_{last}.jsonl", *rows)


def test_damage_is_repaired_and_every_kind_is_told_with_the_problems_id(tmp_path: Path) -> None:
    loaded = load("dapo_math", write(tmp_path, "dapo_math_17k.jsonl", *DAPO))
    found = {problem.id: problem for problem in loaded.problems}
    assert found["d0"].query == r"Write it as \frac{m}{n}."
    assert found["d1"].ground_truth == "25"
    assert [len(found[name].metadata.get("repaired", ())) for name in ("d0", "d1", "d7")] == [1, 1, 0]
    notes = "\n".join(loaded.notes)
    assert "without its backslash (as \\frac after a form feed was read): repaired in 1 problem (d0)" in notes
    assert "(as 025, 1,000 or 12.0): repaired in 1 problem (d1)" in notes


def test_one_of_equal_questions_is_kept_and_of_two_answers_none_each_named(tmp_path: Path) -> None:
    loaded = load("dapo_math", write(tmp_path, "dapo_math_17k.jsonl", *DAPO))
    assert ids(loaded) == ["d0", "d1", "d7", "d8"]
    notes = "\n".join(loaded.notes)
    assert "line 3 repeats line 2: dropped" in notes
    assert "lines 4, 5 (d3, d4) ask the same question with different answers ('1024', '1023'): all dropped" in notes
    assert "2 problems whose source gives the text two answers: dropped (d5, d6)" in notes


def test_figures_are_counted_and_kept_or_dropped_as_asked(tmp_path: Path) -> None:
    write(tmp_path, "dapo_math_17k.jsonl", *DAPO)
    kept = load("dapo_math", tmp_path)
    assert [problem.id for problem in kept.problems if problem.metadata["needs_figure"]] == ["d7"]
    assert any("1 of 4 problems draw or name a figure: kept" in note for note in kept.notes)
    dropped = load("dapo_math:no_figures", tmp_path)
    assert ids(dropped) == ["d0", "d1", "d8"]
    assert any("1 of 4 problems left out: with a figure" in note for note in dropped.notes)
    flagged = write(tmp_path, "aime25.jsonl", {"problem": "Find $x$.", "answer": 1, "needs_figure": True})
    assert load("aime25", flagged).problems[0].metadata["needs_figure"] is True


def test_a_language_can_be_chosen(tmp_path: Path) -> None:
    write(tmp_path, "dapo_math_17k.jsonl", *DAPO)
    assert ids(load("dapo_math:zh", tmp_path)) == ["d8"]
    assert ids(load("dapo-math:EN,no_figures", tmp_path)) == ["d0", "d1"]


def test_years_come_from_the_narrowest_file_that_holds_them_all(tmp_path: Path) -> None:
    competition(competition(tmp_path, 1998, 2001), 2000, 2001)
    assert ids(load("aime:2001", tmp_path)) == [f"aime-2001-{n}" for n in range(5)]
    assert any(note.startswith("aime_2000_2001.jsonl:") for note in load("aime:2001", tmp_path).notes)
    assert len(load("aime:1999-2000", tmp_path).problems) == 10
    with pytest.raises(DataError, match=r"put aime_1990_2000\.jsonl"):
        load("aime:1990-2000", tmp_path)


def test_a_file_without_years_in_its_name_is_filtered_and_must_have_the_years(tmp_path: Path) -> None:
    rows = [
        {"ID": f"{year}-I-1", "Question": f"Find ${year}$.", "Answer": "7", "Year": year} for year in (1990, 2003, 2024)
    ]
    write(tmp_path, "AIME.jsonl", *rows)
    assert ids(load("aime", tmp_path)) == ["1990-I-1", "2003-I-1"], "later years are for tests"
    assert ids(load("aime:2003", tmp_path)) == ["2003-I-1"]
    with pytest.raises(DataError, match=r"no problem of 2010-2020: its years are 1990-2024"):
        load("aime:2010-2020", tmp_path)
    write(tmp_path, "aime.jsonl", {"id": "x", "problem": "Find $x$.", "answer": "1"})
    (tmp_path / "AIME.jsonl").unlink()
    with pytest.raises(DataError, match=r"1 problem has no year \(x\), so 2010-2020 cannot be chosen"):
        load("aime:2010-2020", tmp_path)


def test_a_set_in_another_wording_is_another_file(tmp_path: Path) -> None:
    write(tmp_path, "aime_2024.jsonl", {"problem": "Find $n$.", "answer": "025"})
    write(tmp_path, "aime_2024_h4.jsonl", {"problem": "What is $n$?", "answer": "025"})
    assert load("aime24", tmp_path).problems[0].query == "Find $n$."
    assert load("aime24:h4", tmp_path).problems[0].query == "What is $n$?"
    (tmp_path / "aime_2024.jsonl").unlink()
    assert load("aime24", tmp_path).problems[0].query == "What is $n$?", "the only copy that is here"


def test_the_papers_split_is_the_same_hundred_for_a_seed(tmp_path: Path) -> None:
    competition(tmp_path, 2000, 2023)
    hundred = load("paper_aime", tmp_path)
    assert len(hundred.problems) == 100
    assert {problem.metadata["year"] for problem in hundred.problems} <= set(range(2000, 2024))
    assert ids(hundred) == ids(load("paper_aime", tmp_path)) != ids(load("paper_aime:seed=1", tmp_path))
    assert ids(hundred) == sorted(ids(hundred)), "in the order of the set"
    assert ids(load("paper_aime", tmp_path, truncate=5)) == ids(hundred)[:5]


def test_a_sample_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    competition(tmp_path, 2000, 2001)
    with pytest.raises(DataError, match=r"aime: sample=100 of 10 problems"):
        load("aime:2000-2001,sample=100", tmp_path)


def test_joined_sets_say_where_each_problem_is_from_and_ask_nothing_twice(tmp_path: Path) -> None:
    write(tmp_path, "aime_2024.jsonl", {"id": 1, "problem": "Find $a$.", "answer": "1"})
    write(
        tmp_path, "aime_2025.jsonl", {"id": 1, "problem": "Find $b$.", "answer": "2"}, {"problem": "find $a$", "answer": "1"}
    )  # fmt: skip
    loaded = load("aime24+aime25", tmp_path)
    assert [(p.query, p.metadata["family"]) for p in loaded.problems] == [
        ("Find $a$.", "aime24"),
        ("Find $b$.", "aime25"),
    ]
    assert len(set(ids(loaded))) == 2
    assert any("1 problem repeats one of an earlier set" in note for note in loaded.notes)


def test_rows_as_trainers_keep_them_are_understood(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is $2+2$?"}]
    write(tmp_path, "dapo_math.jsonl", {"prompt": chat, "reward_model": {"ground_truth": "04", "style": "rule"}})
    (problem,) = load("dapo_math", tmp_path).problems
    assert (problem.query, problem.ground_truth) == ("What is $2+2$?", "4")
    write(tmp_path, "gsm8k.jsonl", {"question": "How many?", "answer": "2 and 2 is <<2+2=4>>4.\n#### 1,004"})
    assert load("gsm8k", tmp_path).problems[0].ground_truth == "1004"


def test_answers_that_may_be_anything_keep_their_form(tmp_path: Path) -> None:
    rows = [{"problem": f"Find ${n}$.", "answer": answer} for n, answer in enumerate(("025", "58,500", "\x0crac12"))]
    write(tmp_path, "math500.jsonl", *rows)
    assert [p.ground_truth for p in load("math500", tmp_path).problems] == ["025", "58,500", r"\frac12"]
    write(tmp_path, "mine.jsonl", rows[0])
    assert load("mine.jsonl", tmp_path).problems[0].ground_truth == "025"
    write(tmp_path, "aime25.jsonl", {"id": "odd", "problem": "Find $x$.", "answer": "1/2"})
    assert any("1 answer is no integer (odd)" in note for note in load("aime25", tmp_path).notes)


def test_a_file_of_ones_own_takes_options_too(tmp_path: Path) -> None:
    write(tmp_path, "mine.jsonl", *({"question": f"What is {n}+1?", "answer": n + 1} for n in range(9)))
    assert len(load("mine.jsonl:sample=4,seed=2", tmp_path).problems) == 4
    assert len(load(f"{tmp_path}/mine.jsonl").problems) == 9


@pytest.mark.parametrize("source", ["aime24:2024", "aime:h4", "dapo_math:fr", "math500:sample=0", "gsm8k:sample=x"])
def test_an_option_that_a_set_does_not_have_names_those_it_has(source: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"unknown option '.*': known are .*no_figures, en, zh, sample=N, seed=N"):
        load(source, tmp_path)


def hub(monkeypatch: pytest.MonkeyPatch, load_dataset: Callable[..., object]) -> None:
    """Stands in for the extra [data], which tests do without."""
    module = ModuleType("datasets")
    offline = SimpleNamespace(HF_HUB_OFFLINE=True)
    module.__dict__.update(load_dataset=load_dataset, config=offline, disable_progress_bars=lambda: None)
    monkeypatch.setitem(sys.modules, "datasets", module)


def test_without_a_file_the_hub_is_asked_under_its_own_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def load_dataset(*name: str | None, split: str) -> list[dict[str, object]]:
        asked.extend([*name, split])
        return [{"ID": "2001-I-1", "Year": 2001, "Question": "Find $n$.", "Answer": "025"}]

    hub(monkeypatch, load_dataset)
    (problem,) = load("aime", tmp_path).problems
    assert asked == ["di-zhang-fdu/AIME_1983_2024", None, "train"]
    assert (problem.id, problem.query, problem.ground_truth) == ("2001-I-1", "Find $n$.", "25")


def test_without_internet_the_error_is_one_line_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load_dataset(*name: str | None, split: str) -> list[dict[str, object]]:
        raise ConnectionError("no route\nto host")

    hub(monkeypatch, load_dataset)
    with pytest.raises(
        DataError, match=r"put aime_2024\.jsonl .* --data-dir FOLDER; .*ConnectionError: no route"
    ) as error:
        load("aime24", tmp_path)
    assert "\n" not in str(error.value)


def test_a_set_that_is_not_where_it_was_looked_for_says_where_that_was(tmp_path: Path) -> None:
    for folder, where in (
        ("", "here or in data/"),
        (tmp_path, f"in '{tmp_path}'"),
        (tmp_path / "x", "which is no folder"),
    ):
        with pytest.raises(
            DataError, match=rf"problem set 'aime25' is not .*{where}: put aime_2025\.jsonl into a folder"
        ):
            load("aime25", folder)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"Find \( m+n \).", "Find $m + n$"),
        (r"Let $N=30^{2015}$ and $\dfrac{a}{b}$.", r"Let $N = 30^{2015}$ and \(\frac{a}{b}\)"),
        (r"$\{1, 2, 3\}$", r"$\{1,2,3\}$"),
        (r"\left( x \right)", "(x)"),
    ],
)
def test_a_question_is_the_same_however_its_formulas_are_set(one: str, other: str) -> None:
    assert same_question(one) == same_question(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Find $1.5$", "Find $15$"), ("$n!$", "$n$"), ("$x-1$", "$x+1$"), ("$1, 2$", "$12$"), (r"\frac{1}{23}", r"\frac{12}{3}")],
)  # fmt: skip
def test_a_question_with_another_value_is_another(one: str, other: str) -> None:
    assert same_question(one) != same_question(other)
