"""What a site allows: who may sign up, who may create challenges, and how much one may ask."""

from collections.abc import Iterator

import pytest

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.journeys.support import make_recipe, new_slug, require_refused
from tests.live_service import PASSWORD


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """A service whose administrator makes the accounts, and with low limits of requests and failed logins."""
    settings = {
        "signup": "closed",
        "challenge_creation": "approved",
        "rate_limits": "30/minute",
        "login_limit": "3/hour",
    }
    with serve_app(app_settings(tmp_path_factory.mktemp("closed") / "data", **settings)) as service:
        yield service


def account(name: str, **extra: object) -> dict[str, object]:
    return {"email": f"{name}@example.org", "name": name, "password": PASSWORD, **extra}


def test_where_signup_is_closed_only_an_administrator_makes_accounts(closed: ServedApp) -> None:
    require_refused(closed.caller().post("/users", json=account("ada")), 403, "signup_closed")
    assert closed.admin().post("/users", json=account("ada")).status_code == 201


def test_where_approved_users_create_challenges_others_do_not(closed: ServedApp) -> None:
    for name, approved in (("bea", True), ("cleo", False)):
        assert closed.admin().post("/users", json=account(name, approved=approved)).status_code == 201
        body = {"email": f"{name}@example.org", "password": PASSWORD, "scopes": ["read", "organize"]}
        caller = closed.caller(closed.caller().post("/tokens", json=body).json()["token"])
        challenge = {"slug": new_slug("policy"), "title": "x", "task": "multiclass", "recipe": make_recipe("accuracy")}
        answer = caller.post("/challenges", json=challenge)
        if approved:
            assert answer.status_code == 201
            assert caller.patch(f"/challenges/{challenge['slug']}", json={"title": "mine"}).status_code == 200
        else:
            assert "approve your account" in require_refused(answer, 403, "forbidden")["remedy"]


def test_guessing_a_password_is_slowed_down_for_that_account_only(closed: ServedApp) -> None:
    for name in ("dora", "edda"):
        closed.admin().post("/users", json=account(name))
    wrong = {"email": "dora@example.org", "password": "not the password"}
    codes = [closed.caller().post("/tokens", json=wrong).status_code for _ in range(4)]
    assert codes == [401, 401, 401, 429]
    right = closed.caller().post("/tokens", json={"email": "Dora@example.org", "password": PASSWORD})
    require_refused(right, 429, "rate_limited")
    assert int(right.headers["retry-after"]) >= 1
    other = closed.caller().post("/tokens", json={"email": "edda@example.org", "password": PASSWORD})
    assert other.status_code == 201


def test_requests_beyond_the_limit_are_told_when_to_come_again(closed: ServedApp) -> None:
    visitor = closed.caller()
    answers = [visitor.get("/metrics/accuracy") for _ in range(40)]
    late = [answer for answer in answers if answer.status_code != 200]
    assert late
    for answer in late:
        require_refused(answer, 429, "rate_limited")
        assert 1 <= int(answer.headers["retry-after"]) <= 60
