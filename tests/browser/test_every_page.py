"""Every page of the table: accessible, narrow, printed, without motion, without scripts, light, and free of errors."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page

from tests.browser import axe, chromium, measures
from tests.browser.filled_site import FilledSite
from tests.browser.page_table import VIEWS, PageView

WIDTH, HEIGHT = 1280, 900
PAPER_WIDTH = 718  # of A4 between its margins, at 96 px an inch
SETTLED = "() => document.getAnimations().forEach((each) => each.finish())"
"""Ends every change of colour that is going on; its own end may never come in a window that is not drawn."""


@dataclass
class Opened:
    """A page as it was opened, and what was sent for it."""

    view: PageView
    page: Page
    faults: chromium.Faults
    bytes_by_address: dict[str, int]

    def look(self, width: int = WIDTH, height: int = HEIGHT, **media: Any) -> Page:
        """The page in a window of this size and with these media features."""
        self.page.set_viewport_size({"width": width, "height": height})
        features: dict[str, Any] = {"media": "screen", "color_scheme": "light", "reduced_motion": "no-preference"}
        self.page.emulate_media(**features | media)
        self.page.evaluate(SETTLED)
        return self.page


def _count_bytes(session: CDPSession) -> dict[str, int]:
    """The bytes of each reply over the wire, with its headers, by address; streams that do not end are not counted."""
    addresses: dict[str, str] = {}
    counted: dict[str, int] = {}

    def finished(event: dict[str, Any]) -> None:
        address = addresses.get(event["requestId"], "")
        counted[address] = counted.get(address, 0) + int(event["encodedDataLength"])

    session.on(
        "Network.requestWillBeSent", lambda event: addresses.update({event["requestId"]: event["request"]["url"]})
    )
    session.on("Network.loadingFinished", finished)
    session.send("Network.enable")
    return counted


@pytest.fixture(scope="module", params=[pytest.param(view, id=view.name) for view in VIEWS])
def opened(request: pytest.FixtureRequest, browser: Browser, site: FilledSite) -> Iterator[Opened]:
    """One page of the table, opened once for the tests below."""
    view: PageView = request.param
    size = {"width": WIDTH, "height": HEIGHT}
    with chromium.visit(browser, site.url, site.cookies(view.role), viewport=size) as (context, faults):
        page = context.new_page()
        counted = _count_bytes(context.new_cdp_session(page))
        chromium.show(page, view.address(site.names), view.status)
        yield Opened(view, page, faults, counted)


def test_axe_finds_nothing(opened: Opened) -> None:
    assert axe.violations(opened.look(color_scheme="light")) == []


def test_axe_finds_nothing_in_dark_colours(opened: Opened) -> None:
    assert axe.violations(opened.look(color_scheme="dark"), colours_only=True) == []


def test_nothing_scrolls_sideways_at_320_px_except_regions_that_say_so(opened: Opened) -> None:
    assert measures.ask(opened.look(320, 640), measures.SCROLLS_SIDEWAYS) == []


def test_nothing_scrolls_sideways_at_a_zoom_of_200_percent(opened: Opened) -> None:
    assert measures.ask(opened.look(WIDTH // 2, HEIGHT // 2), measures.SCROLLS_SIDEWAYS) == []


def test_no_row_or_column_of_a_table_sticks(opened: Opened) -> None:
    for width in (320, WIDTH):
        assert measures.ask(opened.look(width), measures.STICKY_CELLS) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_shows_the_whole_content_without_navigation_and_forms(opened: Opened, scheme: chromium.Scheme) -> None:
    page = opened.look(PAPER_WIDTH, 1000, media="print", color_scheme=scheme)
    assert measures.ask(page, measures.ON_PAPER) == []
    assert measures.ask(page, measures.UNREADABLE_ON_WHITE) == []


def test_nothing_moves_for_those_who_ask_for_less_motion(opened: Opened) -> None:
    assert measures.ask(opened.look(reduced_motion="reduce"), measures.MOTION) == []


def test_no_script_holds_up_the_first_paint(opened: Opened) -> None:
    assert measures.ask(opened.look(), measures.BLOCKING_SCRIPTS) == []


def test_it_weighs_little_over_the_wire(opened: Opened) -> None:
    weights = {address: size for address, size in opened.bytes_by_address.items() if not address.endswith(".woff2")}
    assert weights
    assert sum(weights.values()) < opened.view.max_bytes, weights


def test_the_console_shows_no_error_and_no_violation_of_the_policy(opened: Opened) -> None:
    assert opened.page.locator("h1").count() == 1
    opened.faults.require_none()


def test_without_scripts_it_has_the_same_content(opened: Opened, browser: Browser, site: FilledSite) -> None:
    size = {"width": WIDTH, "height": HEIGHT}
    cookies = site.cookies(opened.view.role)
    with chromium.visit(browser, site.url, cookies, viewport=size, java_script_enabled=False) as (context, faults):
        page = context.new_page()
        chromium.show(page, opened.view.address(site.names), opened.view.status)
        content = Counter(measures.ask(page, measures.CONTENT))
        assert content == Counter(measures.ask(opened.look(), measures.CONTENT))
        faults.require_none()
