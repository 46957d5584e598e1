"""Folders on loopback: what is served for an address, what never is, and that nothing is left when the context ends."""

import asyncio
import gzip
import os
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from gym.errors import ConfigError
from gym.web.guard import Place
from gym.web.sites import folders, served, serving, sites_by_host


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = tmp_path / "pages"
    (pages / "people").mkdir(parents=True)
    (pages / "style").mkdir()
    (pages / "index.html").write_text("<h1>Front</h1>")
    (pages / "people" / "index.html").write_text("<h1>People</h1>")
    (pages / "people" / "Zoë & Co.html").write_text("<h1>Zoë</h1>", encoding="utf-8")
    (pages / "old.html").write_bytes('<meta charset="iso-8859-1"><h1>Zoë</h1>'.encode("latin-1"))
    (pages / "style" / "page.css").write_text("h1 { color: red }")
    (pages / ".secret").write_text("hidden")
    (tmp_path / "outside.html").write_text("outside")
    (pages / "way-out.html").symlink_to(tmp_path / "outside.html")
    (pages / "way-in.html").symlink_to(pages / "index.html")
    return pages


@pytest.fixture
async def place(folder: Path) -> AsyncIterator[Place]:
    async with serving(folder) as found:
        yield found


async def get(place: Place, path: str, *, method: str = "GET") -> tuple[int, str, str]:
    """Status, content type, body; nothing is followed."""
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"http://{place.host}:{place.port}{path}", allow_redirects=False) as answer,
    ):
        return answer.status, answer.headers.get("Content-Type", ""), await answer.text()


async def raw(place: Place, target: str) -> str:
    """The status line for a target that no well-behaved client sends."""
    reader, writer = await asyncio.open_connection(place.host, place.port)
    writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode("latin-1"))
    answer = (await reader.read()).decode("latin-1")
    writer.close()
    await writer.wait_closed()
    return answer


async def test_files_and_indexes_are_served_with_their_types(place: Place) -> None:
    assert await get(place, "/") == (200, "text/html", "<h1>Front</h1>")
    assert await get(place, "/index.html") == (200, "text/html", "<h1>Front</h1>")
    assert await get(place, "/people/") == (200, "text/html", "<h1>People</h1>")
    assert await get(place, "/style/page.css") == (200, "text/css", "h1 { color: red }")
    assert (await get(place, "/people/Zo%C3%AB%20%26%20Co.html?page=2"))[2] == "<h1>Zoë</h1>"
    assert (await get(place, "/way-in.html"))[2] == "<h1>Front</h1>"
    assert await get(place, "/", method="HEAD") == (200, "text/html", "")


async def test_a_page_says_its_charset_itself(place: Place) -> None:
    head, _, body = (await raw(place, "/old.html")).partition("\r\n\r\n")
    assert "Content-Type: text/html\r\n" in head
    assert body.endswith("<h1>Zoë</h1>")  # as Latin-1


async def test_a_folder_without_its_slash_is_sent_there_and_one_without_an_index_is_listed(place: Place) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"http://{place.host}:{place.port}/people") as answer:
        assert answer.url.path == "/people/"
        assert answer.status == 200
    status, kind, body = await get(place, "/style/")
    assert (status, kind) == (200, "text/html; charset=utf-8")
    assert '<a href="page.css">page.css</a>' in body


@pytest.mark.parametrize(
    "target",
    [
        "/nothing.html", "/index.html/", "/../outside.html", "/people/../../outside.html", "/%2e%2e/outside.html",
        "/..%2foutside.html", "/%2e%2e%2foutside.html", "/people/..%5c..%5coutside.html", "//outside.html", "/%00",
        "/way-out.html", "/.secret", "/people/%2e%2e/.secret", "/" + "a" * 300,
    ],
)  # fmt: skip
async def test_nothing_outside_of_the_folder_is_served(place: Place, target: str) -> None:
    answer = await raw(place, target)
    assert answer.split()[1] in ("400", "404")
    assert "outside" not in answer.partition("\r\n\r\n")[2].replace("/outside.html", "")
    assert "hidden" not in answer


async def test_pages_are_only_read(place: Place, folder: Path) -> None:
    assert [(await get(place, "/index.html", method=method))[0] for method in ("POST", "PUT", "DELETE")] == [405] * 3
    assert (folder / "index.html").read_text() == "<h1>Front</h1>"


async def test_it_listens_on_loopback_until_the_context_ends(folder: Path) -> None:
    async with serving(folder) as place:
        assert place.host == "127.0.0.1"
        with pytest.raises(ConfigError, match=f"port {place.port} cannot be had: .*in use"):
            async with serving(folder, place.port):
                pass
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(place.host, place.port)


async def test_a_site_is_a_folder_or_an_address(folder: Path) -> None:
    async with served("a.example", str(folder)) as place:
        assert (await get(place, "/"))[0] == 200
    async with served("b.example", "http://localhost:8080/") as place:
        assert place == Place("localhost", 8080)
    assert folders({"A.example": str(folder), "b.example": "http://localhost:8080"}) == {"a.example": folder}


def test_two_spellings_of_one_host_are_told_when_they_differ() -> None:
    assert sites_by_host({"A.example": "x", "a.example": "x"}) == {"a.example": "x"}
    with pytest.raises(ConfigError, match=r"web_sites names 'a\.example' twice"):
        sites_by_host({"A.example": "x", "a.example": "y"})


async def test_a_folder_that_we_made_is_served_from_its_pages(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "site.json").write_text("{}")
    (tmp_path / "questions.jsonl").write_text("{}")
    async with served("a.example", str(tmp_path)) as place:
        assert (await get(place, "/"))[2] == "<h1>Front</h1>"
        assert (await get(place, "/questions.jsonl"))[0] == 404


@pytest.mark.parametrize(
    ("name", "where", "what"),
    [
        ("a b", ".", "site 'a b': expected a host name such as halden.example"),
        ("", ".", "site '': expected a host name"),
        ("a.example", "no/such/folder", "site 'a.example': the folder 'no/such/folder' does not exist"),
        ("a.example", "https://127.0.0.1:1", "expected http://HOST:PORT, or a folder"),
        ("a.example", "http://127.0.0.1:1/below", "expected http://HOST:PORT, or a folder"),
        ("a.example", "http://", "expected http://HOST:PORT, or a folder"),
        ("a.example", "ftp://x", "expected http://HOST:PORT, or a folder"),
        ("a.example", __file__, "site 'a.example': '.*test_sites.py' is no folder"),
        ("a.example", "a" * 5000, "does not exist"),
        ("127.0.0.1", ".", "site '127.0.0.1': expected a host name such as halden.example"),
        ("0x7f.1", ".", "expected a host name"),
    ],
)
async def test_what_is_neither_is_told(name: str, where: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        async with served(name, where):
            pass


async def test_a_page_is_the_file_itself_and_not_a_packed_one_beside_it(place: Place, folder: Path) -> None:
    (folder / "index.html.gz").write_bytes(gzip.compress(b"<h1>Old</h1>"))
    assert (await get(place, "/index.html"))[2] == "<h1>Front</h1>"
    assert (await get(place, "/index.html", method="HEAD"))[2] == ""


async def test_what_is_no_file_is_not_served(place: Place, folder: Path) -> None:
    os.mkfifo(folder / "pipe.html")
    (folder / "round.html").symlink_to(folder / "round.html")
    assert [(await get(place, path))[0] for path in ("/pipe.html", "/round.html")] == [404, 404]
