"""Log in and out by the page, with a mouse, with a keyboard alone, and without scripts."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import axe, chromium
from tests.browser.filled_site import FilledSite
from tests.browser.person import WAYS, Way, person


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
