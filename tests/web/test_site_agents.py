"""A generated site through the tools of a run: who walks right is right, who guesses or searches once mostly is not."""

from pathlib import Path

import pytest

from bench.bench_web import BOOK, SEARCH, SEEDS, measure
from bench.web_agents import browsing, graded, open_tools, problems, walked
from gym.web.site.making import HOST, make, write

PAGES = 100


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_gold_path_is_always_right_a_guess_hardly_ever_and_one_search_less_than_three_in_five(
    seed: int, tmp_path: Path
) -> None:
    site = make(seed, pages=PAGES)
    write(site, tmp_path / HOST)
    found = await measure(site, tmp_path / HOST)
    assert (found.gold.right, found.gold.of) == (PAGES // 2, PAGES // 2)
    assert found.guess.of == PAGES // 2
    assert found.guess.share < BOOK
    assert 0 < found.search.share < SEARCH


async def test_the_grading_of_these_measures_tells_right_from_wrong(tmp_path: Path) -> None:
    site = make(0, pages=PAGES)
    write(site, tmp_path / HOST)
    asked = problems(tmp_path / HOST / "questions.jsonl")
    other = [row["answer"] for row in (*site.rows[1:], site.rows[0])]
    assert (
        await graded(asked, {row["id"]: row["accept"][-1] if row["accept"] else row["answer"] for row in site.rows})
    ).share == 1
    assert (await graded(asked, {row["id"]: wrong for row, wrong in zip(site.rows, other, strict=True)})).right == 0
    assert (await graded(asked, {})).right == 0


async def test_the_questions_cannot_be_reached_over_the_site(tmp_path: Path) -> None:
    site = make(0, pages=PAGES)
    write(site, tmp_path / HOST)
    async with open_tools({HOST: str(tmp_path / HOST)}, search="none") as tools, browsing(tools) as browser:
        for path in (
            "questions.jsonl",
            "../questions.jsonl",
            "..%2fquestions.jsonl",
            "pages/../../test.jsonl",
            "site.json",
        ):
            said = await browser.said("open", f"http://{HOST}/{path}")
            assert "404" in said or "no such page" in said
            assert site.rows[0]["question"] not in said
        assert list(await walked(browser, site.rows[0]["gold_path"])) == list(dict.fromkeys(site.rows[0]["gold_path"]))
