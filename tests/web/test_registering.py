"""Take part in a challenge by its page: terms, answers, codes, and what a registration came to."""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.api.in_process_app import ServedApp
from tests.live_service import open_challenge
from tests.web.conftest import GOLD
from tests.web.people import new_account
from tests.web.reader import Reader, csrf_of, destination


def challenge(app: ServedApp, **rules: Any) -> str:
    """A new challenge with these rules."""
    slug = f"r-{secrets.token_hex(4)}"
    open_challenge(app.admin(), slug, GOLD)
    if rules:
        app.admin().patch(f"/challenges/{slug}", json=rules).raise_for_status()
    return slug


def register(reader: Reader, slug: str, **fields: str) -> Any:
    path = f"/challenges/{slug}/register"
    return reader.send(path, path, **fields)


@pytest.fixture
def ada(app: ServedApp, new_reader: Callable[[], Reader]) -> Reader:
    """Somebody who is logged in."""
    return new_reader().log_in(new_account(app, "Ada"))


def test_terms_and_answers_are_asked_for_and_kept(app: ServedApp, ada: Reader) -> None:
    fields = [{"name": "affiliation", "label": "University or company", "required": True}]
    fields += [{"name": "orcid", "label": "ORCID"}]
    slug = challenge(app, terms="## Rules\n\n**No cheating.**", registration_fields=fields)
    page = ada.get(f"/challenges/{slug}/register")
    assert "<strong>No cheating.</strong>" in page.text
    answer = register(ada, slug, team="Blue", **{"answer-orcid": "0000"})
    assert answer.status_code == 422
    assert "University or company: is missing" in answer.text
    assert "accept the current terms, which are version 1" in answer.text
    assert 'value="Blue"' in answer.text
    assert 'value="0000"' in answer.text
    stated = {"answer-affiliation": "Uni", "answer-orcid": "0000", "terms": "1"}
    assert destination(register(ada, slug, team="Blue", **stated)) == (f"/challenges/{slug}/submit", "entered")
    (row,) = app.admin().get(f"/challenges/{slug}/registrations").json()["items"]
    assert (row["terms_version"], row["fields"]) == (1, {"affiliation": "Uni", "orcid": "0000"})


def test_terms_that_changed_meanwhile_are_not_accepted_unread(app: ServedApp, ada: Reader) -> None:
    slug = challenge(app, terms="Old")
    page = ada.get(f"/challenges/{slug}/register")
    app.admin().patch(f"/challenges/{slug}", json={"terms": "New"}).raise_for_status()
    answer = ada.send(page, f"/challenges/{slug}/register", team="Blue", terms="1")
    assert answer.status_code == 422
    assert "New" in answer.text
    assert "version 2" in answer.text
    assert "checked" not in answer.text.partition("I accept")[0].rpartition("<input")[2]


def test_an_organizer_decides_and_the_pages_say_so(app: ServedApp, ada: Reader) -> None:
    slug, admin = challenge(app, registration="approval"), app.admin()
    answer = register(ada, slug, team="Blue")
    assert destination(answer) == (f"/challenges/{slug}/team", "pending")
    (row,) = admin.get(f"/challenges/{slug}/registrations").json()["items"]
    decide = f"/challenges/{slug}/registrations/{row['id']}"
    assert "waits for an organizer" in ada.get(f"/challenges/{slug}/team").text
    assert "Waits for an organizer" in ada.get("/account").text
    admin.patch(decide, json={"status": "approved"}).raise_for_status()
    assert "You take part in the team" in ada.get(f"/challenges/{slug}/register").text
    admin.patch(decide, json={"status": "barred", "reason": "Two teams."}).raise_for_status()
    for path in (f"/challenges/{slug}/register", f"/challenges/{slug}/team", "/account"):
        page = ada.get(path)
        assert "arred" in page.text, path
        assert "Two teams." in page.text, path
    assert destination(register_anyway(app, ada, slug)) == (f"/challenges/{slug}/team", "already-in")


def register_anyway(app: ServedApp, reader: Reader, slug: str) -> Any:
    """Send the form although the page does not show it."""
    data = {"csrf": csrf_of(reader.get("/account")), "team": "Again"}
    return reader.client.post(f"/challenges/{slug}/register", data=data, headers={"Origin": app.url})


def test_who_ended_a_registration_registers_again(app: ServedApp, ada: Reader) -> None:
    slug = challenge(app)
    register(ada, slug, team="Blue")
    path = f"/challenges/{slug}/team"
    assert destination(ada.send(path, f"{path}/end")) == ("/account", "registration-ended")
    assert "You ended your registration" in ada.get("/account").text
    assert "You can register again" in ada.get(f"/challenges/{slug}/register").text
    assert register(ada, slug, team="Blue again").status_code == 303


def test_organizers_are_told_that_they_cannot_take_part(app: ServedApp, ada: Reader) -> None:
    slug = challenge(app)
    user = app.admin().get("/users", params={"q": "Ada-"}).json()["items"][0]  # the newest
    app.admin().post(
        f"/challenges/{slug}/organizers", json={"email": user["email"], "role": "editor"}
    ).raise_for_status()
    page = ada.get(f"/challenges/{slug}/register")
    assert "cannot take part" in page.text
    assert f'action="/challenges/{slug}/register"' not in page.text


def test_a_challenge_by_invitation_takes_a_code(app: ServedApp, ada: Reader) -> None:
    slug = challenge(app, registration="invitation")
    page = ada.get(f"/challenges/{slug}/register")
    assert f'action="/challenges/{slug}/register"' not in page.text
    code = app.admin().post(f"/challenges/{slug}/invitations", json={}).json()["code"]
    answer = ada.send(page, "/invitation", code=code)
    assert answer.headers["location"] == f"/challenges/{slug}/register"
    assert destination(register(ada, slug, team="Blue")) == (f"/challenges/{slug}/submit", "entered")


def test_a_private_challenge_shows_itself_to_the_holder_of_a_code_alone(
    app: ServedApp, ada: Reader, new_reader: Callable[[], Reader]
) -> None:
    slug, path = challenge(app, visibility="private", title="Hidden treasure"), "/challenges/{}/register"
    stranger = new_reader().log_in(new_account(app, "stranger"))
    code = app.admin().post(f"/challenges/{slug}/invitations", json={}).json()["code"]
    other = app.admin().post("/challenges/digits/invitations", json={}).json()["code"]
    assert ada.get(path.format(slug)).status_code == 404
    stranger.send("/invitation", "/invitation", code=other)
    assert stranger.get(path.format(slug)).status_code == 404
    assert ada.send("/invitation", "/invitation", code=code).headers["location"] == path.format(slug)
    page = ada.get(path.format(slug))
    assert "Hidden treasure" in page.text
    assert "/leaderboard" not in page.text  # it is not theirs to read yet
    assert ada.get(f"/challenges/{slug}/leaderboard").status_code == 404
    assert register(ada, slug, team="Blue").status_code == 303
    assert ada.get(f"/challenges/{slug}/team").status_code == 200


def test_the_code_of_a_team_does_not_show_a_private_challenge(
    app: ServedApp, ada: Reader, new_reader: Callable[[], Reader]
) -> None:
    slug = challenge(app)
    register(ada, slug, team="Blue")
    made = ada.send(f"/challenges/{slug}/team", f"/challenges/{slug}/team/invitations")
    app.admin().patch(f"/challenges/{slug}", json={"visibility": "private", "title": "Secret"}).raise_for_status()
    guest = new_reader().log_in(new_account(app, "guest"))
    code = made.text.partition("/invitation#")[2].partition("<")[0]
    assert guest.send("/invitation", "/invitation", code=code).headers["location"] == "/invitation"
    page = guest.get("/invitation")
    assert "a challenge that you cannot see" in page.text
    assert "Secret" not in page.text
    assert slug not in page.text


def test_a_form_sent_twice_founds_one_team(app: ServedApp, ada: Reader) -> None:
    slug = challenge(app)
    page = ada.get(f"/challenges/{slug}/register")
    with ThreadPoolExecutor(4) as threads:
        answers = list(
            threads.map(lambda n: ada.send(page, f"/challenges/{slug}/register", team=f"Blue {n}"), range(4))
        )
    assert {answer.status_code for answer in answers} == {303}
    places = sorted(map(destination, answers))
    assert places == [(f"/challenges/{slug}/submit", "entered")] + [(f"/challenges/{slug}/team", "already-in")] * 3
    assert len(app.admin().get(f"/challenges/{slug}/teams").json()["items"]) == 1


def test_a_visitor_comes_back_after_logging_in(app: ServedApp, reader: Reader) -> None:
    page = reader.get("/challenges/digits/register")
    assert "/log-in?next=/challenges/digits/register" in page.text
    answer = reader.get("/challenges/digits/team")
    assert answer.headers["location"] == "/log-in?next=/challenges/digits/team"


def test_a_taken_name_of_a_team_is_said(app: ServedApp, ada: Reader, new_reader: Callable[[], Reader]) -> None:
    slug = challenge(app)
    register(ada, slug, team="Blue")
    answer = register(new_reader().log_in(new_account(app, "Bob")), slug, team="Blue")
    assert answer.status_code == 409
    assert "Choose another name." in answer.text
