"""Cookie sessions of the pages: log in, log out, and what protects them."""

import pytest

from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD
from tests.web.people import new_account
from tests.web.reader import Reader, heading


def test_a_person_logs_in_and_out(app: ServedApp, reader: Reader) -> None:
    email = new_account(app, "ada")
    assert "Log in" in reader.get("/").text
    answer = reader.send("/log-in?next=/catalogue", "/log-in", email=email, password=PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (303, "/catalogue")
    cookie = next(value for value in answer.headers.get_list("set-cookie") if value.startswith("assay_session="))
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
    home = reader.get("/")
    assert ">ada</a>" in home.text
    assert home.headers["cache-control"] == "no-store"
    assert reader.send(home, "/log-out").status_code == 303
    assert ">ada</a>" not in reader.get("/").text


def test_a_wrong_password_is_said_beside_the_form(app: ServedApp, reader: Reader) -> None:
    email = new_account(app, "bob")
    answer = reader.send("/log-in", "/log-in", email=email, password="wrong")
    assert answer.status_code == 401
    assert heading(answer) == "Log in"
    assert email in answer.text
    assert 'role="alert"' in answer.text


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:1", " /x"])
def test_no_redirect_leads_to_another_site(app: ServedApp, reader: Reader, target: str) -> None:
    email = new_account(app, f"p{abs(hash(target))}")
    answer = reader.send("/log-in", "/log-in", email=email, password=PASSWORD, next=target)
    assert answer.headers["location"] == "/"


def test_the_log_in_page_leads_to_where_it_leads_and_not_to_itself(reader: Reader) -> None:
    for path in ("/log-in?next=/catalogue", "/sign-up?next=/catalogue", "/catalogue"):
        assert '<a href="/log-in?next=/catalogue">' in reader.get(path).text, path
    assert '<a href="/log-in">' in reader.get("/log-in?next=/").text
