"""pages.jsonl: what the web looked like to a run, a line an address or a query, written before anyone reads it.

What was seen once is what the run sees from then on, a refused page as well: a resumed run asks its model what it asked
before, and a replay needs no server. Texts are compressed and stay in the file. A torn last line is dropped, as in calls.jsonl.
"""

import asyncio
import json
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar
from urllib.parse import urldefrag
from weakref import WeakValueDictionary

from gym.errors import ConfigError, ConnectionFailed
from gym.llm.line_file import LineFile
from gym.web.fetching import Fetcher, Refusal
from gym.web.page import Page
from gym.web.searching import Hit, Searcher

T = TypeVar("T")

FILE = "pages.jsonl"
"""Its name in a run's folder."""

Kind = Literal["page", "refusal", "hits", "site"]
_GROUP: Mapping[Kind, str] = {"page": "fetch", "refusal": "fetch", "hits": "search", "site": "site"}


class Search(NamedTuple):
    """What a service was asked."""

    service: str
    query: str
    most: int
    """Hits that were asked for."""


def _now() -> datetime:
    return datetime.now(UTC)


class WebRecord:
    """An open pages.jsonl; use `WebRecord.open`. One writer at a time, from one thread.

    Invariant: `_places` holds, for each thing asked for, where its first line starts.
    """

    def __init__(self, file: LineFile, clock: Callable[[], datetime] = _now) -> None:
        self.path = file.path
        self.queries: Counter[str] = Counter()
        """Queries that a service answered, by its name."""
        self._file, self._clock = file, clock
        self._places: dict[tuple[str, str], int] = {}

    @classmethod
    def open(cls, path: Path, *, clock: Callable[[], datetime] = _now) -> Self:
        """The record at `path`, created when missing.

        Raises `ConfigError` naming a line that is no record and not the last, `StorageError` when it cannot be opened.
        """
        opened = cls(LineFile.open(path), clock)
        try:
            opened._file.load(opened._take, opened._damaged)
        except BaseException:
            opened.close()
            raise
        opened._file.keep_synced()
        return opened

    def __len__(self) -> int:
        return len(self._places)

    def fetched(self, url: str) -> Page | Refusal | None:
        """What was found at an address; None when nobody looked."""
        return self._find("fetch", url, _page_or_refusal)

    def keep_fetched(self, url: str, found: Page | Refusal) -> None:
        """Record what was found at an address."""
        self._append("page" if isinstance(found, Page) else "refusal", url, found.model_dump(mode="json"))

    def found(self, search: Search) -> tuple[Hit, ...] | None:
        """What a query gave; None when nobody asked, or nobody answered."""
        return self._find("search", _key(search), _hits)

    def keep_found(self, search: Search, found: Sequence[Hit]) -> None:
        """Record what a query gave."""
        self._append("hits", _key(search), [hit.model_dump(mode="json") for hit in found])
        self.queries[search.service] += 1

    def require_same(self, host: str, digest: str) -> None:
        """Remember the pages of a site by their digest; raises `ConfigError` when the run began with others."""
        known = self._find("site", host, lambda kind, value: str(value))
        if known is None:
            self._append("site", host, digest)
        elif known != digest:
            raise ConfigError(
                f"the pages of {host!r} are not those that this run began with: put them back, or give another --experiment-name"
            )

    def replays(self, host: str) -> bool:
        """Whether a run that began with this site has looked around since, and so can go on when the site is gone."""
        return ("site", host) in self._places and any(group != "site" for group, _ in self._places)

    def close(self) -> None:
        """Bring everything to the disk and close the file; a second call does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, kind: Kind, key: str, value: Any) -> None:
        line = {"at": self._clock().isoformat(timespec="seconds"), "kind": kind, "key": key, "value": value}
        if kind == "page":
            line["value"] = b64encode(zlib.compress(json.dumps(value).encode("ascii"))).decode("ascii")
        start = self._file.size
        self._file.append(json.dumps(line).encode("ascii") + b"\n")
        self._places.setdefault((_GROUP[kind], key), start)

    def _find(self, group: str, key: str, read: Callable[[str, Any], T]) -> T | None:
        if (start := self._places.get((group, key))) is None:
            return None
        line = _parsed(self._file.line_at(start))
        try:
            if line is None:
                raise ValueError("no JSON object of ours")
            packed = line["kind"] == "page"
            return read(
                line["kind"], json.loads(zlib.decompress(b64decode(line["value"]))) if packed else line["value"]
            )
        except (ValueError, TypeError, LookupError, zlib.error) as error:
            raise self._damaged(self._file.number_at(start)) from error

    def _take(self, line: bytes, start: int) -> bool:
        if (parsed := _parsed(line)) is None:
            return False
        self._places.setdefault((_GROUP[parsed["kind"]], parsed["key"]), start)
        if parsed["kind"] == "hits":
            self.queries[Search(*json.loads(parsed["key"])).service] += 1
        return True

    def _damaged(self, number: int) -> ConfigError:
        return ConfigError(f"{self.path}:{number}: not a record of a page; restore the file or delete this line")


class RecordedFetcher:
    """A `Fetcher` that looks into the record first; `inner` None: there is nothing behind it."""

    def __init__(self, inner: Fetcher | None, record: WebRecord) -> None:
        self._inner, self._record, self._turns = inner, record, _Turns()

    async def fetch(self, url: str) -> Page | Refusal:
        """What was found at the address when the run first looked."""
        url = urldefrag(url).url
        async with self._turns.of(url):
            if (known := self._record.fetched(url)) is not None:
                return known
            if self._inner is None:
                reason = "This page was not visited when the run was recorded, and its site is not there."
                return Refusal(url=url, reason=reason, label="connection")
            found = await self._inner.fetch(url)
            self._record.keep_fetched(url, found)
            return found


class RecordedSearcher:
    """A `Searcher` that looks into the record first; `inner` None: there is nothing behind it.

    `replayed` is told of each query that was answered from the record.
    """

    def __init__(
        self, name: str, inner: Searcher | None, record: WebRecord, replayed: Callable[[], None] = lambda: None
    ) -> None:
        self._name, self._inner, self._record, self._replayed = name, inner, record, replayed
        self._turns = _Turns()

    async def search(self, query: str, *, count: int) -> tuple[Hit, ...]:
        """What the query gave when the run first asked it. An error is not kept: a resumed run asks again."""
        search = Search(self._name, " ".join(query.split()), count)
        async with self._turns.of(_key(search)):
            if (known := self._record.found(search)) is not None:
                self._replayed()
                return known
            if self._inner is None:
                raise ConnectionFailed(
                    "this query was not asked when the run was recorded, and there is nothing to search"
                )
            found = await self._inner.search(search.query, count=search.most)
            self._record.keep_found(search, found)
            return found


class _Turns:
    """A lock for each thing asked for, as long as anybody asks for it: two that ask at once see the same."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, key: str) -> asyncio.Lock:
        return self._locks.setdefault(key, asyncio.Lock())


def _key(search: Search) -> str:
    return json.dumps(search)


def _parsed(line: bytes) -> dict[str, Any] | None:
    """A line of ours; None for anything else."""
    try:
        value = json.loads(line)
        if not isinstance(value, dict) or value.get("kind") not in _GROUP or "value" not in value:
            return None
        if value["kind"] == "hits":
            Search(*json.loads(value["key"]))
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return value if isinstance(value.get("key"), str) else None


def _page_or_refusal(kind: str, value: Any) -> Page | Refusal:
    return Page.model_validate(value) if kind == "page" else Refusal.model_validate(value)


def _hits(kind: str, value: Any) -> tuple[Hit, ...]:
    return tuple(map(Hit.model_validate, value))
