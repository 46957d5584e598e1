"""The web of a run with a search service: recorded, counted and priced, over every resume."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from gym.config import RunConfig, load_config
from gym.core.chat import Message, Sampling
from gym.errors import BudgetReached, ConfigError
from gym.evaluation import bill
from gym.llm.meter import Budget, Meter
from gym.web.opened import Web, open_web

QUERY = "who leads Vard?"


@dataclass
class Stub:
    """A service on loopback."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    """Queries that reached it."""

    async def find(self, request: web.Request) -> web.Response:
        self.asked.append(request.query["q"])
        return web.json_response({"hits": [{"title": f"Hit {len(self.asked)}", "url": "http://halden.example/"}]})


@pytest.fixture
async def stub(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stub]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    found, app = Stub(), web.Application()
    app.router.add_get("/find", found.find)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    yield found
    await runner.cleanup()


def config(tmp_path: Path, **changes: object) -> RunConfig:
    (tmp_path / "site").mkdir(exist_ok=True)
    (tmp_path / "site" / "index.html").write_text("<title>Halden</title><p>Nora Lind leads Vard.", encoding="utf-8")
    settings = {
        "model": "scripted:x:y",
        "web_sites": {"halden.example": str(tmp_path / "site")},
        "web_search": "stub_service:SEARCHER",
    }
    return load_config(None, settings | changes, environ={})


@asynccontextmanager
async def opened(settings: RunConfig, folder: Path, meter: Meter, stub: Stub) -> AsyncIterator[Web]:
    folder.mkdir(exist_ok=True)
    async with open_web(settings, folder=folder, environ={"STUB_URL": stub.url}, paid=meter.count_queries) as found:
        yield found


async def titles(found: Web, *queries: str) -> list[str]:
    assert found.searcher is not None
    return [(await found.searcher.search(query, count=3))[0].title for query in queries]


async def test_a_query_is_paid_once_in_all_runs_of_a_folder(stub: Stub, tmp_path: Path) -> None:
    settings, folder = config(tmp_path), tmp_path / "run"
    first = Meter()
    async with opened(settings, folder, first, stub) as found:
        assert await titles(found, QUERY, QUERY, "other") == ["Hit 1", "Hit 1", "Hit 2"]
    service = "stub_service:SEARCHER"
    assert first.snapshot()["queries"] == {service: {"queries": 2, "replayed": 1, "usd": 0.004}}
    again = Meter()
    async with opened(settings, folder, again, stub) as found:
        assert await titles(found, QUERY, "third") == ["Hit 1", "Hit 3"]
    assert again.snapshot()["queries"] == {service: {"queries": 3, "replayed": 1, "usd": 0.006}}
    assert stub.asked == [QUERY, "other", "third"]
    section = bill.cost(again.snapshot() | {"stages": {"rollout": {}}})
    assert section is not None
    assert section.table is not None
    assert ("search queries", service, "3", "–", "1", "–", "–", "–", "$0.0060") in section.table.rows


async def test_a_price_of_ones_own_counts_and_a_budget_sees_it(stub: Stub, tmp_path: Path) -> None:
    settings = config(tmp_path, prices={"stub_service:SEARCHER": {"per_1000": 1000.0}})
    meter = Meter(Budget(usd=1.5))
    async with opened(settings, tmp_path / "run", meter, stub) as found:
        await titles(found, QUERY, "other")
    assert meter.usd == 2.0
    with pytest.raises(BudgetReached, match=r"budget of \$1.5"):
        await meter.reserve("rollout", "scripted:x", [Message(role="user", content="?")], Sampling(temperature=0.0))


def test_a_service_without_a_price_makes_dollars_unknown() -> None:
    meter = Meter()
    meter.count_queries("jina", None, replayed=1)
    assert meter.usd == 0.0
    meter.count_queries("jina", None, paid=1)
    assert meter.usd is None
    assert meter.snapshot()["queries"] == {"jina": {"queries": 1, "replayed": 1, "usd": None}}


def test_a_run_without_queries_tells_of_none() -> None:
    assert "queries" not in Meter().snapshot()


async def test_without_folders_there_is_nothing_to_index_and_a_blocked_page_is_no_hit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path / "cache"))
    for changes, hits in (
        ({"web_sites": {"halden.example": "http://127.0.0.1:9"}}, None),
        ({"web_search": "none"}, None),
        ({}, ["http://halden.example/index.html"]),
        ({"web_block": ["*/index.html"]}, []),
    ):
        settings = config(tmp_path, **({"web_search": "site"} | changes))
        async with open_web(settings) as found:
            assert (found.searcher is None) == (hits is None)
            if found.searcher is not None:
                assert [hit.url for hit in await found.searcher.search("Vard", count=3)] == hits


async def test_an_unknown_service_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown searcher 'googel'"):
        async with open_web(config(tmp_path, web_search="googel")):
            pass
