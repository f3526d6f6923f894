"""The measures find what they are for, on pages that have these faults."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser import axe, chromium, measures

WIDE = "<div style='width: 500px'>wide</div>"
CELL = "<table><tr><th>Team</th></tr></table>"


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """An empty page, 320 px wide."""
    with chromium.visit(browser, "http://127.0.0.1", viewport={"width": 320, "height": 600}) as (context, _):
        yield context.new_page()


@pytest.mark.parametrize(
    ("measure", "body", "words"),
    [
        (measures.SCROLLS_SIDEWAYS, WIDE, "508 px wide in a window of 320 px"),
        (measures.SCROLLS_SIDEWAYS, f"<div style='overflow-x: auto'>{WIDE}</div>", "does not say so"),
        (measures.SCROLLS_SIDEWAYS, f"<div style='overflow: hidden'>{WIDE}</div>", "is cut"),
        (measures.STICKY_CELLS, f"<style>th {{ position: sticky; left: 0 }}</style>{CELL}", "Team"),
        (measures.MOTION, "<style>p { transition: color 1s }</style><p>moves</p>", "transition"),
        (
            measures.MOTION,
            "<style>@keyframes k {} p::before { content: ''; animation: k 1s }</style><p>p</p>",
            "animation",
        ),
        (measures.ON_PAPER, "<main><h1>h</h1><form><button>Send</button></form></main>", "is printed: form > button"),
        (measures.ON_PAPER, f"<main><h1>h</h1><div style='overflow: auto'>{WIDE}</div></main>", "is cut on paper"),
        (measures.ON_PAPER, "<main></main>", "the heading is not printed"),
        (measures.UNREADABLE_ON_WHITE, "<main><p style='color: #aaa'>pale</p></main>", "contrast 2.3"),
        (measures.BLOCKING_SCRIPTS, "<script>1</script>", "script"),
    ],
)
def test_a_measure_finds_its_fault(page: Page, measure: str, body: str, words: str) -> None:
    page.set_content(f"<!doctype html><title>t</title>{body}")
    assert words in "\n".join(measures.ask(page, measure))


def test_a_region_that_says_that_it_scrolls_may_be_wide(page: Page) -> None:
    region = f"<div role=region tabindex=0 aria-label='Board; scrolls sideways' style='overflow-x: auto'>{WIDE}</div>"
    page.set_content(f"<!doctype html><title>t</title>{region}")
    assert measures.ask(page, measures.SCROLLS_SIDEWAYS) == []


def test_axe_runs_in_the_page(page: Page) -> None:
    page.set_content("<!doctype html><title>t</title><main><h1>h</h1><input></main>")
    assert "Form elements must have labels" in "\n".join(axe.violations(page))
    page.set_content("<!doctype html><title>t</title><main style='color: #ccc; background: #fff'><h1>h</h1>text</main>")
    assert "color-contrast" in "\n".join(axe.violations(page, colours_only=True))


def test_errors_and_requests_to_other_origins_are_written_down(browser: Browser) -> None:
    with chromium.visit(browser, "http://127.0.0.1") as (context, faults):
        page = context.new_page()
        page.set_content("<script>undefined_name()</script><img alt='' src='http://elsewhere.example/x.png'>")
        text = "\n".join(faults.found)
    assert "undefined_name" in text
    assert "request to another origin: http://elsewhere.example/x.png" in text


def test_what_scripts_add_and_what_they_remove_is_named(page: Page) -> None:
    sent = "<!doctype html><title>t</title><main><h1>h</h1><a href='/kept'>k</a><a href='/lost'>l</a></main>"
    page.set_content(sent)
    page.evaluate("document.querySelector('[href=\"/lost\"]').setAttribute('href', '/added')")
    found = measures.differences(measures.content(page), measures.content(page, sent))
    assert found == ["only with scripts: link: /added", "only without scripts: link: /lost"]
