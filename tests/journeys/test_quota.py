"""Quotas: what counts, what is given back, and what a refusal says."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest

from tests.faults.inspection import frozen_scoring
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    predictions_with_hits,
    require_finished,
    require_refused,
    submit_for_teams,
)
from tests.settle import settle

BAD = {"t1": "zebra"}


def limited(people: People, stem: str, quota: dict[str, int], **fields: Any) -> str:
    return create_challenge(people.admin, stem, phases=[{"name": "main", "quota": quota}], **fields)


@pytest.mark.parametrize(("quota", "allowed"), [({"per_day": 2}, 2), ({"total": 1}, 1)])
def test_a_used_up_quota_says_which_and_when_it_ends(people: People, quota: dict[str, int], allowed: int) -> None:
    slug = limited(people, "quota", quota)
    blue = people["Blue"].join(slug, "Blue")
    for _ in range(allowed):
        require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    answer = blue.submit(slug, CORRECT_PREDICTIONS)
    body = require_refused(answer, 429, "quota_exceeded")
    name = next(iter(quota))
    assert (body["quota"], body["limit"], body["used"]) == (name, allowed, allowed)
    words = {"per_day": "submissions per day", "total": "submissions in total"}[name]
    assert body["detail"] == f"The team has used {allowed} of {allowed} {words}."
    assert ("reset_at" in body) == ("retry-after" in answer.headers) == (name == "per_day")  # no waiting helps a total
    assert int(answer.headers.get("retry-after", 1)) >= 1
    assert require_finished(
        people["Green"].join(slug, "Green").submit(slug, CORRECT_PREDICTIONS)
    )  # each team has its own
    assert people.admin.patch(MAIN_PHASE_PATH.format(slug), json={"quota": {}}).status_code == 200
    assert require_finished(blue.submit(slug, CORRECT_PREDICTIONS))


def test_a_day_is_one_of_the_challenges_time_zone(people: People) -> None:
    zone = ZoneInfo("Pacific/Kiritimati")
    slug = limited(people, "quota-zone", {"per_day": 1}, timezone=zone.key)
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    answer = blue.submit(slug, CORRECT_PREDICTIONS)
    refused = require_refused(answer, 429, "quota_exceeded")
    for body in (sent, refused, blue.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()):
        local = datetime.fromisoformat(body["reset_at_local"])
        assert (local, local.tzname(), body["timezone"]) == (
            datetime.fromisoformat(body["reset_at"]),
            "UTC+14:00",
            zone.key,
        )
    reset = datetime.fromisoformat(refused["reset_at"])
    assert reset.astimezone(zone).timetz().replace(tzinfo=None) == time.min
    now = datetime.now(UTC)
    assert timedelta(0) < reset - now <= timedelta(days=1)
    assert abs(int(answer.headers["retry-after"]) - (reset - now).total_seconds()) < 120


def test_a_refused_file_is_not_charged_but_has_a_limit_of_its_own(people: People) -> None:
    slug = limited(people, "quota-invalid", {"total": 1, "invalid_per_day": 2})
    blue = people["Blue"].join(slug, "Blue")
    for _ in range(2):
        assert blue.submit(slug, BAD).json()["status"] == "rejected"
    body = require_refused(blue.submit(slug, CORRECT_PREDICTIONS), 429, "quota_exceeded")
    assert (body["quota"], body["used"]) == ("invalid_per_day", 2)
    assert body["reset_at"]
    assert blue.submit(slug, BAD, dry_run="true").json()["valid"] is False  # a dry run costs nothing
    state = blue.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()
    assert state["used"] == {"per_day": 0, "total": 0, "concurrent": 0, "invalid_per_day": 2}
    assert state["remaining"]["total"] == 1
    assert sorted(entry["kind"] for entry in state["ledger"]) == ["refund", "refund", "reserve", "reserve"]


def test_the_ledger_says_what_was_charged_and_what_given_back(people: People) -> None:
    slug = limited(people, "quota-ledger", {"total": 3})
    blue = people["Blue"].join(slug, "Blue")
    scored, bad = blue.submit(slug, CORRECT_PREDICTIONS).json(), blue.submit(slug, BAD).json()
    state = blue.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()
    said = {(entry["submission_id"], entry["kind"], entry["reason"]) for entry in state["ledger"]}
    assert said == {
        (scored["id"], "reserve", "admitted"),
        (scored["id"], "charge", "finished"),
        (bad["id"], "reserve", "admitted"),
        (bad["id"], "refund", "rejected"),
    }
    assert (state["used"]["total"], state["remaining"]["total"], state["limits"]["per_day"]) == (1, 2, None)


def test_many_at_once_never_pass_the_limit(people: People) -> None:
    slug = limited(people, "quota-storm", {"total": 3})
    blue = people["Blue"].join(slug, "Blue")

    def send(_: int) -> httpx.Response:
        return blue.submit(slug, CORRECT_PREDICTIONS, wait=0)

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(send, range(20)))
    stored = [answer.json()["id"] for answer in answers if answer.status_code == 202]
    assert len(stored) == 3
    for answer in answers:
        if answer.status_code != 202:
            require_refused(answer, 429, "quota_exceeded")
    listed = blue.get(f"{MAIN_PHASE_PATH.format(slug)}/submissions").json()["items"]
    assert {row["id"] for row in listed} == set(stored)


def test_submissions_at_work_count_as_concurrent_until_they_end(people: People) -> None:
    slug = limited(people, "quota-concurrent", {"concurrent": 2})
    blue, green = people["Blue"].join(slug, "Blue"), people["Green"].join(slug, "Green")
    require_finished(
        blue.submit(slug, CORRECT_PREDICTIONS)
    )  # one that has ended, by a child that runs and can be frozen

    def send(_: int) -> httpx.Response:
        return blue.submit(slug, CORRECT_PREDICTIONS, wait=0)

    def used() -> dict[str, Any]:
        state: dict[str, Any] = blue.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()["used"]
        return state

    # With frozen children nothing ends before all have been sent.
    with frozen_scoring(people.live), ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(send, range(10)))
        assert used()["concurrent"] == 2
        assert green.submit(slug, CORRECT_PREDICTIONS, wait=0).status_code == 202  # each team has its own
    refusals = [answer for answer in answers if answer.status_code != 202]
    assert len(refusals) == 8
    for answer in refusals:
        body = require_refused(answer, 429, "quota_exceeded")
        assert (body["quota"], body["limit"], body["used"]) == ("concurrent", 2, 2)
        assert "reset_at" not in body
        assert 1 <= int(answer.headers["retry-after"]) <= 60
    settle(people.live)
    assert not used()["concurrent"]
    assert require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    assert (used()["total"], used()["concurrent"]) == (4, 0)


def test_organizers_entries_are_never_charged(people: People) -> None:
    slug = limited(people, "quota-organizer", {"total": 1, "per_day": 1})
    blue = people["Blue"].join(slug, "Blue")
    submit_for_teams(people.admin, slug, [("Blue", predictions_with_hits(1)), ("Blue", predictions_with_hits(2))])
    submit_for_teams(
        people.admin,
        slug,
        [("Majority", predictions_with_hits(3)), ("Majority", predictions_with_hits(2))],
        baseline="true",
    )
    assert blue.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()["used"]["total"] == 0
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    require_refused(blue.submit(slug, CORRECT_PREDICTIONS), 429, "quota_exceeded")
    submit_for_teams(people.admin, slug, [("blue ", predictions_with_hits(4))])


def test_participants_name_no_team_and_enter_no_baseline(people: People) -> None:
    slug = create_challenge(people.admin, "no-baseline")
    blue = people["Blue"].join(slug, "Blue")
    claims: list[dict[str, Any]] = [{"team": "Green"}, {"team": "Blue"}, {"baseline": "true"}]
    for query in claims:
        require_refused(blue.submit(slug, CORRECT_PREDICTIONS, **query), 403, "forbidden")
    assert people.visitor.board(slug).json()["rows"] == []


def test_files_at_work_count_as_if_they_were_invalid(people: People) -> None:
    """Sent one after the other without waiting, invalid files do not outrun their limit."""
    slug = limited(people, "quota-outrun", {"invalid_per_day": 1})
    blue = people["Blue"].join(slug, "Blue")
    answers = [blue.submit(slug, BAD, wait=0) for _ in range(20)]
    taken = [answer.json()["id"] for answer in answers if answer.status_code == 202]
    assert len(taken) == 1
    for answer in answers[1:]:
        assert require_refused(answer, 429, "quota_exceeded")["quota"] == "invalid_per_day"
    settle(people.live)
    assert blue.get(f"/submissions/{taken[0]}").json()["status"] == "rejected"
    late = blue.submit(slug, BAD, wait=0)
    assert require_refused(late, 429, "quota_exceeded")["reset_at"]
    assert blue.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()["remaining"]["invalid_per_day"] == 0


def test_a_submission_being_scored_leaves_less_of_the_quota_for_invalid_files(people: People) -> None:
    slug = limited(people, "quota-undecided", {"invalid_per_day": 1})
    blue = people["Blue"].join(slug, "Blue")
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))

    def remaining() -> dict[str, Any]:
        state: dict[str, Any] = blue.get(f"{MAIN_PHASE_PATH.format(slug)}/quota").json()["remaining"]
        return state

    with frozen_scoring(people.live):
        assert blue.submit(slug, CORRECT_PREDICTIONS, wait=0).status_code == 202
        assert remaining()["invalid_per_day"] == 0
        answer = blue.submit(slug, CORRECT_PREDICTIONS, wait=0)
        body = require_refused(answer, 429, "quota_exceeded")
        assert body["quota"] == "invalid_per_day"
        assert "reset_at" not in body  # it may turn out valid long before the next day
        assert 1 <= int(answer.headers["retry-after"]) <= 60
    settle(people.live)
    assert remaining()["invalid_per_day"] == 1
    lowered = {"quota": {"total": 1}}
    people.admin.patch(MAIN_PHASE_PATH.format(slug), json=lowered).raise_for_status()
    assert remaining()["total"] == 0  # not -1, although two submissions are charged
