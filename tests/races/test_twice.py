"""The same request several times at once does what one does, leaves one entry in the audit trail, and no fault of ours."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import httpx
import pytest

from tests.live_service import PASSWORD, Caller
from tests.races.concurrent_clients import (
    CORRECT_PREDICTIONS,
    GOLD,
    ConcurrentClients,
    call_concurrently,
    count_statuses,
)
from tests.races.test_teams import code_from, registrations, require_consistent, team_path

TIMES = 4
WHY = {"reason": "Agreed on Monday."}
SCOPES = ["read", "submit", "organize", "admin"]

pytestmark = pytest.mark.parametrize("crowd", ["postgresql"], indirect=True)
"""SQLite has one writer at a time: what could meet there meets on PostgreSQL too."""


def repeat(who: Sequence[Caller], method: str, path: str, **request: Any) -> list[httpx.Response]:
    """The answers to a request that is sent several times at once, through all doors."""
    return call_concurrently(
        [partial(who[place % len(who)].request, method, path, **request) for place in range(TIMES)]
    )


def require_once(answers: Sequence[httpx.Response], success: int, *refusals: int) -> httpx.Response:
    """The one answer of success, where all others were refused in one of these ways."""
    counts = count_statuses(answers)
    assert counts[success] == 1, [each.text for each in answers]
    assert counts.keys() <= {success, *refusals}, [each.text for each in answers]
    return next(each for each in answers if each.status_code == success)


def require_all(answers: Sequence[httpx.Response], status: int) -> None:
    """All were answered alike."""
    assert count_statuses(answers) == {status: len(answers)}, [each.text for each in answers]


def admins(crowd: ConcurrentClients) -> list[Caller]:
    return [crowd.admin(door) for door in range(2)]


def entries(crowd: ConcurrentClients, action: str, object_id: str | None = None, challenge: str | None = None) -> int:
    """How often an act on something, or in a challenge, is in the audit trail."""
    about = {"action": action, "object": object_id, "challenge": challenge}
    trail = crowd.admin().get("/audit", params={name: value for name, value in about.items() if value is not None})
    return len(trail.raise_for_status().json()["items"])


def user_id(who: Sequence[Caller]) -> str:
    return str(who[0].get("/me").json()["id"])


def test_what_an_administrator_does_to_an_account(crowd: ConcurrentClients) -> None:
    person = crowd.person("Account")
    account = user_id(person)
    token = person[0].get("/tokens").json()["items"][0]["id"]
    require_all(repeat(admins(crowd), "DELETE", f"/tokens/{token}"), 204)
    assert entries(crowd, "token.revoke", token) == 1
    for change, action in (
        ({"approved": True}, "user.approve"),
        ({"disabled": True} | WHY, "user.disable"),
        ({"disabled": False}, "user.enable"),
    ):
        require_all(repeat(admins(crowd), "PATCH", f"/users/{account}", json=change), 200)
        assert entries(crowd, action, account) == 1
    require_once(repeat(admins(crowd), "DELETE", f"/users/{account}", params=WHY), 204, 404)
    assert entries(crowd, "user.delete", account) == 1


def test_two_administrators_cannot_disable_each_other(crowd: ConcurrentClients) -> None:
    people = []
    for name in ("Office 1", "Office 2"):
        login = {"email": f"{name.replace(' ', '')}@example.org".lower(), "password": PASSWORD}
        made = crowd.admin().post("/users", json=login | {"name": name, "admin": True}).json()
        token = crowd.admin().post("/tokens", json=login | {"scopes": SCOPES}).json()["token"]
        people.append((made["id"], {"Authorization": f"Bearer {token}"}))
    calls = [
        partial(
            crowd.admin(place).patch,
            f"/users/{people[1 - place][0]}",
            json={"disabled": True} | WHY,
            headers=people[place][1],
        )
        for place in range(2)
    ]
    require_once(call_concurrently(calls), 200, 401, 409)
    offices = crowd.admin().get("/users", params={"status": "admin", "q": "Office"}).json()["items"]
    assert [each["disabled_at"] is None for each in offices].count(True) == 1


def test_the_last_two_owners_do_not_both_go(crowd: ConcurrentClients) -> None:
    for number in range(2):
        slug = f"owners-{number}"
        crowd.challenge(slug)
        path, people = f"/challenges/{slug}/organizers", [crowd.person(f"Owner{number}{each}") for each in "ab"]
        for person in people:
            crowd.admin().post(path, json={"email": person[0].email, "role": "owner"}).raise_for_status()
        crowd.admin().delete(path, params={"email": "administrator@localhost"}).raise_for_status()
        account, other = user_id(people[0]), people[1][0].email
        answers = call_concurrently(
            [
                partial(crowd.admin(0).delete, f"/users/{account}"),
                partial(crowd.admin(1).delete, path, params={"email": other}),
            ]
        )
        require_once(answers, 204, 409)
        assert [each["role"] for each in crowd.admin().get(path).json()["items"]] == ["owner"]


def test_a_new_password_is_set_once(crowd: ConcurrentClients) -> None:
    person = crowd.person("Forgetful")
    account = user_id(person)

    def secret() -> str:
        link = crowd.admin().post(f"/users/{account}/reset").raise_for_status().json()["link"]
        return str(link.partition("#")[2])

    body = {"current": PASSWORD, "new": f"{PASSWORD}, changed"}
    require_once(repeat(person, "POST", "/me/password", json=body), 204, 401, 403)
    once = {"secret": secret(), "password": f"{PASSWORD}, once"}
    require_once(repeat(admins(crowd), "POST", "/password-resets", json=once), 204, 404, 409, 410, 422)
    assert entries(crowd, "user.spend_reset", account) == 1
    spent = [
        partial(crowd.admin(place).post, "/password-resets", json={"secret": each, "password": f"{PASSWORD}, two"})
        for place, each in enumerate([secret(), secret()] * 2)
    ]
    require_once(call_concurrently(spent), 204, 404, 409, 410, 422)
    disable = partial(crowd.admin().patch, f"/users/{account}", json={"disabled": True} | WHY)
    late = {"secret": secret(), "password": f"{PASSWORD}, late"}
    answers = call_concurrently([partial(crowd.admin(1).post, "/password-resets", json=late), disable])
    assert answers[1].status_code == 200
    assert answers[0].status_code in {204, 404, 409, 410, 422}
    crowd.admin().patch(f"/users/{account}", json={"disabled": False}).raise_for_status()


def test_an_account_is_deleted_once_by_its_owner(crowd: ConcurrentClients) -> None:
    person = crowd.person("Leaver")
    account = user_id(person)
    require_once(repeat(person, "DELETE", "/me", json={"password": PASSWORD}), 204, 401, 403, 409)
    assert entries(crowd, "user.delete", account) == 1


def test_a_code_for_the_site_is_used_and_revoked_once(crowd: ConcurrentClients) -> None:
    made = crowd.admin().post("/invitations", json={}).json()
    body = {"password": PASSWORD, "name": "New", "invitation": made["code"]}
    calls = [
        partial(crowd.admin(place).post, "/users", json=body | {"email": f"new-{place}@example.org"})
        for place in range(TIMES)
    ]
    require_once(call_concurrently(calls), 201, 422)
    for path in ("/invitations", f"/challenges/{crowd.challenge('codes').split('/')[2]}/invitations"):
        made = crowd.admin().post(path, json={}).json()
        require_all(repeat(admins(crowd), "DELETE", f"{path}/{made['id']}"), 204)
        assert entries(crowd, "invitation.revoke", made["id"]) == 1


def test_a_registration_is_decided_and_ended_once(crowd: ConcurrentClients) -> None:
    slug = "decisions"
    crowd.challenge(slug)
    crowd.admin().patch(f"/challenges/{slug}", json={"registration": "approval"}).raise_for_status()
    blue = crowd.member(slug)
    own = blue[0].get(registrations(slug)).json()["items"][0]["id"]
    path = f"{registrations(slug)}/{own}"
    require_all(repeat(admins(crowd), "PATCH", path, json={"status": "approved"}), 200)
    assert entries(crowd, "registration.approve", own) == 1
    require_all(repeat(blue, "DELETE", path), 204)
    assert entries(crowd, "registration.end", own) == 1
    require_consistent(crowd, slug)


def test_a_team_is_led_left_and_merged_once(crowd: ConcurrentClients) -> None:
    slug = "team-twice"
    crowd.challenge(slug)
    blue, green, ann = crowd.member(slug), crowd.member(slug, "Green"), crowd.person("Ann")
    ann[0].post(registrations(slug), json={"invitation": code_from(blue[0], slug)}).raise_for_status()
    path, other = team_path(blue[0], slug), team_path(green[0], slug)
    team = path.rsplit("/", 1)[1]
    require_all(repeat(admins(crowd), "PATCH", path, json={"captain": user_id(ann)}), 200)
    assert entries(crowd, "team.captain", team) == 1
    require_once(repeat(ann, "DELETE", f"{path}/members/{user_id(ann)}"), 204, 404)
    assert entries(crowd, "team.leave", team) == 1
    require_all(repeat(blue, "POST", f"{path}/merge", json={"with": "Green"}), 200)
    require_once(repeat(green, "DELETE", f"{other}/merge", params={"with": "Blue"}), 204, 409)
    require_all(repeat(blue, "POST", f"{path}/merge", json={"with": "Green"}), 200)
    merged = require_once(repeat(green, "POST", f"{other}/merge", json={"with": "Blue"}), 200, 403, 404, 409)
    assert merged.json()["merged"]
    require_all(repeat(admins(crowd), "POST", f"{path}/disqualify", json=WHY), 200)
    require_all(repeat(admins(crowd), "POST", f"{path}/reinstate", json=WHY), 200)
    assert [entries(crowd, f"team.{verb}", team) for verb in ("disqualify", "reinstate")] == [1, 1]
    require_consistent(crowd, slug)


def test_a_submission_is_withdrawn_disqualified_and_deleted_once(crowd: ConcurrentClients) -> None:
    slug = "marks-twice"
    crowd.challenge(slug)
    blue = crowd.member(slug)
    sent = blue[0].submit(slug, CORRECT_PREDICTIONS).json()["id"]
    for who, verb, body in (
        (blue, "withdraw", {}),
        (admins(crowd), "disqualify", WHY),
        (admins(crowd), "reinstate", {}),
    ):
        require_all(repeat(who, "POST", f"/submissions/{sent}/{verb}", json=body), 200)
        assert entries(crowd, f"submission.{verb}", sent) == 1
    tried = crowd.admin().submit(slug, CORRECT_PREDICTIONS, test="true").json()["id"]
    require_once(repeat(admins(crowd), "DELETE", f"/submissions/{tried}"), 204, 404)


def test_the_parts_of_a_challenge_change_and_end_once(crowd: ConcurrentClients) -> None:
    slug, who = "parts-twice", admins(crowd)
    address = crowd.challenge(slug)
    challenge, phase = f"/challenges/{slug}", address.removesuffix("/submissions")
    person = crowd.person("Viewer")
    role = {"email": person[0].email, "role": "viewer"}
    assert {each.status_code for each in repeat(who, "POST", f"{challenge}/organizers", json=role)} <= {200, 201}
    require_once(repeat(who, "DELETE", f"{challenge}/organizers", params={"email": role["email"]}), 204, 404)
    viewer = user_id(person)
    assert [entries(crowd, f"organizer.{verb}", viewer) for verb in ("set_role", "remove")] == [1, 1]
    offered = {"params": {"name": "a.csv", "licence": "CC0-1.0"}, "content": b"x"}
    before = crowd.stored()
    require_once(repeat(who, "POST", f"{challenge}/files", **offered), 201, 409)
    assert crowd.stored() == before + 1
    require_once(repeat(who, "DELETE", f"{challenge}/files/a.csv"), 204, 404)
    news = who[0].post(f"{challenge}/announcements", json={"title": "Begin"}).json()["id"]
    require_once(repeat(who, "DELETE", f"{challenge}/announcements/{news}"), 204, 404)
    for verb in ("pause", "resume"):
        require_all(repeat(who, "POST", f"{phase}/{verb}", json=WHY), 200)
        assert entries(crowd, f"phase.{verb}", challenge=slug) == 1
    who[0].post(f"{challenge}/phases", json={"name": "extra"}).raise_for_status()
    draft = f"{challenge}/phases/extra/gold/1"
    who[0].post(draft.removesuffix("/1"), json=GOLD).raise_for_status()
    require_once(repeat(who, "DELETE", draft), 204, 404)
    require_once(repeat(who, "DELETE", f"{challenge}/phases/extra"), 204, 404)


def test_a_challenge_is_copied_renamed_archived_and_deleted_once(crowd: ConcurrentClients) -> None:
    slug, who = "whole-twice", admins(crowd)
    crowd.challenge(slug)
    path = f"/challenges/{slug}"
    copied = {"slug": "whole-copy", "title": "Copy"}
    require_once(repeat(who, "POST", f"{path}/copy", json=copied), 201, 409)
    require_once(repeat(who, "PATCH", path, json={"slug": "whole-renamed"}), 200, 308, 409)
    path = "/challenges/whole-renamed"
    for verb in ("archive", "unarchive"):
        require_all(repeat(who, "POST", f"{path}/{verb}", json=WHY), 200)
        assert entries(crowd, f"challenge.{verb}", challenge="whole-renamed") == 1
    require_once(repeat(who, "DELETE", path), 204, 404)
    require_once(repeat(who, "DELETE", "/challenges/whole-copy"), 204, 404)
