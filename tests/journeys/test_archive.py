"""Archived challenges are read-only and listed apart; an owner lets them go on."""

from typing import Any

from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    People,
    board_ranks,
    create_challenge,
    require_finished,
    require_refused,
)
from tests.live_service import Caller
from tests.settle import settle

SPLIT_GOLD = [
    {"id": f"t{number}", "label": "ab"[number % 2], "split": "private" if number < 3 else "public"}
    for number in range(1, 7)
]


def slugs(who: Caller, **query: str) -> set[str]:
    return {each["slug"] for each in who.get("/challenges", params={"limit": 200, **query}).json()["items"]}


def change(who: Caller, slug: str, verb: str, **body: Any) -> dict[str, Any]:
    answer = who.post(f"/challenges/{slug}/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    changed: dict[str, Any] = answer.json()
    return changed


def test_an_archived_challenge_stays_readable_and_goes_on_when_it_is_unarchived(people: People) -> None:
    slug = create_challenge(people.admin, "archived")
    blue = people["Blue"].join(slug, "Blue")
    key = {"Idempotency-Key": "before", "Prefer": "wait=60"}
    path = f"/challenges/{slug}/phases/main/submissions"
    sent = require_finished(blue.post(path, json=CORRECT_PREDICTIONS, headers=key))
    assert people.visitor.get(f"/challenges/{slug}").json()["archived_at"] is None
    archived = change(people.admin, slug, "archive", reason="The workshop is over.")
    assert archived["archived_at"] is not None
    assert archived["phases"][0]["open"] is False
    assert change(people.admin, slug, "archive")["archived_at"] == archived["archived_at"]
    for who in (people.visitor, blue, people.admin):
        assert slug not in slugs(who)
        assert slug in slugs(who, archived="true")
        assert board_ranks(who.board(slug)) == [(1, "Blue")]
    assert blue.get(f"/submissions/{sent['id']}/report").status_code == 200
    refused = require_refused(blue.submit(slug, CORRECT_PREDICTIONS), 409, "challenge_archived")
    assert refused["archived_at"] == archived["archived_at"]
    require_refused(blue.submit(slug, CORRECT_PREDICTIONS, dry_run="true"), 409, "challenge_archived")
    require_refused(people.admin.submit(slug, CORRECT_PREDICTIONS, test="true"), 409, "challenge_archived")
    require_refused(blue.post(f"/challenges/{slug}/submissions", json=CORRECT_PREDICTIONS), 409, "challenge_archived")
    again = blue.post(path, json=CORRECT_PREDICTIONS, headers=key)
    assert (again.status_code, again.json()["id"]) == (200, sent["id"])
    for verb in ("select", "withdraw", "cancel"):
        require_refused(blue.post(f"/submissions/{sent['id']}/{verb}", json={}), 409, "challenge_archived")
        to_read = people.with_scopes(blue, "read").post(f"/submissions/{sent['id']}/{verb}", json={})
        require_refused(to_read, 403, "insufficient_scope")
    eve = people["Eve"].post(f"/challenges/{slug}/registrations", json={"team": "Eve"})
    require_refused(eve, 409, "challenge_archived")
    assert change(people.admin, slug, "unarchive", reason="One more round")["archived_at"] is None
    assert slug in slugs(people.visitor)
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))


def test_what_was_sent_before_is_still_scored(people: People) -> None:
    slug = create_challenge(people.admin, "in-flight")
    blue = people["Blue"].join(slug, "Blue")
    sent = [blue.submit(slug, CORRECT_PREDICTIONS, wait=0).json()["id"] for _ in range(5)]
    change(people.admin, slug, "archive")
    settle(people.live)
    for submission in sent:
        assert blue.get(f"/submissions/{submission}").json()["status"] == "finished"


def test_a_code_of_an_archived_challenge_admits_nobody(people: People) -> None:
    slug = create_challenge(people.admin, "archived-code", visibility="private", registration="invitation")
    code = people.admin.post(f"/challenges/{slug}/invitations", json={}).json()["code"]
    change(people.admin, slug, "archive")
    body = {"invitation": code, "team": "Eve"}
    require_refused(people["Eve"].post(f"/challenges/{slug}/registrations", json=body), 409, "challenge_archived")
    wrong = people["Eve"].post(f"/challenges/{slug}/registrations", json=body | {"invitation": "wrong"})
    require_refused(wrong, 404, "not_found")


def test_archiving_warns_of_what_it_holds_up(people: People) -> None:
    slug = create_challenge(people.admin, "unreleased", SPLIT_GOLD)
    warnings = change(people.admin, slug, "archive")["warnings"]
    assert ["has not closed" in warnings[0], "have not been released" in warnings[1]] == [True, True]
    closed = create_challenge(
        people.admin,
        "closed",
        phases=[{"name": "main", "opens_at": "2020-01-01T00:00:00Z", "closes_at": "2020-02-01T00:00:00Z"}],
    )
    assert change(people.admin, closed, "archive")["warnings"] == []


def test_only_owners_archive(people: People) -> None:
    slug = create_challenge(people.admin, "who-archives")
    editor = people["Editor"]
    body = {"email": editor.email, "role": "editor"}
    assert people.admin.post(f"/challenges/{slug}/organizers", json=body).status_code == 201
    require_refused(editor.post(f"/challenges/{slug}/archive"), 403, "forbidden")
    change(people.admin, slug, "archive")
    require_refused(editor.post(f"/challenges/{slug}/unarchive"), 403, "forbidden")


def test_who_may_not_change_something_learns_that_before_the_archive(people: People) -> None:
    slug = create_challenge(people.admin, "archived-rights")
    viewer, blue, left = people["Viewer"], people["Blue"].join(slug, "Blue"), people["Left"]
    editor = people["Editor"]
    assert people.admin.post(
        f"/challenges/{slug}/organizers", json={"email": viewer.email, "role": "viewer"}
    ).is_success
    named = {"email": editor.email, "role": "editor"}
    assert people.admin.post(f"/challenges/{slug}/organizers", json=named).is_success
    team = blue.get(f"/challenges/{slug}/teams").json()["items"][0]["id"]
    code = blue.post(f"/challenges/{slug}/teams/{team}/invitations", json={}).json()["code"]
    assert left.post(f"/challenges/{slug}/registrations", json={"invitation": code}).status_code == 201
    path = f"/submissions/{require_finished(blue.submit(slug, CORRECT_PREDICTIONS))['id']}"
    me = left.get("/me").json()["id"]
    assert left.delete(f"/challenges/{slug}/teams/{team}/members/{me}").status_code == 204
    mine = left.get(f"/challenges/{slug}/registrations").json()["items"][0]["id"]
    assert people.admin.patch(f"/challenges/{slug}/registrations/{mine}", json={"may_join": True}).is_success
    left.join(slug, "Left")
    change(people.admin, slug, "archive")
    for verb in ("withdraw", "cancel", "select"):
        require_refused(people.with_scopes(blue, "read").post(f"{path}/{verb}"), 403, "insufficient_scope")
        require_refused(viewer.post(f"{path}/{verb}"), 403, "forbidden")
        require_refused(left.post(f"{path}/{verb}"), 403, "submission_of_former_team")
        require_refused(blue.post(f"{path}/{verb}"), 409, "challenge_archived")
    for sent in (named, {}):
        require_refused(editor.post(f"/challenges/{slug}/organizers", json=sent), 403, "forbidden")
    require_refused(people.admin.post(f"/challenges/{slug}/organizers", json=named), 409, "challenge_archived")
    for verb in ("disqualify", "reinstate", "rerun"):
        body = None if verb == "rerun" else {"reason": "Late."}
        require_refused(viewer.post(f"{path}/{verb}", json=body), 403, "forbidden")
        require_refused(people.admin.post(f"{path}/{verb}", json=body), 409, "challenge_archived")
