"""Refusals say what happened and what to do about it."""

import pytest

from app.errors import NotFound
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    new_slug,
    require_finished,
    require_refused,
)
from tests.live_service import PASSWORD


@pytest.mark.parametrize("path", ["/nope", "/challenge", "/users/1/nope"])
def test_an_unknown_route_is_told_from_an_object_that_one_may_not_see(people: People, path: str) -> None:
    body = require_refused(people.visitor.get(path), 404, "no_such_route")
    assert body["detail"] == f"This service has no path '/api/v1{path}'."
    assert "/docs" in body["remedy"]


def test_an_unknown_phase_is_answered_with_the_phases_that_there_are(people: People) -> None:
    slug = create_challenge(people.admin, "phases", phases=[{"name": "dev"}, {"name": "test"}])
    blue = people["Blue"].join(slug, "Blue")
    path = f"/challenges/{slug}/phases/tset"
    for answer in (
        people.visitor.get(f"{path}/leaderboard"),
        blue.get(f"{path}/quota"),
        blue.post(f"{path}/submissions", json=CORRECT_PREDICTIONS),
        people.admin.get(f"{path}/gold"),
    ):
        body = require_refused(answer, 404, "not_found")
        assert body["detail"] == f"The challenge '{slug}' has no phase 'tset'."
        assert (body["known_phases"], body["remedy"]) == (["dev", "test"], "Its phases are: dev, test.")


def test_a_phase_of_a_hidden_challenge_is_answered_like_one_of_none(people: People) -> None:
    hidden = create_challenge(people.admin, "hidden", visibility="private")
    for ending in ("/leaderboard", "/quota", "/template"):
        seen = people["Blue"].get(f"/challenges/{hidden}/phases/tset{ending}")
        absent = people["Blue"].get(f"/challenges/{new_slug('absent')}/phases/tset{ending}")
        assert require_refused(seen, 404, "not_found") == require_refused(absent, 404, "not_found")
        assert seen.json()["detail"] == NotFound().detail


def test_a_method_that_is_too_long_is_measured_in_characters(people: People) -> None:
    slug = create_challenge(people.admin, "method")
    answer = people["Blue"].join(slug, "Blue").submit(slug, CORRECT_PREDICTIONS, method="m" * 201)
    body = require_refused(answer, 400, "bad_request")
    assert body["errors"] == [{"pointer": "method", "detail": "has 201 characters; at most 200 are allowed"}]


def test_where_the_total_is_used_up_too_nobody_is_sent_to_the_next_day(people: People) -> None:
    slug = create_challenge(people.admin, "used-up", phases=[{"name": "main", "quota": {"per_day": 1, "total": 1}}])
    blue = people["Blue"].join(slug, "Blue")
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    body = require_refused(blue.submit(slug, CORRECT_PREDICTIONS), 429, "quota_exceeded")
    assert (body["quota"], body["used"]) == ("total", 1)
    assert "reset_at" not in body
    assert "waiting does not help" in body["remedy"]


@pytest.mark.parametrize("kind", ["medians"])
def test_a_kind_of_report_that_nothing_makes_is_refused(people: People, kind: str) -> None:
    slug = create_challenge(people.admin, "reports")
    answer = people.admin.patch(MAIN_PHASE_PATH.format(slug), json={"reports": ["scores", kind]})
    assert [fault["pointer"] for fault in require_refused(answer, 422, "invalid_request")["errors"]] == ["/reports/1"]


def test_an_administrator_whose_token_lacks_the_scope_is_told_so(people: People) -> None:
    email = f"{new_slug('root')}@example.org"
    account = {"email": email, "name": "Root", "password": PASSWORD, "admin": True}
    assert people.admin.post("/users", json=account).status_code == 201
    scopes = ["read", "submit", "organize"]
    made = people.visitor.post("/tokens", json={"email": email, "password": PASSWORD, "scopes": scopes})
    root = people.live.caller(made.json()["token"])
    description = {"slug": new_slug("scope"), "title": "x", "task": "multiclass", "recipe": make_recipe("accuracy")}
    slug = create_challenge(people.admin, "scope")
    viewed = create_challenge(people.admin, "scope")
    people.admin.post(f"/challenges/{viewed}/organizers", json={"email": email, "role": "viewer"}).raise_for_status()
    for answer in (
        root.post("/challenges", json=description),
        root.post("/users", json=account | {"email": f"second-{email}"}),
        root.get(f"{MAIN_PHASE_PATH.format(slug)}/gold"),
        root.patch(f"/challenges/{slug}", json={"title": "y"}),
        root.patch(f"/challenges/{viewed}", json={"title": "y"}),
        root.post(f"/challenges/{slug}/organizers", json={"email": email, "role": "owner"}),
        root.delete(f"/challenges/{slug}"),
        root.submit(slug, CORRECT_PREDICTIONS, team="Blue"),
        root.submit(slug, CORRECT_PREDICTIONS, baseline="true"),
    ):
        assert "'admin'" in require_refused(answer, 403, "insufficient_scope")["detail"]
        assert 'scope="admin"' in answer.headers["www-authenticate"]


@pytest.mark.parametrize(
    "sheet",
    [
        b"PK\x03\x04\x14\x00\x06\x00\x08\x00" + bytes(16) + b"xl/workbook.xml",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64),
    ],
    ids=["xlsx", "xls"],
)
def test_a_workbook_sent_as_csv_is_recognised(people: People, sheet: bytes) -> None:
    slug = create_challenge(people.admin, "workbook")
    blue = people["Blue"].join(slug, "Blue")
    path, kind = f"{MAIN_PHASE_PATH.format(slug)}/submissions", {"Content-Type": "text/csv"}
    problems = blue.post(path, content=sheet, headers=kind, params={"dry_run": "true"}).json()["problems"]
    assert [one["code"] for one in problems] == ["syntax"]
    assert problems[0]["message"].startswith(
        "The file is a spreadsheet workbook, not text. Save the sheet as CSV (UTF-8)"
    )
