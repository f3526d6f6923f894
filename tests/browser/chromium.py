"""Debian's Chromium, run by Playwright: it reaches this machine alone, and what goes wrong in a page is written down."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.optional_tools import skip_or_fail

APT_LINE = "apt-get install --no-install-recommends chromium-headless-shell fonts-dejavu-core"
PROGRAMS = ("chromium-headless-shell", "chromium")
"""The same engine: the first has no windows to manage, which halves the cost of a page."""
LOCALE = "en-GB"
TIMEOUT_MILLISECONDS = 30_000.0
expect.set_options(timeout=4 * TIMEOUT_MILLISECONDS)  # what a page follows may take as long as the machine is busy
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
"""Arguments with which Chromium asks for no address outside this machine."""


def executable() -> str:
    """The path of Chromium; skips the test where there is none, unless ASSAY_REQUIRE names it."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        skip_or_fail("chromium", f"no command {' or '.join(PROGRAMS)}; on Debian: {APT_LINE}")
    return found


@contextmanager
def launched(path: str) -> Iterator[Browser]:
    """A browser without a window."""
    environment: dict[str, str | float | bool] = {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=list(QUIET), env=environment, timeout=4 * TIMEOUT_MILLISECONDS
        )
        try:
            yield browser
        finally:
            browser.close()


class Faults:
    """What goes wrong in the pages of a context: errors of scripts, of the policy, of the network, foreign addresses."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.found: list[str] = []
        self._host = urlsplit(url).netloc
        context.on("console", self._console)
        context.on("weberror", lambda error: self.found.append(f"script: {error.error}"))
        context.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not _is_status_of_page(message):
            self.found.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in {"data", "blob"} and address.netloc != self._host:
            self.found.append(f"request to another origin: {request.url}")

    def require_none(self) -> None:
        """Fail if there were any."""
        assert not self.found, "\n".join(self.found)


def _is_status_of_page(message: ConsoleMessage) -> bool:
    """Whether the message only says that a page, such as that of an error, has a status of 400 or more."""
    return message.page is not None and message.location["url"] == message.page.url and "status of" in message.text


Scheme = Literal["light", "dark"]


@contextmanager
def visit(
    browser: Browser, url: str, cookies: list[dict[str, Any]] | None = None, **options: Any
) -> Iterator[tuple[BrowserContext, Faults]]:
    """A context of one person, with the cookies of a session; options are those of Playwright's `new_context`."""
    settings: dict[str, Any] = {"locale": LOCALE, "timezone_id": "Europe/Vienna", "color_scheme": "light"}
    context = browser.new_context(base_url=url, **settings | options)
    context.set_default_timeout(TIMEOUT_MILLISECONDS)
    faults = Faults(context, url)
    if cookies:
        context.add_cookies(cookies)  # type: ignore[arg-type]
    try:
        yield context, faults
    finally:
        context.close()


def show(page: Page, path: str, status: int = 200) -> None:
    """Open a path and wait until its style sheet and its scripts have run."""
    answer = page.goto(path, wait_until="load")
    assert answer is not None
    assert answer.status == status, f"{path}: {answer.status}"
