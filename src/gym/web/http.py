"""Pages over plain HTTP: the default fetcher.

Reading a large page takes a second, so it is done in one of two threads, which lxml leaves the others free of.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from typing import NamedTuple

from yarl import URL

from gym.web.charset import decoded
from gym.web.client import Answer
from gym.web.fetching import Refusal, too_slow
from gym.web.page import Page
from gym.web.readable import read_html, read_text
from gym.web.visitor import Visitor

READERS = 2
"""Pages that are turned into text at a time."""
HTML = ("text/html", "application/xhtml+xml")
SAYING_NOTHING = ("application/octet-stream", "*/*", "unknown/unknown")
MARKS = {b"%PDF": "a PDF document", b"PK\x03\x04": "an archive", b"\xff\xd8\xff": "an image", b"GIF8": "an image"}
"""How bodies begin that are sent as text and are none."""
KINDS = {"application/pdf": "a PDF document", "image": "an image", "video": "a video", "audio": "a sound"}


class HttpFetcher:
    """A `gym.web.fetching.Fetcher` over a visitor."""

    def __init__(self, visitor: Visitor, read: "Reader") -> None:
        self._visitor, self._read = visitor, read

    async def fetch(self, url: str) -> Page | Refusal:
        """The page, or why there is none."""
        try:
            async with asyncio.timeout(self._visitor.limits.seconds) as deadline:
                answer = await self._visitor.visit(url, deadline, unwanted)
                return answer if isinstance(answer, Refusal) else await self._read(answer)
        except TimeoutError:
            return too_slow(url, self._visitor.limits.seconds)


Reader = Callable[[Answer], Awaitable[Page | Refusal]]
"""`page_of` beside the event loop."""


@contextmanager
def reading() -> Iterator[Reader]:
    """Threads that read pages, until the context ends; nobody waits for what is still read then."""
    threads = ThreadPoolExecutor(READERS, thread_name_prefix="web-page")

    async def read(answer: Answer) -> Page | Refusal:
        return await asyncio.get_running_loop().run_in_executor(threads, page_of, answer)

    try:
        yield read
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def page_of(answer: Answer) -> Page | Refusal:
    """An answer as a page; a status from 400 on is a refusal."""
    url = str(answer.url)
    if answer.status >= 400:
        return refused_status(url, answer.status)
    kind, charset = content_type(answer.headers.get("Content-Type", ""))
    if what := _no_text(answer.body, charset):
        return Refusal(url=url, label="type", reason=f"it is {what}, and only text can be read here")
    text = decoded(answer.body, charset)
    if kind in HTML or (not kind and text.lstrip()[:1] == "<"):
        return read_html(url, text)
    return read_text(url, text)


def _no_text(body: bytes, charset: str) -> str:
    """What a body is that is no text, whatever its header says; empty for text."""
    if what := next((what for mark, what in MARKS.items() if body.startswith(mark)), ""):
        return what
    wide = charset.startswith(("utf-16", "utf-32")) or body.startswith((b"\xff\xfe", b"\xfe\xff"))
    return "no text" if b"\0" in body[:1024] and not wide else ""


def refused_status(url: str, status: int) -> Refusal:
    """A server's no, in words."""
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "an error"
    said = "there is no such page" if status in (404, 410) else f"the server says {phrase}"
    return Refusal(url=url, label="status", status=status, reason=said)


def unwanted(url: URL, header: str) -> Refusal | None:
    """Why a page of this type is not read: only text is."""
    kind, _ = content_type(header)
    family, _, form = kind.partition("/")
    if not kind or family == "text" or kind in HTML or form.endswith(("json", "xml", "javascript", "yaml")):
        return None
    what = KINDS.get(kind) or KINDS.get(family) or f"of {_named(kind)}"
    return Refusal(url=str(url), label="type", reason=f"it is {what}, and only text can be read here")


def _named(kind: str) -> str:
    """A type that is a word; what else a server calls one may be anybody's words."""
    return f"the type {kind}" if re.fullmatch(r"[a-z]{1,20}/[\w.+-]{1,40}", kind) else "an unknown type"


class ContentType(NamedTuple):
    """Of a header, in lower case; what it does not say is empty."""

    kind: str
    charset: str


def content_type(header: str) -> ContentType:
    """What a header says; types that say nothing are left out.

    >>> content_type('Text/HTML; Charset="UTF-8"'), content_type("application/octet-stream")
    (ContentType(kind='text/html', charset='utf-8'), ContentType(kind='', charset=''))
    """
    kind, *parameters = (piece.strip() for piece in header.lower().split(";"))
    charsets = (one.removeprefix("charset=") for one in parameters if one.startswith("charset="))
    return ContentType("" if kind in SAYING_NOTHING else kind, next(charsets, "").strip().strip("\"'"))
