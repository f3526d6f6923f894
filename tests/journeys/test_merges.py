"""Merges: both captains agree, in time, within what one team could have made so far in each phase."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    People,
    create_challenge,
    require_finished,
    require_refused,
)
from tests.live_service import Caller


def two_teams(people: People, slug: str) -> tuple[Caller, Caller]:
    return people["Blue"].join(slug, "Blue"), people["Red"].join(slug, "Red")


def ask(who: Caller, slug: str, other: str) -> httpx.Response:
    (team,) = who.get(f"/challenges/{slug}/teams").json()["items"]
    return who.post(f"/challenges/{slug}/teams/{team['id']}/merge", json={"with": other})


def send(who: Caller, slug: str, count: int, phase: str = "main") -> None:
    for _ in range(count):
        require_finished(who.submit(slug, CORRECT_PREDICTIONS, phase=phase))


def test_one_team_takes_over_the_other_with_what_it_sent_and_used(people: People) -> None:
    slug = create_challenge(people.admin, "merge", phases=[{"name": "main", "quota": {"total": 5}}])
    blue, red = two_teams(people, slug)
    send(blue, slug, 2)
    send(red, slug, 1)
    assert ask(blue, slug, "Red").json()["merged"] is False
    assert ask(blue, slug, "Red").json()["merged"] is False  # asking again does not agree for the other
    assert ask(red, slug, "Blue").json()["merged"] is True
    (team,) = red.get(f"/challenges/{slug}/teams").json()["items"]
    assert [(each["name"], each["captain"]) for each in team["members"]] == [("Blue", True), ("Red", False)]
    quota = red.get(f"/challenges/{slug}/phases/main/quota").json()
    assert (quota["used"]["total"], quota["remaining"]["total"]) == (3, 2)
    board = people.visitor.board(slug).json()["rows"]
    assert [(row["team"]["name"], row["entries"]) for row in board] == [("Blue", 3)]
    refused = people["Green"].post(f"/challenges/{slug}/registrations", json={"team": "Red"})
    require_refused(refused, 409, "team_name_taken")  # a name that was on the board is nobody else's


@pytest.mark.parametrize(("quota", "limit"), [({"total": 2}, "total"), ({"per_day": 2}, "per_day")])
def test_together_they_made_no_more_than_one_team_could(people: People, quota: dict[str, int], limit: str) -> None:
    slug = create_challenge(people.admin, "merge-limit", phases=[{"name": "main", "quota": quota}])
    blue, red = two_teams(people, slug)
    send(blue, slug, 2)
    assert ask(red, slug, "Blue").json()["merged"] is False
    send(red, slug, 1)
    refused = require_refused(ask(blue, slug, "Red"), 409, "merge_exceeds_quota")
    assert (refused["used"], refused["limit"], f"({limit})" in refused["detail"]) == (3, 2, True)
    main = f"/challenges/{slug}/phases/main"
    people.admin.patch(main, json={"leaderboard": "hidden"}).raise_for_status()
    hidden = require_refused(ask(blue, slug, "Red"), 409, "merge_exceeds_quota")
    assert (set(hidden) & {"used", "limit"}, f"({limit})" in hidden["detail"]) == (set(), True)
    people.admin.patch(main, json={"leaderboard": "public"}).raise_for_status()
    send(people["Green"].join(slug, "Green"), slug, 1)
    proposed = require_refused(ask(people["Green"], slug, "Blue"), 409, "merge_exceeds_quota")  # nobody agreed to it
    assert (set(proposed) & {"used", "limit"}, "3" in proposed["detail"]) == (set(), False)
    grant = {"team": "Red", limit: 1, "reason": "An outage of ours."}
    assert people.admin.post(f"/challenges/{slug}/phases/main/quota/grants", json=grant).status_code == 201
    assert ask(blue, slug, "Red").json()["merged"] is True


def test_a_daily_limit_counts_each_day_of_the_phase_so_far(people: People) -> None:
    opened = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    phase = {"name": "main", "opens_at": opened, "quota": {"per_day": 2}}
    slug = create_challenge(people.admin, "merge-days", phases=[phase])
    blue, red = two_teams(people, slug)
    send(blue, slug, 2)
    send(red, slug, 2)  # as many as one team could have sent yesterday and today
    ask(blue, slug, "Red")
    assert ask(red, slug, "Blue").json()["merged"] is True
    require_refused(red.submit(slug, CORRECT_PREDICTIONS), 429, "quota_exceeded")


def test_every_phase_counts_for_itself(people: People) -> None:
    phases: list[dict[str, Any]] = [{"name": name, "quota": {"total": 1}} for name in ("main", "other")]
    slug = create_challenge(people.admin, "merge-phases", phases=phases)
    gold = people.admin.post(f"/challenges/{slug}/phases/other/gold", params={"activate": "true"}, json=GOLD)
    assert gold.status_code == 201, gold.text
    blue, red = two_teams(people, slug)
    send(blue, slug, 1)
    send(blue, slug, 1, "other")
    assert ask(blue, slug, "Red").json()["merged"] is False
    send(red, slug, 1, "other")
    assert require_refused(ask(red, slug, "Blue"), 409, "merge_exceeds_quota")["phase"] == "other"


def test_neither_late_nor_with_a_team_out_of_the_competition(people: People) -> None:
    slug = create_challenge(people.admin, "merge-late")
    blue, red = two_teams(people, slug)
    ids = {row["name"]: row["id"] for row in people.admin.get(f"/challenges/{slug}/teams").json()["items"]}
    team = f"/challenges/{slug}/teams/{ids['Red']}"
    assert people.admin.post(f"{team}/disqualify", json={"reason": "Two accounts."}).status_code == 200
    require_refused(ask(blue, slug, "Red"), 409, "team_cannot_merge")
    assert people.admin.post(f"{team}/reinstate", json={}).status_code == 200
    assert ask(blue, slug, "Red").status_code == 200
    late = {"merge_deadline": (datetime.now(UTC) - timedelta(minutes=1)).isoformat()}
    assert people.admin.patch(f"/challenges/{slug}", json=late).status_code == 200
    require_refused(ask(red, slug, "Blue"), 409, "merge_too_late")  # though it was proposed in time
    require_refused(ask(people["Blue"], slug, "Nobody"), 404, "not_found")
