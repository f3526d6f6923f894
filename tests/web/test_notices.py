"""Notices after a redirect: shown once, on the page that the redirect leads to, and never because of a link."""

from urllib.parse import quote

from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD
from tests.web.people import NewReader
from tests.web.reader import Reader, destination

LOGGED_OUT = "You are logged out."


def logged_out(app: ServedApp, reader: Reader, name: str) -> Reader:
    email = f"{name}@example.org"
    app.admin().post("/users", json={"email": email, "name": name, "password": PASSWORD}).raise_for_status()
    reader.log_in(email)
    assert destination(reader.send("/", "/log-out")) == ("/", "logged-out")
    return reader


def test_a_notice_is_shown_once_and_its_page_is_kept_by_nobody(app: ServedApp, reader: Reader) -> None:
    logged_out(app, reader, "nina")
    shown = reader.get("/")
    assert LOGGED_OUT in shown.text
    assert shown.headers["cache-control"] == "no-store"
    again = reader.get("/")
    assert LOGGED_OUT not in again.text
    assert again.headers["cache-control"] == "no-cache"


def test_a_notice_waits_for_its_page(app: ServedApp, reader: Reader) -> None:
    logged_out(app, reader, "noah")
    assert LOGGED_OUT not in reader.get("/catalogue").text
    assert LOGGED_OUT not in reader.get("/challenges/digits/leaderboard").text
    assert LOGGED_OUT in reader.get("/").text


def test_the_cookie_of_a_notice_is_for_pages_of_this_site_alone(app: ServedApp, new_reader: NewReader) -> None:
    reader = new_reader()
    app.admin().post("/users", json={"email": "nils@example.org", "name": "N", "password": PASSWORD}).raise_for_status()
    answer = reader.log_in("nils@example.org").send("/account/settings", "/account/name", name="Nils")
    (cookie,) = [each for each in answer.headers.get_list("set-cookie") if each.startswith("assay_notice=")]
    attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert attributes >= {"httponly", "samesite=lax", "path=/", "max-age=60"}


def test_no_link_makes_a_page_say_something(reader: Reader) -> None:
    plain = reader.get("/catalogue").text
    for query in ("?done=account-deleted", "?notice=account-deleted", "?done=logged-out"):
        page = reader.get(f"/{query}")
        assert 'class="notice"' not in page.text
    assert 'class="notice"' not in plain


def test_a_cookie_puts_no_words_of_its_own_on_a_page(reader: Reader) -> None:
    for code in ("<b>x</b>", "unknown", "", "x" * 3000):
        page = reader.get("/catalogue", headers={"Cookie": f"assay_notice={quote(code)}:%2Fcatalogue"})
        assert page.status_code == 200
        assert 'class="notice"' not in page.text
