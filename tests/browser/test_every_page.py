"""Every page of the table: accessible, narrow, printed, without motion, without scripts, light, and free of errors.

Logging in is tried here too, so that one process alone fills a site.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from tests.browser import axe, chromium, measures
from tests.browser.filled_site import FilledSite
from tests.browser.page_table import VIEWS, PageView
from tests.browser.person import WAYS, Way, person

WIDTH, HEIGHT = 1280, 900
PAPER_WIDTH = 718  # of A4 between its margins, at 96 px an inch
SETTLED = "() => document.getAnimations().forEach((each) => each.finish())"
"""Ends every change of colour that is going on; its own end may never come in a window that is not drawn."""


@dataclass
class Tab:
    """A tab of one person, in which their pages are opened one after the other, and what was sent for the last one."""

    page: Page
    faults: chromium.Faults
    bytes_by_address: dict[str, int]

    def open(self, address: str, status: int) -> None:
        """Open a page as a new visitor does, who has no part of it yet."""
        self.faults.found.clear()
        self.bytes_by_address.clear()
        self.look()
        chromium.show(self.page, address, status)

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
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    return counted


@pytest.fixture(scope="module")
def tab_of(browser: Browser, site: FilledSite) -> Iterator[Callable[[str], Tab]]:
    """Gives the tab of a person, each in a context of their own."""
    tabs: dict[str, Tab] = {}
    with ExitStack() as contexts:

        def find(role: str) -> Tab:
            if role not in tabs:
                context, faults = contexts.enter_context(chromium.visit(browser, site.url, site.cookies(role)))
                context.add_init_script(axe.SCRIPT)
                page = context.new_page()
                tabs[role] = Tab(page, faults, _count_bytes(context.new_cdp_session(page)))
            return tabs[role]

        yield find


def _accessible(tab: Tab) -> Iterator[str]:
    """What axe finds in the page as it opened; in dark colours only these differ."""
    yield from axe.violations(tab.page)
    yield from axe.violations(tab.look(color_scheme="dark"), colours_only=True)


def _fits_and_is_calm(tab: Tab) -> Iterator[str]:
    """What scrolls sideways in a telephone or at a zoom of 200 %, except regions that say so; what sticks; what moves."""
    page = tab.look(WIDTH // 2, HEIGHT // 2, reduced_motion="reduce")
    yield from measures.ask(page, measures.SCROLLS_SIDEWAYS)
    yield from measures.ask(page, measures.MOTION)
    page = tab.look(320, 640)
    yield from measures.ask(page, measures.SCROLLS_SIDEWAYS)
    yield from measures.ask(page, measures.STICKY_CELLS)


def _prints(tab: Tab) -> Iterator[str]:
    """What paper does not show of the content, or shows of navigation and forms, by either scheme of colours."""
    for scheme in ("light", "dark"):
        page = tab.look(PAPER_WIDTH, 1000, media="print", color_scheme=scheme)
        yield from measures.ask(page, measures.ON_PAPER)
        yield from measures.ask(page, measures.UNREADABLE_ON_WHITE)


def _light(tab: Tab, view: PageView) -> Iterator[str]:
    """What weighs too much over the wire, or holds up the first paint."""
    weights = {address: size for address, size in tab.bytes_by_address.items() if not address.endswith(".woff2")}
    if not 0 < sum(weights.values()) < view.max_bytes:
        yield f"it weighs {weights}"
    yield from measures.ask(tab.page, measures.BLOCKING_SCRIPTS)


def _whole_without_scripts(tab: Tab, address: str) -> Iterator[str]:
    """What the page as it was sent, in which no script has run, has more or less."""
    sent = tab.page.context.request.get(address, headers={"Accept": "text/html"}, max_retries=1).text()
    yield from measures.differences(measures.content(tab.page), measures.content(tab.page, sent))


@pytest.mark.parametrize("view", [pytest.param(view, id=view.name) for view in VIEWS])
def test_a_page_is_accessible_narrow_calm_printed_light_and_whole_without_scripts(
    view: PageView, site: FilledSite, tab_of: Callable[[str], Tab]
) -> None:
    tab, address = tab_of(view.role), view.address(site.names)
    tab.open(address, view.status)
    found: dict[str, Iterable[str]] = {
        "without cells that stick": measures.ask(tab.page, measures.STICKY_CELLS),
        "accessible": _accessible(tab),
        "narrow and calm": _fits_and_is_calm(tab),
        "printed": _prints(tab),
        "light": _light(tab, view),
        "whole without scripts": _whole_without_scripts(tab, address),
    }
    wrong = [f"not {claim}: {fault}" for claim, faults in found.items() for fault in faults]
    if tab.page.locator("h1").count() != 1:
        wrong.append("not one h1")
    assert wrong + tab.faults.found == []


# ---- logging in: with a mouse, with a keyboard alone, and without scripts


@pytest.mark.parametrize("way", WAYS)
def test_somebody_logs_in_after_a_wrong_password_and_out_again(browser: Browser, site: FilledSite, way: Way) -> None:
    with person(browser, site.url, way) as stranger:
        stranger.go("/").follow("Log in")
        stranger.sees_heading("Log in")
        stranger.write("E-mail address", site.people["stranger"].email)
        stranger.write("Password", "not the password")
        stranger.press("Log in")
        stranger.sees("There is a problem")
        stranger.write("Password", "a password for tests")
        stranger.press("Log in")
        stranger.sees("Sam Stranger")
        stranger.press("Log out")
        stranger.sees("You are logged out.")
        stranger.does_not_see("Sam Stranger")
        assert stranger.page.url == f"{site.url}/"
        stranger.page.reload()
        stranger.sees("Log in")
        stranger.does_not_see("You are logged out.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_refused_form_leads_to_its_problems(browser: Browser, site: FilledSite, scheme: chromium.Scheme) -> None:
    with person(browser, site.url, color_scheme=scheme) as stranger:
        stranger.go("/log-in")
        stranger.write("E-mail address", site.people["stranger"].email)
        stranger.write("Password", "not the password")
        stranger.press("Log in")
        expect(stranger.page.locator("#errors")).to_be_focused()
        expect(stranger.page).to_have_title(re.compile("^Error: "))
        assert axe.violations(stranger.page) == []


def test_the_first_key_leads_past_the_navigation(browser: Browser, site: FilledSite) -> None:
    with person(browser, site.url, "keyboard") as visitor:
        visitor.go("/").follow("Skip to the content")
        expect(visitor.page.locator("main")).to_be_focused()


def test_somebody_returns_to_the_page_that_needed_an_account(browser: Browser, site: FilledSite) -> None:
    with person(browser, site.url) as captain:
        captain.go("/log-in?next=/catalogue%3Fq%3Drecall")
        captain.write("E-mail address", site.people["captain"].email)
        captain.write("Password", "a password for tests")
        captain.press("Log in")
        captain.sees("Bea Blue")
        assert captain.page.url == f"{site.url}/catalogue?q=recall"
