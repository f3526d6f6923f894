"""Files that organizers upload, tried as scripts, style sheets and documents in a page: none gets the page's rights."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

from tests.browser import chromium
from tests.live_service import Live, open_challenge
from tests.web.conftest import GOLD

SCRIPT = "try { top.ran = true } catch { } ran = true; document.title = 'ran'"
FILES = {
    "a.js": ("text/javascript", SCRIPT),
    "a.mjs": ("text/javascript", f"{SCRIPT}; export {{}}"),
    "old.js": ("application/x-ecmascript", SCRIPT),
    "a.css": ("text/css", "body { outline: 7px solid red }"),
    "a.html": ("text/html", f"<script>{SCRIPT}</script><script src='a.js'></script>"),
    "a.svg": ("image/svg+xml", f'<svg xmlns="http://www.w3.org/2000/svg"><script>{SCRIPT}</script></svg>'),
    "a.xhtml": (
        "application/xhtml+xml",
        f'<html xmlns="http://www.w3.org/1999/xhtml"><script>{SCRIPT}</script></html>',
    ),
    "data.csv": ("text/csv", SCRIPT),
}
ADD = """
([kind, address]) => new Promise(done => {
  const [tag, name] = {script: ['script', 'src'], module: ['script', 'src'], sheet: ['link', 'href'],
                       frame: ['iframe', 'src'], object: ['object', 'data']}[kind];
  const added = document.createElement(tag);
  added.onload = () => done('loaded');
  added.onerror = () => done('refused');
  if (kind === 'module') added.type = 'module';
  if (kind === 'sheet') added.rel = 'stylesheet';
  added[name] = address;
  document.body.append(added);
})
"""
SCRIPTS = ("a.js", "a.mjs", "old.js", "data.csv", "a.html")
DOCUMENTS = ("a.html", "a.svg", "a.xhtml")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    running = Live(tmp_path_factory.mktemp("files") / "data", challenge_creation="approved").start()
    try:
        admin = running.admin()
        open_challenge(admin, "digits", GOLD)
        for name, (media, text) in FILES.items():
            params, headers = {"name": name, "licence": "CC0"}, {"Content-Type": media}
            path = "/challenges/digits/files"
            admin.post(path, params=params, content=text.encode(), headers=headers).raise_for_status()
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def tab(browser: Browser, live: Live) -> Iterator[Page]:
    with chromium.visit(browser, live.url) as (context, _):
        yield context.new_page()


@pytest.fixture
def page(tab: Page) -> Page:
    tab.goto("/challenges/digits")
    return tab


def added(page: Page, kind: str, address: str) -> str:
    outcome: str = page.evaluate(ADD, [kind, address])
    return outcome


def has_run(page: Page) -> bool:
    return bool(page.evaluate("() => 'ran' in window || document.title === 'ran'"))


@pytest.mark.parametrize("folder", ["/api/v1/challenges/digits/files/", "/challenges/digits/files/"])
def test_no_uploaded_file_runs_or_styles_a_page(page: Page, folder: str) -> None:
    assert added(page, "script", "/static/page.js") == "loaded"  # so this way of adding works
    for name in SCRIPTS:
        for kind in ("script", "module"):
            assert added(page, kind, folder + quote(name)) == "refused", name
    assert added(page, "sheet", f"{folder}a.css") == "refused"
    assert page.evaluate("() => getComputedStyle(document.body).outlineWidth") != "7px"
    assert not has_run(page)


@pytest.mark.parametrize("kind", ["frame", "object"])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_uploaded_document_opens_within_a_page(page: Page, kind: str, name: str) -> None:
    address = f"/challenges/digits/files/{name}"
    if kind == "frame":
        with page.expect_download():
            page.evaluate(f"given => {{ ({ADD.strip()})(given); }}", [kind, address])
    else:
        assert added(page, kind, address) == "refused"
    assert not has_run(page)
    assert {frame.url for frame in page.frames} <= {page.url, "", "about:blank"}


def test_a_link_to_an_uploaded_document_saves_it(page: Page) -> None:
    for name in (*DOCUMENTS, "a.js"):
        with page.expect_download() as saved:
            page.evaluate("address => { location = address }", f"/challenges/digits/files/{name}")
        assert saved.value.suggested_filename == name
        assert saved.value.path().read_text() == FILES[name][1]
    assert not has_run(page)
