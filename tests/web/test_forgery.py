"""Forged requests: no form of a page is accepted from another site, another session, or without its token."""

import html
from collections.abc import Callable

import httpx
import pytest

from app.web.page import FormExpired
from tests.api.in_process_app import ServedApp
from tests.web.page_routes import page_addresses
from tests.web.people import new_account, new_person
from tests.web.reader import Reader, csrf_of

FORGED = {"foreign_form", "form_expired"}

QUERIES = {"/challenges/digits/submit": "?phase=main"}
ALL_KINDS = ("/account/delete", "/challenges/digits/organize/files")
"""A form, and one with a file, to which every kind of forgery is sent; the others check their forms by the same code."""


def code_of(answer: httpx.Response) -> str:
    """The code of the error on an error page, or of the fault that stands above the form again."""
    if FormExpired().detail in html.unescape(answer.text):
        return FormExpired.code
    return answer.text.partition("code <code>")[2].partition("</code>")[0]


@pytest.fixture
def victim(app: ServedApp, new_reader: Callable[[], Reader]) -> Reader:
    """Somebody who is logged in and competes."""
    person = new_person(app, new_reader, "victim")
    person.api.join("digits", f"Team {person.browser.client.cookies['assay_session'][:24]}")
    return person.browser


def refusal(reader: Reader, address: str, headers: dict[str, str], token: str | None) -> tuple[int, str]:
    """Send a form; one with a file, if the route takes nothing else."""
    fields = {} if token is None else {"csrf": token}
    answer = reader.client.post(address, data=fields, headers=headers)
    if answer.status_code in {400, 415}:
        parts = [("csrf", (None, token))] if token is not None else []
        answer = reader.client.post(address, files=[*parts, ("file", ("a.csv", b"id,label\n"))], headers=headers)
    return answer.status_code, code_of(answer)


def test_no_route_takes_a_form_that_is_not_its_own(
    app: ServedApp, victim: Reader, new_reader: Callable[[], Reader]
) -> None:
    addresses = page_addresses(app, "POST")
    assert {*ALL_KINDS, "/log-in", "/log-out", "/challenges/digits/register"} <= set(addresses)
    own, other = (
        csrf_of(victim.get("/account")),
        csrf_of(new_reader().log_in(new_account(app, "attacker")).get("/account")),
    )
    here = {"Origin": app.url}
    forged: list[tuple[str | None, dict[str, str], str]] = [
        (None, here, "form_expired"),
        ("", here, "form_expired"),
        ("AAAA", here, "form_expired"),
        (own[:-2], here, "form_expired"),
        (other, here, "form_expired"),
        (None, {}, "form_expired"),
        (own, {"Origin": "https://evil.example"}, "foreign_form"),
        (own, {"Origin": "null"}, "foreign_form"),
        (own, {"Origin": f"{app.url}.evil.example"}, "foreign_form"),
        (own, here | {"Sec-Fetch-Site": "cross-site"}, "foreign_form"),
        (own, here | {"Sec-Fetch-Site": "same-site"}, "foreign_form"),
        (own, {"Sec-Fetch-Site": "cross-site"}, "foreign_form"),
    ]
    for at, address in enumerate(each + QUERIES.get(each, "") for each in addresses):
        kinds = forged if address in ALL_KINDS else (forged[0], forged[4], forged[6], forged[at % len(forged)])
        for token, headers, code in kinds:
            assert refusal(victim, address, headers, token) == (403, code), (address, token, headers)
    assert victim.get("/account").status_code == 200  # no forged form logged the victim out


def test_the_token_alone_decides_if_a_browser_sends_no_origin(victim: Reader) -> None:
    page = victim.get("/account/settings")
    answer = victim.client.post("/account/name", data={"csrf": csrf_of(page), "name": "New"})
    assert answer.status_code == 303


def test_a_visitor_cannot_be_logged_in_by_a_form_of_somebody_else(
    app: ServedApp, reader: Reader, new_reader: Callable[[], Reader]
) -> None:
    """A form of an attacker's browser, with the attacker's token and password, sent by the browser of a visitor."""
    attacker = new_reader()
    token = csrf_of(attacker.get("/log-in"))
    reader.get("/log-in")
    data = {"csrf": token, "email": new_account(app, "mallory"), "password": "a password for tests"}
    answer = reader.client.post("/log-in", data=data, headers={"Origin": app.url})
    assert (answer.status_code, code_of(answer)) == (403, "form_expired")


def test_a_token_is_another_one_on_each_page(victim: Reader) -> None:
    assert csrf_of(victim.get("/account")) != csrf_of(victim.get("/account"))


def test_a_form_from_before_a_log_in_says_what_to_do(app: ServedApp, reader: Reader) -> None:
    page, email = reader.get("/log-in"), new_account(app, "tabs")
    reader.log_in(email)
    answer = reader.send(page, "/log-in", email=email, password="a password for tests")
    assert (answer.status_code, code_of(answer)) == (403, "form_expired")
    assert "reload the page" in answer.text
