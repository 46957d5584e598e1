"""The index of a folder of HTML: ranked, made once, and deaf to the syntax of its engine."""

import asyncio
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.errors import ConfigError, DataError, StorageError
from gym.web.guard import Guard
from gym.web.index import SiteIndex, match_query
from gym.web.page import PART_CHARS
from gym.web.search import open_search

PAGES = {
    "index.html": ("Halden Works", "Welcome. People, products and history."),
    "people/nora lind.html": ("Nora Lind", "Nora Lind has led the turbine division since 2011."),
    "people/jon.html": ("Jon Aas", "Jon Aas reports to the head of the turbine division, and plays chess."),
    "products/turbine.html": ("Turbine", "The café in hall 3 serves engineers. It was designed in 1999."),
    "notes.txt": ("no page", "turbine"),
}


def write(folder: Path, pages: dict[str, tuple[str, str]]) -> Path:
    for name, (title, text) in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"<title>{title}</title><p>{text}</p>", encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "site", PAGES)


def index(folder: Path, **changes: object) -> SiteIndex:
    settings = {"cache": folder.parent / "cache"} | changes
    return SiteIndex.of({"halden.example": folder}, **settings)  # type: ignore[arg-type]


def urls(found: SiteIndex, query: str, count: int = 10) -> list[str]:
    return [hit.url.removeprefix("http://halden.example/") for hit in found.find(query, count=count)]


async def test_a_word_in_the_title_counts_more_and_a_hit_shows_where_it_is(folder: Path) -> None:
    found = index(folder)
    assert urls(found, "turbine") == ["products/turbine.html", "people/nora%20lind.html", "people/jon.html"]
    (hit,) = await found.search("who LEADS since 2011?", count=1)
    assert (hit.title, hit.url) == ("Nora Lind", "http://halden.example/people/nora%20lind.html")
    assert "since 2011" in hit.snippet
    found.close()


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("designing", "products/turbine.html"),
        ("CAFE", "products/turbine.html"),
        ("engineer's café", "products/turbine.html"),
        ("chess AND NOT turbine", "people/jon.html"),
    ],
)
def test_forms_of_a_word_and_accents_do_not_matter_and_operators_are_words(
    folder: Path, query: str, first: str
) -> None:
    found = index(folder)
    assert urls(found, query)[0] == first
    found.close()


@pytest.mark.parametrize("query", ["", "   ", '"""', "*", "NEAR(", "^-:()", "\x00", "the of"])
def test_what_asks_for_nothing_finds_nothing_or_words(folder: Path, query: str) -> None:
    found = index(folder)
    assert all(hit.url.startswith("http://halden.example/") for hit in found.find(query, count=3))
    found.close()


def test_no_query_whatever_is_an_error(folder: Path) -> None:
    found = index(folder)

    @given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from('"*^():-+{}\x00\ud800;'))))
    def any_text(query: str) -> None:
        found.find(query, count=2)

    any_text()
    assert urls(found, "chess; DROP TABLE parts") == ["people/jon.html"]
    assert urls(found, "chess") == ["people/jon.html"]
    found.close()


def test_a_long_query_is_cut() -> None:
    assert match_query(" ".join(f"w{n}" for n in range(1000))).count(" OR ") == 31


def test_equal_pages_come_in_the_order_of_their_urls_every_time(tmp_path: Path) -> None:
    same = {f"p{n}.html": ("Same", "The same words") for n in (3, 1, 2)}
    found = index(write(tmp_path / "site", same))
    assert [urls(found, "same words") for _ in range(3)] == [["p1.html", "p2.html", "p3.html"]] * 3
    assert urls(found, "same words", count=1) == ["p1.html"]
    found.close()


def test_a_hit_in_a_long_page_names_the_part_and_the_page_stands_once(tmp_path: Path) -> None:
    text = "\n\n".join(["filler " * (PART_CHARS // 7), "needle " * 3, "more filler " * (PART_CHARS // 12)])
    found = index(write(tmp_path / "site", {"long.html": ("Long", text)}))
    (hit,) = found.find("needle filler", count=5)
    assert re.match(r"\(part \d of \d\) .*needle", hit.snippet)
    found.close()


def test_an_index_is_made_once_and_anew_when_a_page_changes(folder: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        index(folder, say=said.append).close()
    assert said == ["indexing 4 pages of halden.example"]
    write(folder, {"people/jon.html": ("Jon Aas", "Jon Aas has retired.")})
    found = index(folder, say=said.append)
    assert len(said) == 2
    assert found.size == 4
    assert urls(found, "chess") == []
    assert urls(found, "retired") == ["people/jon.html"]
    found.close()


def test_an_index_is_made_anew_for_what_reads_pages_in_another_way(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    for version in ("1", "2", "1"):
        monkeypatch.setattr("gym.web.index.__version__", version)
        index(folder, say=said.append).close()
    assert len(said) == 2


def test_pages_that_may_not_be_visited_are_not_found(folder: Path) -> None:
    found = index(folder, shows=lambda url: "/people/" not in url)
    assert urls(found, "turbine") == ["products/turbine.html"]
    found.close()


def test_what_lies_outside_of_the_folder_is_not_indexed(folder: Path) -> None:
    secret = write(folder.parent / "elsewhere", {"secret.html": ("Secret", "turbine plans")})
    (folder / "link.html").symlink_to(secret / "secret.html")
    found = index(folder)
    assert urls(found, "secret plans") == []
    found.close()


def test_a_missing_or_empty_folder_and_a_damaged_index_are_one_line(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere' is no folder"):
        index(tmp_path / "nowhere")
    (tmp_path / "bare").mkdir()
    with pytest.raises(ConfigError, match="there is no page in"):
        index(tmp_path / "bare")
    found = index(folder)
    found.close()
    found.path.write_bytes(b"SQLite format 3\x00" + bytes(200))
    with pytest.raises(StorageError, match="is no index, or a damaged one"):
        index(folder)
    found.path.unlink()
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(StorageError, match="cannot be written"):
        index(folder, cache=blocked / "cache")


def test_the_making_of_an_index_is_told_page_by_page_and_may_be_broken_off(folder: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    index(folder, done=lambda *done: told.append(done)).close()
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]

    def stop(number: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SiteIndex.of({"halden.example": folder}, cache=tmp_path / "other", done=stop)
    assert list((tmp_path / "other").iterdir()) == []


async def test_a_run_that_is_stopped_waits_for_no_index(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("ZOO_GYM_CACHE", str(tmp_path / "cache"))
    loop, begun, cancelled = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    loop.set_default_executor(ThreadPoolExecutor(1))

    def say(text: str) -> None:
        loop.call_soon_threadsafe(begun.set)
        cancelled.wait()

    async def searching() -> None:
        async with open_search("site", {"a.example": folder}, Guard(), say=say):
            pass

    task = asyncio.create_task(searching())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    cancelled.set()
    await asyncio.to_thread(int)  # the only thread is free again
    assert list((tmp_path / "cache" / "web-index").iterdir()) == []
