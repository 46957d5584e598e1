"""What is said of a folder of pages: links that lead nowhere, pages that nothing leads to, files that are no pages."""

from pathlib import Path

import pytest

from gym.errors import DataError
from gym.web.survey import Lost, distances, page_bytes, survey


def folder(place: Path, pages: dict[str, str]) -> Path:
    for name, text in pages.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    return place


def link(*places: str) -> str:
    return " ".join(f'<a href="{place}">{place}</a>' for place in places)


def test_links_are_followed_as_a_browser_does(tmp_path: Path) -> None:
    found = survey(folder(tmp_path, {
        "index.html": link("b/", "c.html?x=1#there", "#here", "mailto:a@b.example", "http://other.example/", "gone.html"),
        "b/index.htm": link("../c.html", "/b/d%20e.html", "nowhere/", "../../index.html"),
        "b/d e.html": link("index.htm"),
        "c.html": link("pictures/", "/missing.png"),
        "alone.html": link("index.html"),
        "pictures/1.png": "",
        ".git/page.html": "",
    }))  # fmt: skip
    assert found.pages == ("alone.html", "b/d e.html", "b/index.htm", "c.html", "index.html")
    assert found.others == 1
    assert found.lost == (
        Lost("b/index.htm", "b/nowhere/"),
        Lost("c.html", "missing.png"),
        Lost("index.html", "gone.html"),
    )
    assert (found.front, found.unreached) == ("index.html", ("alone.html",))


def test_a_folder_without_an_index_begins_with_its_listing(tmp_path: Path) -> None:
    found = survey(folder(tmp_path, {"docs/a.html": link("b.html"), "docs/b.html": "", "more/index.html": ""}))
    assert (found.front, found.unreached, found.lost) == ("", (), ())


def test_links_out_of_the_folder_by_the_file_system_are_not_its_pages(tmp_path: Path) -> None:
    pages = folder(tmp_path / "pages", {"index.html": ""})
    (tmp_path / "outside.html").write_text("")
    (pages / "out.html").symlink_to(tmp_path / "outside.html")
    (pages / "round").symlink_to(pages)
    assert survey(pages).pages == ("index.html",)


def test_a_folder_without_a_page_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(DataError, match=r"has no page: expected files that end in \.html, \.htm, \.xhtml"):
        survey(tmp_path)
    with pytest.raises(DataError, match="is no folder"):
        survey(tmp_path / "nothing")
    with pytest.raises(DataError, match=r"the page '.*gone.html' cannot be read: No such file"):
        page_bytes(tmp_path / "gone.html")


def test_distances_are_the_fewest_clicks() -> None:
    assert distances({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["a"]}, "a") == {"a": 0, "b": 1, "c": 1, "d": 2}
