"""Teams change one at a time, however many join, leave, merge and submit at once."""

from functools import partial
from typing import Any

import pytest

from tests.live_service import Caller, eventually
from tests.races.concurrent_clients import (
    CORRECT_PREDICTIONS,
    FINAL_STATUSES,
    ConcurrentClients,
    call_concurrently,
    count_statuses,
)

CROWD = ("Ann", "Bea", "Cleo", "Dora", "Eve", "Fay")

pytestmark = pytest.mark.parametrize("crowd", ["postgresql"], indirect=True)
"""SQLite has one writer at a time: what could meet there meets on PostgreSQL too."""


def registrations(slug: str) -> str:
    return f"/challenges/{slug}/registrations"


def team_path(who: Caller, slug: str) -> str:
    (team,) = who.get(f"/challenges/{slug}/teams").json()["items"]
    return f"/challenges/{slug}/teams/{team['id']}"


def code_from(captain: Caller, slug: str) -> str:
    made = captain.post(f"{team_path(captain, slug)}/invitations", json={})
    return str(made.raise_for_status().json()["code"])


def open_slug(crowd: ConcurrentClients, stem: str, **fields: Any) -> str:
    crowd.challenge(stem)
    if fields:
        crowd.admin().patch(f"/challenges/{stem}", json=fields).raise_for_status()
    return stem


def require_consistent(crowd: ConcurrentClients, slug: str) -> list[dict[str, Any]]:
    """Who is in a team has one open stay, in that team, and each team with members has one of them as captain."""
    here = f"(SELECT id FROM challenges WHERE slug = '{slug}')"
    placed = crowd.service.rows(
        f"SELECT user_id, team_id FROM registrations WHERE challenge_id = {here} AND team_id IS NOT NULL"
    )
    stays = crowd.service.rows(
        f"""SELECT user_id, team_id FROM team_memberships WHERE left_at IS NULL
        AND team_id IN (SELECT id FROM teams WHERE challenge_id = {here})"""
    )
    assert sorted(placed) == sorted(stays)
    teams: list[dict[str, Any]] = crowd.admin().get(f"/challenges/{slug}/teams").json()["items"]
    assert {str(user) for user, _ in placed} == {each["id"] for team in teams for each in team["members"]}
    for team in teams:
        captains = [each["id"] for each in team["members"] if each["captain"]]
        assert captains == ([] if team["captain"] is None else [team["captain"]])
        assert bool(captains) == bool(team["members"])
    return teams


def test_the_last_place_of_a_team_is_given_once(crowd: ConcurrentClients) -> None:
    slug = open_slug(crowd, "last-place", team_size_limit=2)
    blue = crowd.member(slug)[0]
    codes = {name: code_from(blue, slug) for name in CROWD}
    posts = [
        partial(crowd.person(name)[-1].post, registrations(slug), json={"invitation": code})
        for name, code in codes.items()
    ]
    answers = call_concurrently(posts)
    assert count_statuses(answers) == {201: 1, 409: len(CROWD) - 1}
    (team,) = require_consistent(crowd, slug)
    assert len(team["members"]) == 2


def test_a_code_is_used_once(crowd: ConcurrentClients) -> None:
    slug = open_slug(crowd, "one-code")
    body = {"invitation": code_from(crowd.member(slug)[0], slug)}
    posts = [
        partial(crowd.person(name)[place % 2 - 1].post, registrations(slug), json=body)
        for place, name in enumerate(CROWD)
    ]
    answers = call_concurrently(posts)
    assert count_statuses(answers) == {201: 1, 422: len(CROWD) - 1}
    assert [len(team["members"]) for team in require_consistent(crowd, slug)] == [2]


def test_merges_crosswise_while_somebody_joins_give_one_team(crowd: ConcurrentClients) -> None:
    slug = open_slug(crowd, "crosswise")
    blue, green = crowd.member(slug)[0], crowd.member(slug, "Green")[-1]
    paths, code = (team_path(blue, slug), team_path(green, slug)), code_from(green, slug)
    ann = crowd.person("Ann")[-1]
    first, second, joined = call_concurrently(
        [
            lambda: blue.post(f"{paths[0]}/merge", json={"with": "Green"}),
            lambda: green.post(f"{paths[1]}/merge", json={"with": "Blue"}),
            lambda: ann.post(registrations(slug), json={"invitation": code}),
        ]
    )
    assert (first.status_code, second.status_code) == (200, 200)
    assert sorted((first.json()["merged"], second.json()["merged"])) == [False, True]
    (team,) = require_consistent(crowd, slug)
    assert joined.status_code in {201, 422}  # 422: the team of the code is gone
    assert len(team["members"]) == (3 if joined.status_code == 201 else 2)


def test_what_is_sent_during_a_merge_counts_once_for_the_team_that_stays(crowd: ConcurrentClients) -> None:
    slug = "merge-and-submit"
    address = crowd.challenge(slug, quota={"total": 50})
    blue, green = crowd.member(slug), crowd.member(slug, "Green")
    paths = team_path(blue[0], slug), team_path(green[0], slug)
    sent = [blue[0].submit(slug, CORRECT_PREDICTIONS).json(), green[0].submit(slug, CORRECT_PREDICTIONS).json()]
    blue[0].post(f"{paths[0]}/merge", json={"with": "Green"}).raise_for_status()
    agree = partial(green[-1].post, f"{paths[1]}/merge", json={"with": "Blue"})
    posts = [partial(who.post, address, json=CORRECT_PREDICTIONS) for who in (*blue, *green) * 2]
    answers = call_concurrently([*posts[:2], agree, *posts[2:]])
    assert count_statuses(answers) == {202: len(posts), 200: 1}
    eventually(lambda: set(crowd.statuses(slug)) <= FINAL_STATUSES, "all has been scored")
    count = len(posts) + len(sent)
    (row,) = crowd.admin().board(slug).json()["rows"]
    assert (row["team"]["name"], row["entries"]) == ("Blue", count)
    for who in (blue[0], green[0]):
        quota = who.get(f"/challenges/{slug}/phases/main/quota").json()
        assert (quota["used"]["total"], len(quota["ledger"])) == (count, 2 * count)
    assert (
        crowd.service.rows(
            f"""SELECT name, count(*) FROM submissions JOIN teams ON teams.id = sent_team_id
        WHERE merged_into_id = '{paths[0].rsplit("/", 1)[1]}' GROUP BY name"""
        )[0][0]
        == "Green"
    )
    require_consistent(crowd, slug)


def test_who_leaves_while_submitting_is_bound_by_what_was_accepted(crowd: ConcurrentClients) -> None:
    slug = "leave-and-submit"
    address = crowd.challenge(slug)
    blue, ann = crowd.member(slug)[0], crowd.person("Ann")
    ann[0].post(registrations(slug), json={"invitation": code_from(blue, slug)}).raise_for_status()
    me = ann[0].get("/me").json()["id"]
    path = team_path(blue, slug)
    answers = call_concurrently(
        [
            lambda: ann[-1].post(address, json=CORRECT_PREDICTIONS),
            lambda: ann[0].delete(f"{path}/members/{me}"),
            lambda: ann[0].post(address, json=CORRECT_PREDICTIONS),
        ]
    )
    accepted = count_statuses(answers)[202]
    assert count_statuses(answers) == {status: n for status, n in ((202, accepted), (204, 1), (403, 2 - accepted)) if n}
    mine = ann[0].get(registrations(slug)).json()["items"][0]
    assert mine["team"] is None
    assert (mine["bound_team_id"] is not None) == (accepted > 0)
    require_consistent(crowd, slug)
