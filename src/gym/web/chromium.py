"""One installed Chromium for a run, driven by Playwright (the extra [web]), which downloads none.

The browser reaches nothing by itself: its proxy is a name that cannot exist, so that whatever slips past the interception of
requests (redirects, sockets, prefetches, a second answer of a name server) ends there. It knows none of our keys.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from gym.errors import ConfigError, MissingExtra

try:
    from playwright.async_api import Browser, BrowserContext, Error, Playwright, TimeoutError, async_playwright
except ImportError as error:
    raise MissingExtra("the browser fetcher", "web") from error

BrowserError, BrowserTimeout = Error, TimeoutError
"""A page or the browser broke; the page was not ready in time."""

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
PLACES = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
ARGUMENTS = (
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=512",
)
PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR")
"""Of our environment."""


def find_chromium() -> str:
    """The installed browser; raises `ConfigError` when there is none."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    found = found or next((place for place in PLACES if Path(place).exists()), None)
    if found is None:
        raise ConfigError(
            "the browser fetcher needs an installed Chromium or Chrome (apt-get install chromium), or take web_fetcher: http"
        )
    return found


class Chromium:
    """Started for the first page, and anew when it has ended.

    Invariant: at most one browser lives at a time, and it is replaced only under `_lock`.
    """

    def __init__(self, path: str, say: Callable[[str], None]) -> None:
        self._path, self._say = path, say
        self._lock = asyncio.Lock()
        self._driver: Playwright | None = None
        self._browser: Browser | None = None

    @asynccontextmanager
    async def context(self) -> AsyncIterator[BrowserContext]:
        """A context with nothing of any other in it; its pages are closed in the end, also busy ones."""
        browser = await self.start()
        context = await browser.new_context(service_workers="block", accept_downloads=False)
        try:
            yield context
        finally:
            with suppress(Error):
                await context.close()

    def alive(self) -> bool:
        """Whether there is a browser that answers."""
        return self._browser is not None and self._browser.is_connected()

    async def close(self) -> None:
        """End the browser and its driver."""
        async with self._lock:
            await self._end()

    async def start(self) -> Browser:
        """The browser; raises `ConfigError` when it does not start."""
        async with self._lock:
            if self._browser is None or not self._browser.is_connected():
                await self._end()
                self._driver = await async_playwright().start()
                self._browser = await self._launched(self._driver)
            return self._browser

    async def _launched(self, driver: Playwright) -> Browser:
        """In its sandbox where that works: not as root, nor in every container."""
        if os.geteuid() != 0:
            with suppress(Error):
                return await self._launch(driver, sandbox=True)
        self._say("the browser runs without its sandbox here: visit hosts that you trust")
        try:
            return await self._launch(driver, sandbox=False)
        except Error as error:
            raise ConfigError(f"{self._path} does not start: {error.message.splitlines()[0]}") from error

    async def _launch(self, driver: Playwright, *, sandbox: bool) -> Browser:
        return await driver.chromium.launch(
            executable_path=self._path,
            args=ARGUMENTS,
            chromium_sandbox=sandbox,
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            proxy={"server": "http://no-proxy.invalid:9", "bypass": "<-loopback>"},
            env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
        )

    async def _end(self) -> None:
        browser, driver, self._browser, self._driver = self._browser, self._driver, None, None
        try:
            if browser is not None:
                with suppress(Error):
                    await browser.close()
        finally:
            if driver is not None:
                with suppress(Error):
                    await driver.stop()
