"""Who may do what: each route, by everybody, on public, private and draft challenges."""

import itertools
import json
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tests.journeys.access_matrix import ACCESS_RULES, ACCOUNTS, OWNERS, ROLES, VISIBLE, AccessRule
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    People,
    create_challenge,
    new_slug,
    require_finished,
    require_refused,
)
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD, Caller, open_challenge

KINDS = tuple(VISIBLE)
ORGANIZING = ("viewer", "editor", "owner")
NAMES = {role: role.title() for role in ROLES} | {"member": "Blue", "rival": "Green", "owner": "Olga"}
UNIQUE = itertools.count(1)
ABSENT = "0" * 32


@dataclass
class Stage:
    """One challenge of each kind, and a caller in each role."""

    callers: dict[str, Caller]
    fills: dict[str, dict[str, str]] = field(default_factory=dict)

    def send(self, role: str, row: AccessRule, fill: dict[str, str]) -> httpx.Response:
        """Use the route of a row as this role."""
        unique = {"unique": f"{role.replace(' ', '-')}-{next(UNIQUE)}", "password": PASSWORD}
        body = None if row.body is None else json.loads(_filled(json.dumps(row.body), fill | unique))
        query = {name: _filled(value, fill) for name, value in row.query.items()}
        caller = self.callers[role]
        address = str(caller.base_url.join(_filled(row.address, fill)))
        return caller.request(row.method, address, json=body, params=query, headers=row.headers)


def _filled(text: str, fill: dict[str, str]) -> str:
    for name, value in fill.items():
        text = text.replace("{" + name + "}", value)
    return text


def _join(callers: dict[str, Caller], slug: str) -> str:
    """Register everybody who shall have a registration; gives the id of the member's."""
    ids = {}
    for role in ("member", "rival", "pending", "barred"):
        made = callers[role].post(f"/challenges/{slug}/registrations", json={"team": role.title()})
        assert made.json()["status"] == "pending", made.text
        ids[role] = made.json()["id"]
    for role, status in {"member": "approved", "rival": "approved", "barred": "barred"}.items():
        path = f"/challenges/{slug}/registrations/{ids[role]}"
        assert callers["owner"].patch(path, json={"status": status}).status_code == 200
    return str(ids["member"])


def _build(stage: Stage, people: People, kind: str) -> None:
    slug = new_slug(f"access-{kind}")
    open_challenge(people.admin, slug, GOLD, registration="approval", draft=kind == "draft")
    for role in ORGANIZING:
        body = {"email": stage.callers[role].email, "role": role}
        assert people.admin.post(f"/challenges/{slug}/organizers", json=body).status_code == 201
    registration = ABSENT if kind == "draft" else _join(stage.callers, slug)
    if kind == "draft":
        answer = stage.callers["owner"].submit(slug, CORRECT_PREDICTIONS, team="Bench")
    else:
        answer = stage.callers["member"].submit(slug, CORRECT_PREDICTIONS)
    submission = require_finished(answer)["id"]
    if kind == "private":
        assert people.admin.patch(f"/challenges/{slug}", json={"visibility": "private"}).status_code == 200
    stage.fills[kind] = {
        "slug": slug,
        "phase": "main",
        "version": "1",
        "registration_id": registration,
        "submission_id": submission,
        "token_id": ABSENT,
        "key": "f1_macro",
        "spare": people["Spare"].email,
    }


@pytest.fixture(scope="module")
def stage(people: People) -> Stage:
    """Three challenges and eleven callers."""
    persons = {role: people[NAMES[role]] for role in ROLES[2:-1]}
    callers = {"nobody": people.visitor, "bad token": people.live.caller("assay_" + ABSENT + ".wrong")}
    for role, person in persons.items():
        organizes = role in ORGANIZING
        callers[role] = people.with_scopes(person, "read", "submit", "organize") if organizes else person
    stage = Stage(callers | {"administrator": people.admin})
    for kind in KINDS:
        _build(stage, people, kind)
    return stage


def expected(row: AccessRule, role: str, kind: str) -> int:
    if kind == "draft":  # the only submission is the organizers' own, and nobody can be registered
        if "{submission_id}" in row.path and role == "member":
            return 404
        if "{registration_id}" in row.path and role in row.allowed:
            return 404
        if "registrations" in row.path and row.method == "POST" and role in row.allowed & VISIBLE[kind]:
            return 201
    return row.status(role, VISIBLE[kind])


def usable(row: AccessRule, role: str, kind: str) -> bool:
    """Not those that would change the stage for who comes after; rows without a challenge once only."""
    if "{slug}" not in row.path and "{submission_id}" not in row.path:
        return kind == "public"
    registers = row.method == "POST" and row.path.endswith("/registrations")
    deletes = row.method == "DELETE" and row.path == "/challenges/{slug}"
    return not (kind == "draft" and role in VISIBLE["draft"] and (registers or (deletes and role in OWNERS)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("role", ROLES)
def test_every_route_answers_each_role_as_the_rules_say(stage: Stage, role: str, kind: str) -> None:
    wrong = []
    for row in ACCESS_RULES:
        if usable(row, role, kind):
            answer = stage.send(role, row, stage.fills[kind])
            if answer.status_code != expected(row, role, kind):
                wrong.append(
                    f"{row.method} {row.path} {row.query}: {answer.status_code}, not {expected(row, role, kind)}"
                )
            if answer.status_code == 401:
                assert answer.headers["www-authenticate"].startswith("Bearer ")
    assert wrong == []


def likeness(answer: httpx.Response) -> tuple[int, bytes, dict[str, str]]:
    """All of an answer that could tell something."""
    headers = {key: value for key, value in answer.headers.items() if key not in {"date", "x-request-id"}}
    return answer.status_code, answer.content, headers


@pytest.mark.parametrize("kind", ["private", "draft"])
@pytest.mark.parametrize("role", [role for role in ROLES if role not in VISIBLE["private"]])
def test_what_one_may_not_see_looks_the_same_as_what_does_not_exist(stage: Stage, role: str, kind: str) -> None:
    hidden = stage.fills[kind]
    absent = hidden | {"slug": "never-was", "submission_id": ABSENT, "registration_id": ABSENT}
    for row in ACCESS_RULES:
        if "{slug}" in row.path or "{submission_id}" in row.path:
            there, not_there = stage.send(role, row, hidden), stage.send(role, row, absent)
            assert likeness(there) == likeness(not_there), (row.method, row.path)


def test_a_rivals_submission_looks_the_same_as_none(stage: Stage) -> None:
    fill = stage.fills["public"]
    for row in ACCESS_RULES:
        if "{submission_id}" in row.path:
            for role in ("rival", "stranger", "pending", "barred"):
                there, not_there = stage.send(role, row, fill), stage.send(role, row, fill | {"submission_id": ABSENT})
                assert there.status_code == 404
                assert likeness(there) == likeness(not_there), (row.path, role)


@pytest.mark.parametrize("role", [role for role in ROLES if role != "bad token"])
def test_the_list_shows_exactly_the_challenges_that_can_be_read(stage: Stage, role: str) -> None:
    slugs: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = stage.callers[role].get("/challenges", params={"limit": 200, **cursor}).json()
        slugs += [item["slug"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    for kind in KINDS:
        assert (stage.fills[kind]["slug"] in slugs) == (role in VISIBLE[kind]), kind


def test_every_route_of_the_service_has_a_row(people: People) -> None:
    document = people.visitor.get("/openapi.json").json()
    routes = {
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method in operations
        if path not in {"/healthz", "/readyz"}
    }
    assert routes == {(row.method, row.address) for row in ACCESS_RULES}


def test_an_owner_deletes_a_draft_with_everything_in_it(people: People) -> None:
    before = set((people.live.data_dir / "files" / "uploads").iterdir())
    slug = new_slug("deleted")
    open_challenge(people.admin, slug, GOLD, draft=True)
    sent = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Majority", baseline="true"))
    assert people.admin.delete(f"/challenges/{slug}").status_code == 204
    require_refused(people.admin.get(f"/challenges/{slug}"), 404, "not_found")
    require_refused(people.admin.get(f"/submissions/{sent['id']}"), 404, "not_found")
    assert set((people.live.data_dir / "files" / "uploads").iterdir()) == before


def test_a_pending_or_barred_registration_says_so(stage: Stage) -> None:
    slug = stage.fills["public"]["slug"]
    for role, code in {
        "stranger": "not_registered",
        "pending": "registration_pending",
        "barred": "registration_barred",
    }.items():
        require_refused(stage.callers[role].submit(slug, CORRECT_PREDICTIONS), 403, code)


def test_a_viewer_in_a_team_cannot_change_a_submission_of_a_rival(people: People) -> None:
    slug = create_challenge(people.admin, "viewer-team")
    rival, viewer = people["Green"].join(slug, "Green"), people["Viewer"].join(slug, "Viewer")
    submission = require_finished(rival.submit(slug, CORRECT_PREDICTIONS))["id"]
    body = {"email": viewer.email, "role": "viewer"}
    people.admin.post(f"/challenges/{slug}/organizers", json=body).raise_for_status()
    viewer = people.with_scopes(viewer, "read", "submit", "organize")
    assert viewer.get(f"/submissions/{submission}").status_code == 200
    for action in ("select", "unselect", "cancel"):
        require_refused(viewer.post(f"/submissions/{submission}/{action}"), 404, "not_found")
    assert rival.get(f"/submissions/{submission}").json()["selected"] is False


def test_a_pending_member_sees_no_submission_of_the_team(people: People) -> None:
    slug = create_challenge(people.admin, "pending-team", registration="approval")
    member = people["Pending"].join(slug, "Pending")
    submission = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Pending"))["id"]
    for path in ("", "/report", "/predictions"):
        require_refused(member.get(f"/submissions/{submission}{path}"), 404, "not_found")
    for action in ("select", "unselect", "cancel"):
        require_refused(member.post(f"/submissions/{submission}/{action}"), 404, "not_found")


def test_a_former_organizer_with_a_team_no_longer_sees_a_draft(people: People) -> None:
    slug = new_slug("former-organizer")
    open_challenge(people.admin, slug, GOLD, draft=True)
    editor = people["Editor"]
    path, body = f"/challenges/{slug}/organizers", {"email": editor.email, "role": "editor"}
    people.admin.post(path, json=body).raise_for_status()
    editor = people.with_scopes(editor, "read", "submit", "organize").join(slug, "Editors")
    assert editor.get(f"/challenges/{slug}").status_code == 200
    people.admin.delete(path, params={"email": editor.email}).raise_for_status()
    require_refused(editor.get(f"/challenges/{slug}"), 404, "not_found")
    require_refused(editor.submit(slug, CORRECT_PREDICTIONS), 404, "not_found")
    listed = editor.get("/challenges", params={"limit": 200}).json()["items"]
    assert slug not in {challenge["slug"] for challenge in listed}  # the newest are on the first page


def test_people_see_their_own_registration_and_organizers_all(stage: Stage) -> None:
    path = f"/challenges/{stage.fills['public']['slug']}/registrations"
    seen = {role: [row["team"]["name"] for row in stage.callers[role].get(path).json()["items"]] for role in ACCOUNTS}
    assert seen["member"] == ["Member"]
    assert seen["stranger"] == []
    assert seen["pending"] == ["Pending"]
    for role in ("viewer", "editor", "owner", "administrator"):
        assert sorted(seen[role]) == ["Barred", "Member", "Pending", "Rival"], role


def test_unicode_and_broken_tokens_are_refused_politely(people: People) -> None:
    for header in (b"Bearer", b"Basic YTpi", b"Bearer assay_", b"Bearer \xff\xfe", b"bearer x.y"):
        answer = httpx.get(
            f"{people.live.url}/api/v1/me", headers=[(b"Authorization", header)], timeout=MAX_WAIT_SECONDS
        )
        require_refused(answer, 401, "unauthorized")
