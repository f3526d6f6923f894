"""Grants: what organizers add to the quota of one team, and what a submission says of what remains."""

from pathlib import Path
from typing import Any

from tests.cli.run_command import run_assay, write_file
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
    assert grant(people, slug, per_day=1).json()["limits"]["per_day"] == 0  # 2 - 5 + 1
    trail = people.admin.get(f"/challenges/{slug}/audit", params={"action": "quota.grant"}).json()["items"]
    assert [each["changes"] for each in trail] == [
        {"granted_per_day": {"from": None, "to": 1}},
        {"granted_per_day": {"from": None, "to": -5}, "per_day": {"from": 2, "to": 0}},
    ]


def test_a_grant_without_effect_is_refused(people: People) -> None:
    slug = limited(people, "grant-refused", {"total": 1})
    people["Blue"].join(slug, "Blue")
    cases: tuple[tuple[dict[str, Any], int, str], ...] = (
        ({"per_day": 1}, 409, "no_such_limit"),
        ({"total": 1, "team": "Nobody"}, 404, "not_found"),
        ({}, 422, "invalid_request"),
        ({"total": 0}, 422, "invalid_request"),
        ({"total": 1, "reason": ""}, 422, "invalid_request"),
    )
    for body, status, code in cases:
        refused = require_refused(grant(people, slug, **body), status, code)
        assert ("There are: 'Blue'." in refused["remedy"]) == (status == 404)  # organizers alone name teams


def test_teams_neither_grant_nor_read_the_quota_of_others(people: People) -> None:
    slug = limited(people, "grant-others", {"total": 1})
    blue = people["Blue"].join(slug, "Blue")
    people["Green"].join(slug, "Green")
    path = f"{MAIN_PHASE_PATH.format(slug)}/quota"
    body = {"team": "Blue", "total": 1, "reason": "I want more"}
    require_refused(blue.post(f"{path}/grants", json=body), 403, "forbidden")
    require_refused(blue.get(path, params={"team": "Green"}), 403, "forbidden")
    assert people.admin.get(path, params={"team": "Green"}).json()["limits"]["total"] == 1


def test_a_name_that_is_the_id_of_another_team_gets_nothing_of_what_that_team_is_meant_to_get(people: People) -> None:
    slug = limited(people, "grant-id", {"total": 1})
    people["Blue"].join(slug, "Blue")
    (blue,) = people["Blue"].get(f"/challenges/{slug}/teams").json()["items"]
    green = people["Green"].join(slug, blue["id"])
    assert grant(people, slug, team=blue["id"], total=2).status_code == 201
    path = f"{MAIN_PHASE_PATH.format(slug)}/quota"
    limits = [who.get(path).json()["limits"]["total"] for who in (people["Blue"], green)]
    assert limits == [3, 1]
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    assert "Blue" in run_assay("team", "show", slug, "--team", blue["id"], *service).out
    ran = run_assay("team", "disqualify", slug, blue["id"], "--reason", "Two accounts", *service)
    assert "Team Blue is disqualified" in ran.out


def test_the_command_line_grants_and_shows(people: People) -> None:
    slug = limited(people, "grant-command", {"total": 1})
    people["Blue"].join(slug, "Blue")
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    ran = run_assay("team", "grant", slug, "Blue", "--total", "2", "--reason", "An outage", *service)
    assert ran.status == 0, ran.err
    assert "Granted +2 in total: An outage" in ran.out
    shown = run_assay("quota", slug, "--team", "Blue", *service)
    assert "An outage" in shown.out


def test_the_command_line_says_what_remains_and_when_it_resets(people: People, tmp_path: Path) -> None:
    slug = limited(people, "grant-left", {"total": 3, "per_day": 5})
    blue = people["Blue"].join(slug, "Blue")
    good = write_file(tmp_path / "good.json", CORRECT_PREDICTIONS)
    bad = write_file(tmp_path / "bad.json", {"predictions": []})
    service = ("--url", people.live.url, "--token", blue.headers["Authorization"].removeprefix("Bearer "))
    accepted = run_assay("submit", slug, "-f", good, *service).out
    assert "Quota left: 2 in total, 4 today." in accepted
    assert "The daily limits reset at " in accepted
    refunded = run_assay("submit", slug, "-f", bad, "--wait", *service).out
    assert "Quota left: 2 in total, 4 today." in refunded
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    assert "Quota left" not in run_assay("submit", slug, "-f", good, "--test", *service).out
