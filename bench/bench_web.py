"""Whether a generated site can be walked, searched and guessed: three seeds, the tools of a run over HTTP, its grading.

A site is worth learning on when whoever walks the right way is always right, and neither knowing what such answers look like
nor one search gets far. The reader of search results is perfect, so its share bounds what any model reaches by one search.
Pages that others wrote are walked too.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench.options import scale
from bench.report import Table, share
from bench.web_agents import GUESSES, Graded, along_gold, browsing, graded, guesses, one_search, open_tools, problems
from bench.web_documents import items, missing, unmet
from gym.train.grpo.tools.web import WebTools
from gym.web.site.making import FEWEST, HOST, Site, make, write
from gym.web.site.rows import Row

SEEDS = (0, 1, 2)
PAGES = 300
BOOK, SEARCH = 0.05, 0.60
WIDER = 3
"""Pages that a more patient searcher reads."""


class Measured(NamedTuple):
    """Of one site."""

    gold: Graded
    guess: Graded
    """The best of the ways to guess."""
    search: Graded
    wider: Graded
    """With more pages read."""


async def measure(site: Site, folder: Path) -> Measured:
    """Everything about a site that was written to a folder."""
    asked = problems(folder / "questions.jsonl")
    async with open_tools({site.host: str(folder)}) as tools:
        gold = {row["id"]: await walk(tools, row) for row in site.rows}
        once = {row["id"]: await search(tools, row, 1) for row in site.rows}
        wider = {row["id"]: await search(tools, row, WIDER) for row in site.rows}
    tries = [await graded(asked, guessed(site, way)) for way in GUESSES]
    return Measured(await graded(asked, gold), max(tries), await graded(asked, once), await graded(asked, wider))


def guessed(site: Site, way: str) -> dict[str, str]:
    """Guesses at all questions, those of each split by what the other splits' answers are like."""
    found: dict[str, str] = {}
    for split in ("train", "val", "test"):
        guess = guesses([row for row in site.rows if row["split"] != split])[way]
        found |= {row["id"]: guess(row) for row in site.rows if row["split"] == split}
    return found


async def walk(tools: WebTools, row: Row) -> str:
    """One rollout along the gold path."""
    async with browsing(tools) as browser:
        return await along_gold(browser, row)


async def search(tools: WebTools, row: Row, pages: int) -> str:
    """One rollout of one search."""
    async with browsing(tools) as browser:
        return await one_search(browser, row, pages)


def told(found: Graded) -> str:
    """The share, and of how many."""
    return f"{share(found.share)} of {found.of}"


def main() -> int:
    """Every seed."""
    table = Table("bench_web", "A generated site: walked along the gold path, guessed, searched once")
    pages = max(FEWEST, round(PAGES * scale()))
    for seed in SEEDS:
        began = time.perf_counter()
        site = make(seed, pages=pages)
        table.add(f"seed {seed}: a site of {pages} pages is made", f"{time.perf_counter() - began:.1f} s")
        with tempfile.TemporaryDirectory() as place:
            write(site, Path(place, HOST))
            found = asyncio.run(measure(site, Path(place, HOST)))
        table.add("  the gold path, read by its evidence", told(found.gold), "", "100 %", found.gold.share == 1.0)
        table.add("  closed book, the best of four ways", told(found.guess), "", "< 5 %", found.guess.share < BOOK)
        table.add(
            "  one search, a perfect reader of one page", told(found.search), "", "< 60 %", found.search.share < SEARCH
        )
        table.add(f"  one search, {WIDER} pages", told(found.wider))
    documents(table)
    return table.close()


def documents(table: Table) -> None:
    """Pages that are not ours."""
    if why := missing():
        table.add("Debian's documentation", why)
        return
    wanted, unfound = sum(len(item["evidence"]) for item in items()), asyncio.run(unmet())
    table.add(
        f"Debian's documentation: evidence of {len(items())} questions",
        f"{wanted - len(unfound)} of {wanted} found",
        "",
        "all",
        not unfound,
    )


if __name__ == "__main__":
    sys.exit(main())
