"""Sign up, enter a code, and set a new password, by the pages alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.live_service import PASSWORD, open_challenge
from tests.web.conftest import GOLD
from tests.web.people import new_account
from tests.web.reader import Reader, destination, heading

PERSON = {"name": "Ada Lovelace", "password": PASSWORD}


def test_whoever_signs_up_is_logged_in_and_goes_on(app: ServedApp, reader: Reader) -> None:
    page = reader.get("/sign-up?next=/challenges/digits/register")
    answer = reader.send(page, "/sign-up", email="first@example.org", **PERSON)
    assert destination(answer) == ("/challenges/digits/register", "welcome")
    shown = reader.get(answer.headers["location"])
    assert "you are logged in" in shown.text
    assert "Ada Lovelace" in shown.text
    assert "first@example.org" in reader.get("/account").text


def test_somebody_who_is_logged_in_needs_no_other_account(app: ServedApp, reader: Reader) -> None:
    page = reader.get("/sign-up")
    reader.log_in(new_account(app, "has-one"))
    assert reader.get("/sign-up?next=/catalogue").headers["location"] == "/catalogue"
    assert reader.send(page, "/sign-up", email="second@example.org", **PERSON).status_code == 403  # an old form


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"email": "no address"}, 422, "Email: "),
        ({"password": "short"}, 422, "Password: needs at least 10 characters"),
        ({"password": "password123"}, 422, "Password: "),
        ({"name": " "}, 422, "Name: is missing"),
    ],
)
def test_a_fault_is_said_and_nothing_but_the_password_has_to_be_typed_again(
    reader: Reader, fields: dict[str, str], status: int, said: str
) -> None:
    answer = reader.send("/sign-up", "/sign-up", **{"email": "third@example.org", **PERSON, **fields})
    assert answer.status_code == status
    assert said in answer.text
    assert answer.text.startswith("<!doctype html>")
    assert "<title>Error: Sign up" in answer.text
    assert PASSWORD not in answer.text
    assert "third@example.org" in answer.text or "email" in fields


def test_a_taken_address_leads_to_the_log_in_page(app: ServedApp, reader: Reader) -> None:
    answer = reader.send("/sign-up", "/sign-up", email=new_account(app, "taken"), **PERSON)
    assert answer.status_code == 409
    assert "Log in with this account" in answer.text
    assert "/api/" not in answer.text


def test_a_site_that_needs_an_invitation_takes_its_code(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data", signup="invitation")) as app:
        reader, code = Reader(app.url), app.admin().post("/invitations", json={}).json()["code"]
        refused = reader.send("/sign-up", "/sign-up", email="in@example.org", **PERSON)
        assert refused.status_code == 403
        assert "administrator of this site makes them" in refused.text
        wrong = reader.send("/invitation", "/invitation", code="wrong")
        assert (wrong.status_code, heading(wrong)) == (422, "Invitation")
        entered = reader.send("/invitation", "/invitation", code=f"{app.url}/invitation#{code} ")
        assert entered.headers["location"] == "/sign-up"
        page = reader.get("/sign-up")
        assert code in page.text
        assert page.headers["cache-control"] == "no-store"
        answer = reader.send(page, "/sign-up", email="in@example.org", **PERSON)
        assert destination(answer) == ("/", "signed-up")
        assert "assay_invitation" not in reader.client.cookies
        reader.close()


def test_a_closed_site_says_whom_to_ask(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data", signup="closed")) as app:
        reader = Reader(app.url)
        page = reader.get("/sign-up")
        assert "Ask its administrator" in page.text
        assert 'action="/sign-up"' not in page.text
        assert "/sign-up" not in reader.get("/log-in").text
        reader.close()


def test_a_code_waits_in_the_browser_until_its_holder_has_an_account(
    app: ServedApp, new_reader: Callable[[], Reader]
) -> None:
    captain, guest = new_reader().log_in(new_account(app, "Cap")), new_reader()
    captain.send("/challenges/digits/register", "/challenges/digits/register", team="Waiting")
    made = captain.send("/challenges/digits/team", "/challenges/digits/team/invitations", note="for Bob")
    code = made.text.partition("/invitation#")[2].partition("<")[0]
    answer = guest.send("/invitation", "/invitation", code=code)
    assert answer.headers["location"] == "/invitation"
    assert code not in answer.headers["location"]
    page = guest.get("/invitation")
    assert "to a team" in page.text
    assert "Waiting" not in page.text  # a visitor learns the kind alone
    answer = guest.send("/sign-up?next=/invitation", "/sign-up", email="guest@example.org", **PERSON)
    shown = guest.get(answer.headers["location"])
    assert "Waiting" in shown.text
    assert "/challenges/digits/register" in shown.text
    assert code not in shown.text
    register = guest.get("/challenges/digits/register")
    assert "Enter the team" in register.text
    entered = guest.send(register, "/challenges/digits/register")
    assert destination(entered) == ("/challenges/digits/submit", "entered")
    assert "assay_invitation" not in guest.client.cookies
    assert "Ada Lovelace" in captain.get("/challenges/digits/team").text


def test_a_code_can_be_taken_from_the_browser(app: ServedApp, reader: Reader) -> None:
    code = app.admin().post("/challenges/digits/invitations", json={}).json()["code"]
    reader.log_in(new_account(app, "undecided"))
    answer = reader.send("/invitation", "/invitation", code=code)
    assert answer.headers["location"] == "/challenges/digits/register"
    assert reader.client.cookies["assay_invitation"] == code
    reader.send("/invitation", "/invitation/forget")
    assert "assay_invitation" not in reader.client.cookies


def test_a_new_password_by_a_link(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data", public_url="http://localhost:8000")) as app:
        email, reader = new_account(app, "forgot"), Reader(app.url)
        (user,) = app.admin().get("/users", params={"q": email}).json()["items"]
        link = app.admin().post(f"/users/{user['id']}/reset").json()["link"]
        assert link.startswith("http://localhost:8000/password-reset#")
        reader.url = "http://localhost:8000"  # the origin that the browser sends
        new = "another heap of words"
        weak = reader.send("/password-reset", "/password-reset", secret=link, password="short")
        assert weak.status_code == 422
        answer = reader.send(weak, "/password-reset", password=new)
        assert destination(answer) == ("/log-in", "password-set")
        again = reader.send("/password-reset", "/password-reset", secret=link, password=new)
        assert again.status_code == 409
        assert "Ask the administrator for a new one" in again.text
        reader.log_in(email, new)
        reader.close()


def test_from_the_first_visit_to_the_page_for_files(app: ServedApp, reader: Reader) -> None:
    """Every step leads to the next by a link or a form on its page."""
    open_challenge(app.admin(), "first-visit", GOLD)
    page = reader.get("/challenges/first-visit/register")
    assert "/sign-up?next=/challenges/first-visit/register" in page.text
    page = reader.get("/sign-up?next=/challenges/first-visit/register")
    answer = reader.send(page, "/sign-up", email="quick@example.org", **PERSON)
    answer = reader.send(reader.follow(answer.headers["location"]), "/challenges/first-visit/register")
    assert destination(answer) == ("/challenges/first-visit/submit", "entered")
    team = app.admin().get("/challenges/first-visit/teams").json()["items"][0]
    assert team["name"] == "Ada Lovelace"  # the name that the form proposes
