"""Three ways to answer the questions of a site: along the gold path, by one search, and without a page.

The first two use the web tools as a model has them, over HTTP; none asks a model.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from gym.config import RunConfig
from gym.core.problem import Problem, Trajectory, Verdict
from gym.train.grpo.domains.web import DOMAIN
from gym.train.grpo.rewards import resolve_reward
from gym.train.grpo.tools.base import ToolResult, ToolSession, invoke
from gym.train.grpo.tools.web import WebTools
from gym.web.opened import open_web
from gym.web.site.rows import Row, answer_from

FENCED = re.compile(r"\A<(\w+) [^>]*?part=\"(\d+) of (\d+)\">\n(.*)\n</\1>", re.DOTALL)
URLS = re.compile(r"https?://\S+")


class Browser:
    """The tools of one rollout, called as a model calls them; every part of a page is read."""

    def __init__(self, tools: WebTools, sessions: Mapping[str, ToolSession]) -> None:
        self._tools = {tool.name: tool for tool in tools.tools}
        self._sessions = sessions

    async def page(self, url: str) -> str:
        """The text that `open` shows."""
        return await self._whole("open", url)

    async def links(self, url: str) -> list[str]:
        """The addresses that `links` lists."""
        return URLS.findall(await self._whole("links", url))

    async def said(self, tool: str, url: str) -> str:
        """What a tool says of an address, whatever that is."""
        return (await self._call(tool, url=url)).text

    async def search(self, query: str) -> str:
        """What `search` says."""
        return (await self._call("search", query=query)).text

    async def _whole(self, tool: str, url: str) -> str:
        pieces, number, of = list[str](), 1, 1
        while number <= of:
            said = await self._call(tool, url=url, part=number)
            found = FENCED.match(said.text)
            assert found is not None, f"{tool} {url}: {said.text}"
            pieces.append(found[4])
            number, of = number + 1, int(found[3])
        return "\n".join(pieces)

    async def _call(self, tool: str, **arguments: Any) -> ToolResult:
        return await invoke(self._tools[tool], self._sessions[tool], arguments)


@asynccontextmanager
async def open_tools(
    sites: Mapping[str, str], *, search: str = "site", max_visits: int = 40
) -> AsyncIterator[WebTools]:
    """The web tools over some sites, served on loopback while the context lasts."""
    config = RunConfig(web_sites=sites, web_search=search, web_max_visits=max_visits)
    async with open_web(config) as web:
        yield WebTools(web, max_visits=max_visits)


@asynccontextmanager
async def browsing(tools: WebTools) -> AsyncIterator[Browser]:
    """A rollout of its own."""
    async with tools.open() as sessions:
        yield Browser(tools, sessions)


async def walked(browser: Browser, pages: Sequence[str]) -> dict[str, str]:
    """The texts of pages, each reached by a link that the tools list on the one before."""
    texts = {pages[0]: await browser.page(pages[0])}
    for here, there in pairwise(pages):
        assert there in await browser.links(here), f"no link leads from {here} to {there}"
        texts[there] = await browser.page(there)
    return texts


async def along_gold(browser: Browser, row: Row) -> str:
    """The answer read by the evidence on the gold path; empty when a page does not say what it should."""
    texts = await walked(browser, row["gold_path"])
    return answer_from(row, texts.__getitem__) or ""


async def one_search(browser: Browser, row: Row, pages: int = 1) -> str:
    """What a perfect reader takes from one search for the question: all snippets and the first hits' pages.

    It knows the answer when it sees it, and puts it together where all of the evidence is before it.
    """
    said = await browser.search(row["question"])
    hits = list(dict.fromkeys(url for url in URLS.findall(said) if url.endswith(".html")))
    texts = [said, *[await browser.page(url) for url in hits[:pages]]]
    seen = "\n".join(texts)
    shown = [form for form in (row["answer"], *row["accept"]) if all(_stands(part, seen) for part in form.split("; "))]
    read = answer_from(row, lambda page: texts[1 + hits.index(page)] if page in hits[:pages] else "")
    return str(shown[0]) if shown else read or ""


def _stands(text: str, seen: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", seen) is not None


Guess = Callable[[Row], str]
GUESSES = ("most frequent of its kind", "of the nearest question", "middle of its kind", "a name in the question")


def guesses(known: Sequence[Row]) -> Mapping[str, Guess]:
    """`GUESSES`: ways to guess from questions and answers that are known."""
    overall = Counter(row["answer"] for row in known).most_common(1)[0][0]
    by_kind = {row["kind"]: Counter(one["answer"] for one in known if one["kind"] == row["kind"]) for row in known}

    def of_kind(row: Row) -> str:
        return str(by_kind[row["kind"]].most_common(1)[0][0] if row["kind"] in by_kind else overall)

    def of_nearest(row: Row) -> str:
        words = set(row["question"].split())
        return str(max(known, key=lambda one: len(words & set(one["question"].split())))["answer"])

    def in_the_middle(row: Row) -> str:
        numbers = sorted(int(one["answer"]) for one in known if one["kind"] == row["kind"] and one["answer"].isdigit())
        return str(numbers[len(numbers) // 2]) if numbers else of_kind(row)

    def named(row: Row) -> str:
        names = re.findall(r"[A-ZÀ-Þ]\w+ (?:& )?[A-ZÀ-Þ0-9]\w*", row["question"][1:])
        return str(names[-1]) if names else of_kind(row)

    return dict(zip(GUESSES, (of_kind, of_nearest, in_the_middle, named), strict=True))


class Graded(NamedTuple):
    """Answers and how many of them the web domain's reward calls right."""

    right: int
    of: int

    @property
    def share(self) -> float:
        """Of right answers."""
        return self.right / self.of


def problems(file: Path) -> dict[str, Problem]:
    """The questions of a file as the web domain loads them, by id."""
    loaded = DOMAIN.load(str(file), data_dir="", input_key="", answer_key="", truncate=None)
    return {problem.id: problem for problem in loaded.problems}


async def graded(asked: Mapping[str, Problem], answers: Mapping[str, str]) -> Graded:
    """Of all problems; one without an answer is wrong."""
    reward, right = resolve_reward(DOMAIN.reward), 0
    for name, problem in asked.items():
        (found,) = await reward(problem, [Trajectory(messages=(), output=f"Answer: {answers.get(name, '')}")])
        right += isinstance(found, Verdict) and found.reward == 1.0
    return Graded(right, len(asked))
