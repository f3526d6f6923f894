"""Grants: what organizers add to the quota of one team, and what a submission says of what remains."""

from typing import Any

import pytest

from tests.cli.run_command import run_assay
from tests.journeys.support import CORRECT_PREDICTIONS, MAIN_PHASE_PATH, People, require_refused
from tests.journeys.test_quota import limited


def grant(people: People, slug: str, **body: Any) -> Any:
    path = f"{MAIN_PHASE_PATH.format(slug)}/quota/grants"
    return people.admin.post(path, json={"team": "Blue", "reason": "An outage", **body})


def test_a_submission_says_what_remains_and_a_grant_adds_to_it(people: People) -> None:
    slug = limited(people, "grant", {"total": 1, "per_day": 5})
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    sent = blue.submit(slug, CORRECT_PREDICTIONS)
    assert sent.json()["remaining"] == {"total": 0, "per_day": 4, "invalid_per_day": None, "concurrent": None}
    assert sent.json()["reset_at"]
    assert sent.headers["ratelimit-policy"] == '"total";q=1, "per_day";q=5;w=86400'
    assert sent.headers["ratelimit"].startswith('"total";r=0, "per_day";r=4;t=')
    refused = blue.submit(slug, CORRECT_PREDICTIONS)
    assert require_refused(refused, 429, "quota_exceeded")["quota"] == "total"
    assert refused.headers["ratelimit"].startswith('"total";r=0')
    granted = grant(people, slug, total=2)
    assert (granted.status_code, granted.json()["limits"]["total"], granted.json()["remaining"]["total"]) == (201, 3, 2)
    assert blue.submit(slug, CORRECT_PREDICTIONS).json()["remaining"]["total"] == 1
    state = blue.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()
    assert [(each["total"], each["reason"]) for each in state["grants"]] == [(2, "An outage")]
    assert green.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()["limits"]["total"] == 1


def test_what_is_taken_never_leaves_less_than_nothing(people: People) -> None:
    slug = limited(people, "grant-less", {"per_day": 2})
    blue = people["Blue"].join(slug, "Blue")
    assert grant(people, slug, per_day=-5).json()["limits"]["per_day"] == 0
    refused = blue.submit(slug, CORRECT_PREDICTIONS)
    assert require_refused(refused, 429, "quota_exceeded")["limit"] == 0
    assert "retry-after" not in refused.headers  # no wait helps
    assert blue.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()["remaining"]["per_day"] == 0


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"per_day": 1}, 409, "no_such_limit"),
        ({"total": 1, "team": "Nobody"}, 404, "not_found"),
        ({}, 422, "invalid_request"),
        ({"total": 0}, 422, "invalid_request"),
        ({"total": 1, "reason": ""}, 422, "invalid_request"),
    ],
)
def test_a_grant_without_effect_is_refused(people: People, body: dict[str, Any], status: int, code: str) -> None:
    slug = limited(people, "grant-refused", {"total": 1})
    people["Blue"].join(slug, "Blue")
    require_refused(grant(people, slug, **body), status, code)


def test_teams_neither_grant_nor_read_the_quota_of_others(people: People) -> None:
    slug = limited(people, "grant-others", {"total": 1})
    blue = people["Blue"].join(slug, "Blue")
    people["Green"].join(slug, "Green")
    path = f"{MAIN_PHASE_PATH.format(slug)}/quota"
    body = {"team": "Blue", "total": 1, "reason": "I want more"}
    require_refused(blue.post(f"{path}/grants", json=body), 403, "forbidden")
    require_refused(blue.get(path, params={"team": "Green"}), 403, "forbidden")
    assert people.admin.get(path, params={"team": "Green"}).json()["limits"]["total"] == 1


def test_the_command_line_grants_and_shows(people: People) -> None:
    slug = limited(people, "grant-command", {"total": 1})
    people["Blue"].join(slug, "Blue")
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    ran = run_assay("team", "grant", slug, "Blue", "--total", "2", "--reason", "An outage", *service)
    assert ran.status == 0, ran.err
    assert "Granted +2 in total: An outage" in ran.out
    shown = run_assay("quota", slug, "--team", "Blue", *service)
    assert "An outage" in shown.out
