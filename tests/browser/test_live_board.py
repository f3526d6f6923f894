"""A board in a browser: it follows new scores by itself, and it stands in a frame of another site."""

import functools
import threading
from collections.abc import Iterator
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import chromium
from tests.browser.person import Person, person
from tests.journeys.support import CORRECT_PREDICTIONS, GOLD, predictions_with_hits, require_finished
from tests.live_service import Caller, Live, eventually, open_challenge

TEAMS = "#board tbody th > :first-child"


@pytest.fixture(scope="module")
def organizer(live: Live, browser: Browser) -> Caller:
    """The organizer of a challenge with one entry on its board."""
    made = live.admin()
    open_challenge(made, "boats", GOLD, title="Boats")
    require_finished(made.submit("boats", predictions_with_hits(2), team="Rowers"))
    return made


def team_names(page: Page) -> list[str]:
    """The teams, from the top of the board down."""
    return page.locator(TEAMS).all_inner_texts()


def test_a_new_score_appears_without_a_reload_and_focus_stays_where_it_is(
    live: Live, organizer: Caller, browser: Browser
) -> None:
    with person(browser, live.url) as reader:
        page = reader.go("/challenges/boats/leaderboard").page
        expect(page.locator(TEAMS)).to_have_text(["Rowers"])
        page.evaluate("document.reloaded = false")
        link = page.locator("#board thead a").first
        link.focus()
        require_finished(organizer.submit("boats", CORRECT_PREDICTIONS, team="Sailors"))
        expect(page.locator(TEAMS)).to_have_text(["Sailors", "Rowers"])
        assert page.evaluate("document.reloaded") is False
        expect(page.locator("#board thead a").first).to_be_focused()


def test_without_scripts_a_reload_shows_the_new_score(live: Live, organizer: Caller, browser: Browser) -> None:
    with person(browser, live.url, "no scripts") as reader:
        reader.go("/challenges/boats/leaderboard")
        before = team_names(reader.page)
        require_finished(organizer.submit("boats", CORRECT_PREDICTIONS, team="Divers"))

        def shows_it() -> bool:  # a board that only new scores change is built at most once a second
            reader.page.reload()
            return set(team_names(reader.page)) == {*before, "Divers"}

        eventually(shows_it, "the new team is on the board")


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture
def other_site(tmp_path: Path, live: Live, organizer: Caller) -> Iterator[str]:
    """A site of another origin, with a board and a page of the service in frames."""
    frames = (
        f'<iframe id=board src="{live.url}/challenges/boats/leaderboard/embed"></iframe>'
        f'<iframe id=page src="{live.url}/challenges/boats/leaderboard"></iframe>'
        f'<iframe id=login src="{live.url}/log-in"></iframe>'
    )
    (tmp_path / "index.html").write_text(f"<!doctype html><title>Elsewhere</title>{frames}")
    server = HTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_only_the_embeddable_board_shows_in_a_frame_of_another_site(
    live: Live, other_site: str, browser: Browser
) -> None:
    with chromium.visit(browser, live.url) as (context, faults):
        page = Person(context.new_page()).log_in(live.person("framed").email).page
        page.goto(other_site)
        board = page.frame_locator("#board")
        expect(board.get_by_role("heading", level=1)).to_have_text("Boats")
        expect(board.get_by_text("Rowers")).to_be_visible()
        expect(board.get_by_text("framed")).to_have_count(0)
        for name in ("page", "login"):
            expect(page.frame_locator(f"#{name}").get_by_role("heading", level=1)).to_have_count(0)
        refused = [fault for fault in faults.found if "frame-ancestors" in fault]
        assert len(refused) == 2, faults.found
