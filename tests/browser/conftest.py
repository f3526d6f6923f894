"""One browser and one filled service for all tests of this folder in a process.

The browser runs an event loop in the thread of the tests, so it has to be gone before the tests of other folders.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser import chromium
from tests.browser.filled_site import SETTINGS, FilledSite, fill
from tests.live_service import Live


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    with chromium.launched(chromium.executable()) as started:
        yield started


@pytest.fixture(scope="package")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilledSite]:
    """A service with real challenges, people and submissions, which tests only read."""
    live = Live(tmp_path_factory.mktemp("site") / "data", **SETTINGS).with_analyses().start()
    try:
        yield fill(live)
    finally:
        live.stop()
