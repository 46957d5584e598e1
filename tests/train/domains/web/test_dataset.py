"""Sets of web questions: read from their files, started where they say, chosen by their columns."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gym import plugins
from gym.core.problem import Problem, Trajectory, Verdict
from gym.errors import DataError
from gym.train.grpo.domains.base import Domain, Loaded
from gym.train.grpo.rewards import resolve_reward

SHARED = Path(__file__).parents[4].parent / "shared" / "data"
WALKER = {
    "id": "w1",
    "question": "Which program funded SUPPLY?",
    "answer": "EU4Health",
    "root_url": "https://ehaweb.example/",
    "level": "easy",
    "type": "single_source",
    "lang": "en",
    "golden_path": ["root->News"],
}
SITE = {
    "id": "s1",
    "question": "Who leads the maker of the Vard pump, and since when?",
    "answer": "Nora Lind; 4 May 2011",
    "accept": ["N. Lind; 4 May 2011"],
    "start": "http://halden.example/index.html",
    "hops": 2,
    "gold_path": ["index.html", "pumps/vard.html"],
    "level": "medium",
    "type": "chain",
}
LOCAL = {
    "id": "x1",
    "question": "Which allows more columns?",
    "answer": ["SQLite", 400],
    "accept": "SQLite, by 400",
    "sites": ["sqlite", "pg"],
    "golden_path": [
        "sqlite/index.html -> limits.html",
        "pg/html/index.html -> limits.html",
        "pg/html/index.html -> a.html",
    ],
}


def domain() -> Domain:
    found: Domain = plugins.resolve("domain", "web")
    return found


def load(source: str, data_dir: Path | str = "", truncate: int | None = None) -> Loaded:
    return domain().load(source, data_dir=str(data_dir), input_key="", answer_key="", truncate=truncate)


def write(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("row", "query"),
    [
        (WALKER, "Which program funded SUPPLY?\n\nStart page: https://ehaweb.example/"),
        (SITE, f"{SITE['question']}\n\nStart page: http://halden.example/index.html"),
        (
            LOCAL,
            "Which allows more columns?\n\nStart pages: http://sqlite.example/index.html, http://pg.example/html/index.html",
        ),
        ({"question": "Who?", "answer": "She"}, "Who?"),
    ],
)
def test_a_question_names_its_start_pages_and_nothing_else_of_its_row(
    row: Mapping[str, Any], query: str, tmp_path: Path
) -> None:
    (problem,) = load(str(write(tmp_path / "rows.jsonl", row))).problems
    assert problem.query == query
    assert problem.domain == "web"


def test_several_answers_are_parts_and_further_forms_are_accepted(tmp_path: Path) -> None:
    site, local = load(str(write(tmp_path / "rows.jsonl", SITE, LOCAL))).problems
    assert (local.ground_truth, local.metadata["accept"]) == ("SQLite; 400", ["SQLite, by 400"])
    assert site.metadata["hops"] == 2
    assert site.metadata["accept"] == ["N. Lind; 4 May 2011"]


@pytest.mark.parametrize("output", ["Answer: N. Lind; May 4, 2011", "Answer: Nora Lind, 2011-05-04"])
async def test_what_is_loaded_is_graded_by_the_domains_reward(output: str, tmp_path: Path) -> None:
    (problem,) = load(str(write(tmp_path / "rows.jsonl", SITE))).problems
    (found,) = await resolve_reward(domain().reward)(problem, [Trajectory(messages=(), output=output)])
    assert isinstance(found, Verdict)
    assert found.reward == 1.0


def ids(source: str, folder: Path) -> list[str]:
    return [problem.id for problem in load(source, folder).problems]


def test_options_choose_by_column_and_draw_a_sample_that_is_always_the_same(tmp_path: Path) -> None:
    levels, langs = ("easy", "hard"), ("en", "zh", "")
    rows = [
        WALKER | {"id": f"w{n}", "question": f"Number {n}?", "level": levels[n % 2], "lang": langs[n % 3]}
        for n in range(12)
    ]
    write(tmp_path / "webwalkerqa.jsonl", *rows)
    assert ids("webwalkerqa:hard,zh", tmp_path) == ["w1", "w7"]
    assert ids("WebWalkerQA:en,easy", tmp_path) == ["w0", "w2", "w6", "w8"]
    drawn = ids("webwalkerqa:sample=4,seed=3", tmp_path)
    assert (len(drawn), drawn) == (4, ids("webwalkerqa:sample=4,seed=3", tmp_path))
    assert drawn != ids("webwalkerqa:sample=4,seed=4", tmp_path)
    assert load("webwalkerqa:easy", tmp_path).notes == ("6 of 12 problems left out: not easy",)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "webwalkerqa",
            r"problem set 'webwalkerqa' is not in '.*': put webwalkerqa.jsonl into a folder and give --data-dir",
        ),
        ("webwalker", r"unknown problem set 'webwalker': did you mean 'webwalkerqa'\?"),
        ("web_local:french", r"no problem is 'french': known are en, medium"),
        ("web_local:sample=9", r"sample=9 of 1 problems"),
        ("nowhere/at/all.jsonl", r"data file 'nowhere/at/all.jsonl' does not exist"),
    ],
)
def test_what_cannot_be_had_is_one_line(source: str, words: str, tmp_path: Path) -> None:
    write(tmp_path / "web_local_qa.jsonl", LOCAL | {"level": "medium"})
    with pytest.raises(DataError, match=words):
        load(source, tmp_path)


def test_answers_that_are_sentences_are_told_of(tmp_path: Path) -> None:
    long = WALKER | {
        "id": "w2",
        "question": "When?",
        "answer": "It started on September 1, 2022, and lasts for 18 months.",
    }
    write(tmp_path / "webwalkerqa.jsonl", WALKER, long)
    assert load("webwalkerqa", tmp_path).notes == (
        "1 of 2 answers are sentences, which rarely match word for word: --reward web_judge asks a model",
    )


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not here")
@pytest.mark.parametrize(
    ("source", "number", "starts"), [("webwalkerqa", 680, 680), ("web_local", 20, 20), ("webdancer", 200, 0)]
)
def test_the_shared_sets_are_read_whole(source: str, number: int, starts: int) -> None:
    found = load(source, SHARED).problems
    assert (len(found), sum("\n\nStart page" in problem.query for problem in found)) == (number, starts)


def test_the_instructions_ask_for_the_form_that_the_reward_reads() -> None:
    for instructions in (domain().prompts.solve, domain().closed_book):
        assert "\nAnswer: ..." in instructions
        assert "semicolons" in instructions
    assert "tool call" in " ".join(domain().prompts.solve.split())
    assert "tool" not in domain().closed_book
    assert "never an instruction" in domain().prompts.solve


def test_words_for_reflection_without_labels_speak_of_no_reference() -> None:
    told = domain().prompts.words(use_groundtruth=False)
    assert all("reference" not in text for text in (told.summarize, told.critique, told.consolidate))


@pytest.mark.parametrize(
    "text",
    [
        "When a person is sought, open http://halden.example/people.html first.",
        "For departments, www.example.edu lists them under About.",
        "When a company is named, look at halden.example before searching.",
        "For dates of products, open products/vard-pump.html.",
        "For staff, go to /about/staff/ and read the table.",
        "When the head is unknown, nora.lind@halden.example is on the contact page.",
        "For limits, limits.html of the manual has them all.",
    ],
)
def test_an_experience_that_holds_an_address_is_refused(text: str) -> None:
    assert "holds an address" in (domain().veto(text) or "")


@pytest.mark.parametrize(
    "text",
    [
        "When a page says only where else to look, follow that link before you search again.",
        "When no start page helps, open the site's sitemap or index.html and read the headings.",
        "If a question asks for a date and/or a name, write the date as on the page.",
        "When a number is given in thousands, e.g. 1.5k, write it out; 3.10 is a version.",
        "For a person with two names, search for both; i.e. the alias and the name.",
        "Before answering, check that the page is about the company itself.In doubt read on.",
        *(piece * 10_000 for piece in ("a-", "-", "%", "a.")),
    ],
)
def test_a_strategy_is_welcome(text: str) -> None:
    assert domain().veto(text) is None


def test_the_domain_knows_its_sets() -> None:
    assert all(domain().knows(source) for source in ("webwalkerqa:en", "WEB_LOCAL", "webdancer"))
    assert not domain().knows("aime24")


def test_a_problem_stays_what_it_was(tmp_path: Path) -> None:
    (one,) = load(str(write(tmp_path / "rows.jsonl", SITE))).problems
    assert Problem.model_validate_json(one.model_dump_json()) == one
