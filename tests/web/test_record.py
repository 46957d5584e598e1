"""A run's pages and searches: seen once, seen for ever, whatever happens to the process, the file or the world."""

import asyncio
import logging
from pathlib import Path

import pytest

from gym.errors import ConfigError, ConnectionFailed, RateLimited
from gym.web.fetching import Refusal
from gym.web.page import Link, Page
from gym.web.record import FILE, RecordedFetcher, RecordedSearcher, Search, WebRecord
from gym.web.searching import Hit

LINK = Link(text="Nora 😀 Lind", url="http://halden.example/nora.html")


class World:
    """A fetcher and searcher whose every answer is another, and that can be made to fail."""

    def __init__(self) -> None:
        self.turns = 0
        self.raises: Exception | None = None

    async def fetch(self, url: str) -> Page | Refusal:
        self.turns += 1
        await asyncio.sleep(0)
        if url.endswith("/gone"):
            return Refusal(url=url, reason=f"404, look {self.turns}", label="status", status=404)
        return Page(url=url, title="Halden", text=f"Look {self.turns} at {url}. " * 50, links=(LINK,))

    async def search(self, query: str, *, count: int) -> tuple[Hit, ...]:
        self.turns += 1
        await asyncio.sleep(0)
        if self.raises:
            raise self.raises
        return (Hit(title=f"{query} {self.turns}", url="http://halden.example/"),)


async def test_what_was_seen_once_is_seen_again_without_the_world(tmp_path: Path) -> None:
    world, record = World(), WebRecord.open(tmp_path / FILE)
    fetcher, searcher = RecordedFetcher(world, record), RecordedSearcher("serper", world, record)
    urls = [
        "http://halden.example/a",
        "http://halden.example/a#part",
        "http://halden.example/gone",
        "http://halden.example/a",
    ]
    seen = [await fetcher.fetch(url) for url in urls]
    hits = [await searcher.search(query, count=count) for query, count in (("x", 3), (" x ", 3), ("x", 4))]
    assert seen[0] == seen[1] == seen[3]
    assert hits[0] == hits[1] != hits[2]
    assert world.turns == 4
    record.close()
    replayed, record = list[int](), WebRecord.open(tmp_path / FILE)
    fetcher = RecordedFetcher(None, record)
    searcher = RecordedSearcher("serper", None, record, replayed=lambda: replayed.append(1))
    assert [await fetcher.fetch(url) for url in urls] == seen
    assert [await searcher.search("x", count=count) for count in (3, 3, 4)] == hits
    assert len(replayed) == 3
    assert record.queries == {"serper": 2}
    record.close()


async def test_two_that_ask_at_once_see_the_same_and_the_world_is_asked_once(tmp_path: Path) -> None:
    world, record = World(), WebRecord.open(tmp_path / FILE)
    fetcher, searcher = RecordedFetcher(world, record), RecordedSearcher("serper", world, record)
    seen = await asyncio.gather(*(fetcher.fetch("http://halden.example/a") for _ in range(9)))
    hits = await asyncio.gather(*(searcher.search("x", count=3) for _ in range(9)))
    assert (len({page.model_dump_json() for page in seen}), len(set(hits)), world.turns) == (1, 1, 2)
    record.close()


async def test_one_who_is_cancelled_leaves_the_others_their_page(tmp_path: Path) -> None:
    began = asyncio.Event()

    class FirstHangs(World):
        async def fetch(self, url: str) -> Page | Refusal:
            if not began.is_set():
                began.set()
                await asyncio.Event().wait()
            return await super().fetch(url)

    with WebRecord.open(tmp_path / FILE) as record:
        fetcher = RecordedFetcher(FirstHangs(), record)
        first, second = (asyncio.create_task(fetcher.fetch("http://halden.example/a")) for _ in range(2))
        await began.wait()
        first.cancel()
        assert isinstance(await second, Page)


async def test_without_a_world_what_is_not_recorded_is_refused_in_words(tmp_path: Path) -> None:
    record = WebRecord.open(tmp_path / FILE)
    found = await RecordedFetcher(None, record).fetch("http://halden.example/new")
    assert isinstance(found, Refusal)
    assert "was not visited" in found.reason
    with pytest.raises(ConnectionFailed, match="was not asked when the run was recorded"):
        await RecordedSearcher("site", None, record).search("new", count=3)
    assert len(record) == 0
    record.close()


async def test_an_error_is_not_kept_so_that_a_resumed_run_asks_again(tmp_path: Path) -> None:
    world, record = World(), WebRecord.open(tmp_path / FILE)
    searcher = RecordedSearcher("serper", world, record)
    world.raises = RateLimited("serper answered 429", status=429)
    with pytest.raises(RateLimited):
        await searcher.search("busy", count=3)
    world.raises = None
    assert (await searcher.search("busy", count=3))[0].title == "busy 2"
    assert record.queries == {"serper": 1}
    record.close()


def written(path: Path) -> list[Page]:
    pages = [Page(url=f"http://halden.example/{n}", title=str(n), text="é数 " * n) for n in range(4)]
    record = WebRecord.open(path)
    for page in pages:
        record.keep_fetched(page.url, page)
    record.keep_found(Search("serper", "who?", 3), ())
    record.close()
    return pages


def test_a_file_cut_anywhere_keeps_every_whole_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / FILE
    pages, whole = written(path), (tmp_path / FILE).read_bytes()
    ends = [place for place, byte in enumerate(whole, 1) if byte == ord("\n")]
    caplog.set_level(logging.ERROR)
    for cut in sorted({0, 9, *(end + off for end in ends for off in (-40, -1, 0, 1))} - {len(whole) + 1}):
        path.write_bytes(whole[:cut])
        with WebRecord.open(path) as record:
            kept = sum(end <= cut + 1 for end in ends)
            assert [record.fetched(page.url) for page in pages[: min(kept, 4)]] == pages[: min(kept, 4)]
            assert len(record) == kept
            for page in pages:
                if record.fetched(page.url) is None:
                    record.keep_fetched(page.url, page)
        with WebRecord.open(path) as record:
            assert [record.fetched(page.url) for page in pages] == pages


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / FILE
    pages = written(path)
    lines = path.read_bytes().splitlines(keepends=True)
    for broken in (b"{}\n", b'{"kind": "hits", "key": "who?", "value": []}\n'):
        path.write_bytes(b"".join([lines[0], broken, *lines[2:]]))
        with pytest.raises(ConfigError, match=rf"{FILE}:2: not a record of a page"):
            WebRecord.open(path)
    middle = len(lines[1]) // 2
    path.write_bytes(b"".join([lines[0], lines[1][:middle] + b"AAAA" + lines[1][middle + 4 :], *lines[2:]]))
    with WebRecord.open(path) as record, pytest.raises(ConfigError, match=rf"{FILE}:2: not a record of a page"):
        record.fetched(pages[1].url)


def test_a_site_whose_pages_changed_is_refused(tmp_path: Path) -> None:
    for _ in range(2):
        with WebRecord.open(tmp_path / FILE) as record:
            record.require_same("halden.example", "abc")
    with (
        WebRecord.open(tmp_path / FILE) as record,
        pytest.raises(ConfigError, match=r"the pages of 'halden.example' are not those that this run began with"),
    ):
        record.require_same("halden.example", "abd")


def test_a_run_goes_on_without_a_site_that_it_began_with_and_saw_something_of(tmp_path: Path) -> None:
    with WebRecord.open(tmp_path / FILE) as record:
        record.require_same("halden.example", "abc")
        assert not record.replays("halden.example")
        record.keep_fetched("http://halden.example/", Page(url="http://halden.example/", title="", text=""))
        assert record.replays("halden.example")
        assert not record.replays("other.example")
