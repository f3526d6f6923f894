"""Who may do what: every request of access_table.txt by every role, and by some roles in every state of a challenge."""

from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import pytest

from tests.api.in_process_app import openapi_document
from tests.journeys.access_matrix import ACCESS_RULES, INVALID, ROLES, STATES, TABLE, VISIBLE, AccessRule, read_table
from tests.journeys.access_stage import ABSENT, ACCOUNTS, ALLOWED_IN_ARCHIVED, EVERYBODY, ORGANIZING, Stage, callers_of
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    People,
    create_challenge,
    new_slug,
    require_finished,
    require_refused,
)
from tests.live_service import MAX_WAIT_SECONDS, open_challenge
from tests.settle import settle


@pytest.fixture(scope="module")
def stage(people: People) -> Iterator[Stage]:
    """Everybody, and challenges as they are needed."""
    stage = Stage(people, callers_of(people))
    yield stage
    for connection in stage.connections.values():
        connection.close()


def rotated(roles: Sequence[str], at: int, count: int) -> set[str]:
    """So many of these roles, others for the next request: all are asked in turn."""
    return {roles[(at * count + turn) % len(roles)] for turn in range(count)}


FIRST = frozenset({"str", "mem", "vie", "edi"})
"""Where most rights begin: these are asked everything before anything is merged, and with them one of each answer."""

ALIKE = {
    "vis": "str", "pen": "str", "bar": "pen", "for": "str", "riv": "mem", "cap": "mem", "c-r": "cap",
    "own": "edi", "adm": "own", "o-r": "vie",
}  # fmt: skip
"""To whom a role is most alike: it is asked everything that this one is answered differently, and half of the rest."""


def roles_asked(rule: AccessRule, at: int, state: str, *, first: bool = True) -> list[str]:
    """Who makes a request in a state.

    In the open challenge some do at first, and others, who are not answered like those most alike, in a second one. In another state, what it does to a
    request is seen by those whose answer it changes, and by one of the others, in turn. Whatever succeeds is done each
    time, by somebody, because later lines of the table build on it.
    """
    some = {role for role, cell in rule.cells.get(state, {}).items() if cell != "."}
    if state == "open":
        by_answer: dict[int | None, list[str]] = {}
        for role in ROLES:
            by_answer.setdefault(rule.status(role, state), []).append(role)
        some |= FIRST.union(rotated(INVALID, at, 1), *(rotated(roles, at, 1) for roles in by_answer.values()))
        if not first:
            more = ["owner of another challenge"] if rule.is_about_challenge else []
            for place, (role, like) in enumerate(ALIKE.items()):
                if (at + place) % 2 or rule.status(role, state) != rule.status(like, state):
                    more.append(role)
            some = set(more) - some
    else:
        at += STATES.index(state)
        some |= rotated([role for role in ROLES if role in VISIBLE.get(state, ROLES)], at, 1)
        if state in VISIBLE:
            some |= rotated([role for role in EVERYBODY if role not in VISIBLE[state]], at, 1)
    done = [role for role in ROLES if (rule.status(role, state) or 400) < 300]
    if rule.method != "GET" and done:
        some |= set(done) if state == "open" or rule.method == "DELETE" else rotated(done, at, 1)
    return [role for role in EVERYBODY if role in some]  # in the order of the table


def rules_in(state: str) -> list[AccessRule]:
    """All that are about a challenge; in most states those where the state of the phase may matter."""
    if state == "open":
        return ACCESS_RULES
    rules = [rule for rule in ACCESS_RULES if rule.is_about_challenge]
    if state in {"private", "draft"}:
        return rules
    return [rule for rule in rules if rule.is_about_phase or state in rule.cells]


WALKS = [("open", True), ("open", False), *((state, True) for state in STATES[1:])]


@pytest.mark.parametrize(
    ("state", "first"), [WALKS[0], *(pytest.param(*walk, marks=pytest.mark.ci) for walk in WALKS[1:])]
)
def test_every_route_answers_each_role_as_the_table_says(stage: Stage, state: str, first: bool) -> None:
    stage.fills.pop((state, True), None)
    fill, wrong = stage.fill(state, walked=True), []
    for at, rule in enumerate(rules_in(state)):
        for role in roles_asked(rule, at, state, first=first):
            expected = rule.status(role, state)
            if expected is None:
                continue
            answer = stage.send(role, rule, fill)
            if answer.status_code != expected:
                code = answer.json().get("code") if answer.status_code >= 400 else ""
                wrong.append(f"{rule.line}, {role}: {answer.status_code} {code}, not {expected}")
            if answer.status_code == 401:
                assert answer.headers["www-authenticate"].startswith("Bearer ")
    assert not wrong, "\n".join(wrong)


def test_every_role_is_asked_in_every_state_and_every_change_of_a_state_is_seen() -> None:
    asked: dict[str, set[tuple[str, str]]] = {state: set() for state in STATES}
    for state, first in WALKS:
        for at, rule in enumerate(rules_in(state)):
            asked[state] |= {(rule.line, role) for role in roles_asked(rule, at, state, first=first)}
    for rule in ACCESS_RULES:
        roles = {role for line, role in asked["open"] if line == rule.line}
        assert roles >= {role for role, like in ALIKE.items() if rule.status(role, "open") != rule.status(like, "open")}
        assert len(roles.intersection(ROLES)) >= len(ROLES) - 5
        assert roles.intersection(INVALID)
    assert {role for _, role in asked["open"]} == set(EVERYBODY)
    for state in STATES:
        assert {role for _, role in asked[state]} >= set(ROLES)
        changes = {
            (rule.line, role)
            for rule in rules_in(state)
            for role, cell in rule.cells.get(state, {}).items()
            if cell != "."
        }
        assert changes <= asked[state]


@pytest.mark.ci
def test_an_archived_challenge_is_read_only_on_every_route(stage: Stage) -> None:
    fill, wrong = stage.fill("archived"), []
    for at, rule in enumerate(ACCESS_RULES):
        if not rule.is_about_challenge or rule.address in ALLOWED_IN_ARCHIVED:
            continue
        for role in ROLES if rule.method != "GET" else rotated(ROLES, at, 2):
            in_open = rule.status(role, "open")
            if in_open is None or (rule.method != "GET" and in_open >= 300):
                continue
            answer = stage.send(role, rule, fill)
            refused = (answer.status_code, answer.json()["code"]) if rule.method != "GET" else None
            if refused != (409, "challenge_archived") and (refused or answer.status_code != in_open):
                wrong.append(f"{rule.line}, {role}: {answer.status_code} {answer.text[:80]}")
    assert not wrong, "\n".join(wrong)


def test_every_route_of_the_service_has_a_row() -> None:
    document = openapi_document()
    routes = {
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method in operations
        if path not in {"/healthz", "/readyz"}
    }
    # The files of the transparency log are described by its specification, not by this document.
    described = [rule for rule in ACCESS_RULES if not rule.address.startswith("/log/")]
    assert routes == {(rule.method, rule.address) for rule in described}


@pytest.mark.parametrize(
    "damage", [(" 409 409 409\n", " 409 409\n"), ("closed late", "closed hidden"), ("GET ", "GOT ")]
)
def test_a_line_of_the_table_that_says_nothing_clear_is_refused(damage: tuple[str, str]) -> None:
    text = TABLE.read_text(encoding="utf-8")
    assert damage[0] in text
    with pytest.raises((ValueError, KeyError)):
        read_table(text.replace(*damage))


def likeness(answer: httpx.Response) -> tuple[int, bytes, dict[str, str]]:
    """All of an answer that could tell something."""
    headers = {key: value for key, value in answer.headers.items() if key not in {"date", "x-request-id"}}
    return answer.status_code, answer.content, headers


@pytest.mark.parametrize("state", ["private", "draft"])
def test_what_one_may_not_see_looks_the_same_as_what_does_not_exist(stage: Stage, state: str) -> None:
    hidden = stage.fill(state)
    absent = hidden | {"slug": "never-was", "submission_id": ABSENT, "registration_id": ABSENT, "team_id": ABSENT}
    outsiders = ("str", "pen", "bar", "o-r", "owner of another challenge")
    for at, rule in enumerate(filter(lambda rule: rule.is_about_challenge, ACCESS_RULES)):
        for role in ("vis", *rotated(outsiders, at + (state == "draft"), 1)):
            there, not_there = stage.send(role, rule, hidden), stage.send(role, rule, absent)
            assert likeness(there) == likeness(not_there), (rule.method, rule.address, role)


def test_a_rivals_submission_looks_the_same_as_none(stage: Stage) -> None:
    fill = stage.fill("open")
    for at, rule in enumerate(ACCESS_RULES):
        if "{submission_id}" in rule.address and not rule.address.endswith(
            ("/receipt", "/receipt/proof", "/receipt/foreign")
        ):
            # the row of these is on the board
            for role in rotated(("riv", "str", "pen", "bar"), at, 2):
                there, not_there = (
                    stage.send(role, rule, fill),
                    stage.send(role, rule, fill | {"submission_id": ABSENT}),
                )
                assert there.status_code == 404
                assert likeness(there) == likeness(not_there), (rule.address, role)


def test_the_list_shows_exactly_the_challenges_that_can_be_read(stage: Stage) -> None:
    shown = {state: stage.fill(state)["slug"] for state in ("before", "private", "draft")}
    for role in ROLES:
        slugs: list[str] = []
        cursor: dict[str, Any] = {}
        while not cursor.get("ended"):
            page = stage.callers[role].get("/challenges", params={"limit": 200, **cursor}).json()
            slugs += [item["slug"] for item in page["items"]]
            cursor = {"cursor": page["next"]} if page["next"] is not None else {"ended": True}
        for state, slug in shown.items():
            assert (slug in slugs) == (state not in VISIBLE or role in VISIBLE[state]), (role, state)


def test_an_owner_deletes_a_draft_with_everything_in_it(people: People) -> None:
    settle(people.live)  # earlier tests leave work that stores and removes files
    before = set((people.live.data_dir / "files" / "uploads").iterdir())
    slug = new_slug("deleted")
    open_challenge(people.admin, slug, GOLD, draft=True)
    sent = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Majority", baseline="true"))
    assert people.admin.delete(f"/challenges/{slug}").status_code == 204
    require_refused(people.admin.get(f"/challenges/{slug}"), 404, "not_found")
    require_refused(people.admin.get(f"/submissions/{sent['id']}"), 404, "not_found")
    assert set((people.live.data_dir / "files" / "uploads").iterdir()) == before


def test_a_pending_or_barred_registration_says_so(stage: Stage) -> None:
    slug = stage.fill("open")["slug"]
    for role, code in {
        "str": "not_registered",
        "pen": "registration_pending",
        "bar": "registration_barred",
    }.items():
        require_refused(stage.callers[role].submit(slug, CORRECT_PREDICTIONS), 403, code)


def test_a_registered_user_ends_the_registration_before_organizing(people: People) -> None:
    slug = create_challenge(people.admin, "viewer-team")
    rival, viewer = people["Green"].join(slug, "Green"), people["Viewer"].join(slug, "Viewer")
    submission = require_finished(rival.submit(slug, CORRECT_PREDICTIONS))["id"]
    path, body = f"/challenges/{slug}/organizers", {"email": viewer.email, "role": "viewer"}
    require_refused(people.admin.post(path, json=body), 409, "still_registered")
    own = viewer.get(f"/challenges/{slug}/registrations").json()["items"][0]["id"]
    assert viewer.delete(f"/challenges/{slug}/registrations/{own}").status_code == 204
    assert people.admin.post(path, json=body).status_code == 201
    assert viewer.get(f"/submissions/{submission}").status_code == 200
    for action in ("select", "unselect", "cancel"):
        answer = viewer.post(
            f"/submissions/{submission}/{action}", json={"reason": "r"} if action != "cancel" else None
        )
        assert answer.status_code == 403, answer.text
    assert rival.get(f"/submissions/{submission}").json()["selected"] is False


def test_a_pending_member_sees_no_submission_of_the_team(people: People) -> None:
    slug = create_challenge(people.admin, "pending-team", registration="approval")
    member = people["Pending"].join(slug, "Pending")
    submission = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Pending"))["id"]
    for path in ("", "/report", "/predictions"):
        require_refused(member.get(f"/submissions/{submission}{path}"), 404, "not_found")
    for action in ("select", "unselect", "cancel"):
        require_refused(member.post(f"/submissions/{submission}/{action}"), 404, "not_found")


def test_a_former_organizer_no_longer_sees_a_draft_and_cannot_register(people: People) -> None:
    slug = new_slug("former-organizer")
    open_challenge(people.admin, slug, GOLD, draft=True)
    editor = people["Editor"]
    path, body = f"/challenges/{slug}/organizers", {"email": editor.email, "role": "editor"}
    people.admin.post(path, json=body).raise_for_status()
    require_refused(editor.post(f"/challenges/{slug}/registrations", json={"team": "E"}), 403, "may_have_read_gold")
    assert editor.get(f"/challenges/{slug}").status_code == 200
    people.admin.delete(path, params={"email": editor.email}).raise_for_status()
    require_refused(editor.get(f"/challenges/{slug}"), 404, "not_found")
    require_refused(editor.submit(slug, CORRECT_PREDICTIONS), 404, "not_found")
    listed = editor.get("/challenges", params={"limit": 200}).json()["items"]
    assert slug not in {challenge["slug"] for challenge in listed}  # the newest are on the first page
    people.admin.patch(f"/challenges/{slug}", json={"draft": False}).raise_for_status()
    require_refused(editor.post(f"/challenges/{slug}/registrations", json={"team": "E"}), 403, "may_have_read_gold")


def test_people_see_their_own_registration_and_organizers_all(stage: Stage) -> None:
    path = f"/challenges/{stage.fill('open')['slug']}/registrations"
    seen = {
        role: [(row["team"] or {}).get("name") for row in stage.callers[role].get(path).json()["items"]]
        for role in ACCOUNTS
    }
    assert seen["cap"] == seen["mem"] == ["Team cap"]
    assert seen["str"] == []
    assert seen["pen"] == ["Team pen"]
    assert seen["for"] == [None]  # in no team now
    for role in ORGANIZING:
        assert set(seen[role]) - {None} == {"Team cap", "Team riv", "Team pen", "Team bar"}, role


def test_unicode_and_broken_tokens_are_refused_politely(people: People) -> None:
    for header in (b"Bearer", b"Basic YTpi", b"Bearer assay_", b"Bearer \xff\xfe", b"bearer x.y"):
        answer = httpx.get(
            f"{people.live.url}/api/v1/me", headers=[(b"Authorization", header)], timeout=MAX_WAIT_SECONDS
        )
        require_refused(answer, 401, "unauthorized")
