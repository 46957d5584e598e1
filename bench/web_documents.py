"""Questions over documentation packages of Debian 12, walked and read through the web tools.

The questions lie beside the checkout, the packages where the system or `scripts/debian_docs.sh` has put them; either may be
missing.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.report import ROOT
from bench.web_agents import browsing, open_tools, walked
from gym.train.grpo.tools.web import WebTools

QUESTIONS = ROOT.parent / "shared" / "data" / "web_local_qa.jsonl"
PLACES = (Path("/usr/share/doc"), ROOT / "output" / "debian-docs" / "usr" / "share" / "doc")
SITES = {
    "postgresql": "postgresql-doc-15/html",
    "sqlite": "sqlite3",
    "python": "python3.11/html",
    "debian-policy": "debian-policy/policy.html",
}
"""Name of a site in the questions -> its folder."""

Item = Mapping[str, Any]


class Unmet(NamedTuple):
    """Evidence that was not found."""

    item: str
    page: str
    regex: str


def folders() -> dict[str, str]:
    """Host name -> folder, of the packages that are installed."""
    found = {name: place / below for name, below in SITES.items() for place in PLACES if (place / below).is_dir()}
    return {f"{name}.example": str(folder) for name, folder in found.items()}


def missing() -> str:
    """Why the questions cannot be walked here; empty when they can."""
    if not QUESTIONS.is_file():
        return "the shared questions are not here"
    absent = [name for name in SITES if f"{name}.example" not in folders()]
    return f"no documentation of {', '.join(absent)}: see scripts/debian_docs.sh" if absent else ""


def items() -> list[Item]:
    """The questions."""
    return [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


async def unmet() -> list[Unmet]:
    """Evidence that is not in the text of its page, after each page was reached by the links that the tools list."""
    async with open_tools(folders(), search="none") as tools:
        return [missed for item in items() for missed in await _unmet(tools, item)]


async def _unmet(tools: WebTools, item: Item) -> list[Unmet]:
    texts: dict[str, str] = {}
    for path in item["golden_path"]:
        async with browsing(tools) as browser:
            texts |= await walked(browser, list(_addresses(path.split(" -> "))))
    wanted = [Unmet(item["id"], piece["page"], piece["regex"]) for piece in item["evidence"]]
    return [one for one in wanted if not stands(one.regex, texts.get(address(one.page), ""))]


def stands(regex: str, text: str) -> bool:
    """Whether a pattern that was written for bare text is found in ours, which marks list items and cells of tables.

    >>> stands(r"order 604 The", "order\\n60 | 4 | The"), stands("of: INT REAL", "of:\\n- INT\\n- REAL")
    (True, True)
    """
    cells_joined = re.sub(r"\s*\|\s*", "", text)
    return re.search(regex.replace(" ", r"\W*"), cells_joined, re.DOTALL) is not None


def address(page: str) -> str:
    """
    >>> address("python/library/types.html")
    'http://python.example/library/types.html'
    """
    site, _, path = page.partition("/")
    return f"http://{site}.example/{path}"


def _addresses(clicks: Sequence[str]) -> Iterator[str]:
    """Of a path whose first page names the site; the others may."""
    site = clicks[0].partition("/")[0]
    for click in clicks:
        yield address(click if click.startswith(f"{site}/") else f"{site}/{click}")
