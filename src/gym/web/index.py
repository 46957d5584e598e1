"""A full-text index over folders of static HTML by SQLite's FTS5, ranked by BM25: no server, no key.

Pages are indexed part by part, so that a hit in a long page says where in it. An index is a file in the user's cache under
the digest of everything it was made of: what has not changed is never read twice. A model's query is words, never syntax.
"""

import asyncio
import hashlib
import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import quote

from lxml import etree

from gym import __version__
from gym.core.text import word_set
from gym.errors import ConfigError, StorageError
from gym.llm.local.weights import cache_dir
from gym.web.charset import decoded
from gym.web.readable import read_html
from gym.web.searching import Hit
from gym.web.survey import Done, found, is_page, page_bytes, untold

FORMAT = "2"
"""Of the index; part of its name."""
MOST_WORDS = 32
"""Of a query; what follows is not looked for."""
TITLE_WEIGHT = 4.0
"""A word in the title counts as much as so many in the text."""
SNIPPET_TOKENS = 40
COMMON = word_set(
    "a an and are as at be been by can did do does for from had has have how in is it its may of on or that the their there "
    "these this to was were what when where which who whose why will with would"
)
"""Words that nearly every page has: they cost most of a search's time and say nothing."""

_SCHEMA = """
CREATE VIRTUAL TABLE parts USING fts5(
    url UNINDEXED, number UNINDEXED, of UNINDEXED, title, body, tokenize = "porter unicode61 remove_diacritics 2"
)
"""
_BEST = f"SELECT rowid FROM parts WHERE parts MATCH ? AND rank MATCH 'bm25(0, 0, 0, {TITLE_WEIGHT}, 1)' ORDER BY rank, rowid"
"""Rows are in the order of their URLs; texts are read for those alone that are shown."""
_ROW = "SELECT url, number, of, title FROM parts WHERE rowid = ?"
_SNIPPET = f"SELECT snippet(parts, 4, '', '', '…', {SNIPPET_TOKENS}) FROM parts WHERE parts MATCH ? AND rowid = ?"


class File(NamedTuple):
    """A page of a folder and where it is served."""

    path: Path
    url: str


def pages_of(host: str, folder: Path) -> list[File]:
    """The pages of a host's folder in the order of their URLs."""
    names = filter(is_page, found(folder))
    return sorted((File(folder / name, f"http://{host}/{quote(name)}") for name in names), key=lambda file: file.url)


def pages_digest(host: str, folder: Path) -> str:
    """SHA-256 of a host's pages and their addresses."""
    digest = hashlib.sha256()
    for file in pages_of(host, folder):
        digest.update(f"\0{file.url}\0".encode())
        digest.update(hashlib.sha256(page_bytes(file.path)).digest())
    return digest.hexdigest()


def match_query(query: str) -> str:
    """What FTS5 is asked for: any of the words, each in quotes, so that nothing in them is an operator.

    >>> match_query('Who "leads" NEAR(Halden* OR x)?'), match_query("-^*")
    ('"leads" OR "NEAR" OR "Halden" OR "x"', '')
    """
    words = re.findall(r"\w+(?:[.\-']\w+)*", query.encode("utf-8", "ignore").decode("utf-8"))
    telling = [word for word in words if word.casefold() not in COMMON] or words
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(telling[:MOST_WORDS]))


class SiteIndex:
    """An open index; a `Searcher`. Use `SiteIndex.of`, and close it."""

    def __init__(self, path: Path, *, shows: Callable[[str], bool] = lambda url: True) -> None:
        """`shows` says which URLs may be among the hits. Raises `StorageError` for a file that is no index."""
        self.path = path
        self._shows = shows
        self._lock = asyncio.Lock()  # one thread reads at a time: more would only wait inside SQLite
        self._pages = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
        try:
            self.size: int = self._pages.execute("SELECT count(DISTINCT url) FROM parts").fetchone()[0]
            """Pages."""
        except sqlite3.DatabaseError as error:
            self.close()
            raise StorageError(f"{str(path)!r} is no index, or a damaged one ({error}): delete it") from error

    @classmethod
    def of(
        cls,
        sites: Mapping[str, Path],
        *,
        cache: Path | None = None,
        shows: Callable[[str], bool] = lambda url: True,
        say: Callable[[str], None] = lambda text: None,
        done: Done = untold,
    ) -> Self:
        """The index of each host's folder, made when there is none of the same pages yet; what `done` raises ends the making.

        Raises `ConfigError` for a folder that does not exist or holds no page, `StorageError` when it cannot be written.
        """
        digests = [pages_digest(host, sites[host]) for host in sorted(sites)]
        path = (cache or cache_dir("web-index")) / f"{_name(digests)}.sqlite"
        if not os.path.exists(path):
            files = [file for host in sorted(sites) for file in pages_of(host, sites[host])]
            if not files:
                raise ConfigError(f"there is no page in {', '.join(str(folder) for folder in sites.values())}")
            say(f"indexing {len(files):,} pages of {', '.join(sorted(sites))}")
            _write(path, files, done)
        return cls(path, shows=shows)

    async def search(self, query: str, *, count: int) -> tuple[Hit, ...]:
        """At most `count` pages, each at its best part; equally good ones in the order of their URLs."""
        async with self._lock:
            return await asyncio.to_thread(self.find, query, count=count)

    def find(self, query: str, *, count: int) -> tuple[Hit, ...]:
        """What `search` gives, for whoever may wait some hundredths of a second."""
        hits: dict[str, Hit] = {}
        if asked := match_query(query):
            for (row,) in self._pages.execute(_BEST, (asked,)):
                if len(hits) == count:
                    break
                url, number, of, title = self._pages.execute(_ROW, (row,)).fetchone()
                if url not in hits and self._shows(url):
                    (snippet,) = self._pages.execute(_SNIPPET, (asked, row)).fetchone()
                    hits[url] = Hit(title=title, url=url, snippet=_told(snippet, number, of))
        return tuple(hits.values())

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._pages.close()


def _name(digests: Sequence[str]) -> str:
    """Of the pages, and of what reads them."""
    made_by = f"{FORMAT} {__version__} {etree.LXML_VERSION}"
    return hashlib.sha256("\n".join([made_by, *digests]).encode()).hexdigest()


def _told(snippet: str, number: int, of: int) -> str:
    text = " ".join(snippet.split())
    return text if of == 1 else f"(part {number} of {of}) {text}"


def _write(path: Path, files: Sequence[File], done: Done) -> None:
    """The index as a whole or not at all: made beside its place and moved there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        os.close(handle)
    except OSError as error:
        raise StorageError(f"the index {str(path)!r} cannot be written: {error.strerror}") from error
    try:
        with closing(sqlite3.connect(temporary, isolation_level=None)) as pages:
            pages.execute("PRAGMA synchronous = OFF")
            pages.execute(_SCHEMA)
            pages.execute("BEGIN")
            pages.executemany("INSERT INTO parts VALUES (?, ?, ?, ?, ?)", _rows(files, done))
            pages.execute("COMMIT")
            pages.execute("INSERT INTO parts(parts) VALUES ('optimize')")
        os.replace(temporary, path)
    except (OSError, sqlite3.OperationalError) as error:
        raise StorageError(f"the index {str(path)!r} cannot be written: {error}") from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _rows(files: Sequence[File], done: Done) -> Iterator[tuple[str, int, int, str, str]]:
    for number, file in enumerate(files, 1):
        page = read_html(file.url, decoded(page_bytes(file.path)))
        for part in page.parts():
            yield file.url, part.number, part.of, page.title, part.text
        done(number, len(files))
