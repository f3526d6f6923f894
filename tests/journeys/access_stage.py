"""The people and challenges of the access table: a caller in each role, and a challenge in each state."""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode

import httpx

from app.store.tables import Token
from tests.journeys.access_matrix import OTHERS, ROLES, AccessRule
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    new_slug,
    require_finished,
    write_session_of,
)
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD, Caller, open_challenge
from tests.settle import settle

ORGANIZING = {"vie": "viewer", "edi": "editor", "own": "owner"}
PARTICIPATING = ("for", "riv", "mem", "cap")
ACCOUNTS = ("str", "pen", "bar", *PARTICIPATING, *ORGANIZING)
EVERYBODY = (*ROLES, *OTHERS)
SPLIT_GOLD = [row | {"split": ("public", "private")[at % 2]} for at, row in enumerate(GOLD)]
UNIQUE = itertools.count(1)
ABSENT = "0" * 32
FILE_NAME = "train.json"
ALLOWED_IN_ARCHIVED = {
    *(f"/api/v1/challenges/{{slug}}/{verb}" for verb in ("archive", "unarchive", "copy", "recipe/check")),
    *(f"/api/v1/challenges/{{slug}}/phases/{{phase}}/items/{verb}" for verb in ("relabelling", "corrected-gold")),
}
PAST, FUTURE = "2021-01-01T00:00:00Z", "2090-01-01T00:00:00Z"


@dataclass
class Stage:
    """A caller in each role, and one challenge for each state that was asked for."""

    people: People
    callers: dict[str, Caller]
    fills: dict[tuple[str, bool], dict[str, str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    connections: dict[str, HTTPConnection] = field(default_factory=dict)
    before_state: Callable[["Stage", str, dict[str, str]], None] | None = None
    """What a test adds to each challenge before it enters its state."""

    def fill(self, state: str, *, walked: bool = False) -> dict[str, str]:
        """The names and ids of a challenge in this state, made when a test first needs it; `walked` is one to use up."""
        key = (state, walked)
        if key not in self.fills:
            self.fills[key] = _build(self, state)
        return self.fills[key]

    def name(self, role: str) -> str:
        """The name of an account."""
        if role not in self.names:
            self.names[role] = self.callers[role].get("/me").json().get("name", "")
        return self.names[role]

    def send(self, role: str, rule: AccessRule, fill: dict[str, str]) -> httpx.Response:
        """Make a request of the table as this role."""
        unique = {"unique": f"{role.replace(' ', '-')}-{next(UNIQUE)}", "password": PASSWORD}
        unique["own_name"] = self.name(role)
        body = None if rule.body is None else json.loads(_filled(json.dumps(rule.body), fill | unique))
        query = {name: _filled(value, fill) for name, value in rule.query.items()}
        headers = {
            name: self.callers[role].headers[name] for name in ("authorization",) if name in self.callers[role].headers
        }
        if not rule.address.startswith("/api/"):
            headers["X-Forwarded-For"] = "192.0.2.7"  # as from elsewhere
        if body is not None:
            headers["Content-Type"] = "application/json"
        target = _filled(rule.address, fill) + (f"?{urlencode(query)}" if query else "")
        return self._request(role, rule.method, target, None if body is None else json.dumps(body), headers)

    def _request(
        self, role: str, method: str, target: str, body: str | None, headers: dict[str, str]
    ) -> httpx.Response:
        """The answer by a plain connection: with httpx, making ten thousand requests costs more than answering them."""
        if role not in self.connections:
            self.connections[role] = HTTPConnection("127.0.0.1", self.people.live.port, timeout=MAX_WAIT_SECONDS)
        try:
            return self._exchange(role, method, target, body, headers)
        except ConnectionError:  # a busy machine left the connection idle so long that the service closed it
            return self._exchange(role, method, target, body, headers)

    def _exchange(
        self, role: str, method: str, target: str, body: str | None, headers: dict[str, str]
    ) -> httpx.Response:
        """One request by the connection of this role, which opens again after it was closed."""
        connection = self.connections[role]
        try:
            connection.request(method, target, body=body, headers=headers)
            answer = connection.getresponse()
            return httpx.Response(answer.status, headers=answer.getheaders(), content=answer.read())
        except OSError:
            connection.close()  # or the next request of this role would fail too
            raise


def _filled(text: str, fill: dict[str, str]) -> str:
    for name, value in fill.items():
        text = text.replace("{" + name + "}", value)
    return text


def callers_of(people: People) -> dict[str, Caller]:
    """A caller in each role: those who only read, and those whose tokens are no longer valid, among them."""
    callers = {role: people[f"Access-{role}"] for role in ACCOUNTS}
    for role, of in {"c-r": "cap", "o-r": "own"}.items():
        callers[role] = people.with_scopes(callers[of], "read")
    owner = people["Access-elsewhere"]
    slug = create_challenge(people.admin, "access-elsewhere")
    body = {"email": owner.email, "role": "owner"}
    people.admin.post(f"/challenges/{slug}/organizers", json=body).raise_for_status()
    disabled = people.live.person("Access-disabled")
    user_id = disabled.get("/me").json()["id"]
    people.admin.patch(f"/users/{user_id}", json={"disabled": True, "reason": "test"}).raise_for_status()
    expired = people.with_scopes(callers["cap"], "read", "submit")
    token_id = callers["cap"].get("/tokens").json()["items"][0]["id"]
    with write_session_of(people.live) as session:
        session.get_one(Token, token_id).expires_at = datetime.now(UTC) - timedelta(seconds=1)
    return callers | {
        "vis": people.visitor,
        "adm": people.admin,
        "owner of another challenge": owner,
        "unknown token": people.live.caller("assay_" + ABSENT + ".wrong"),
        "expired token": expired,
        "disabled user": disabled,
    }


def _join(stage: Stage, slug: str) -> dict[str, str]:
    """Register everybody who shall have a registration; gives what is about the captain and the team."""
    path, owner = f"/challenges/{slug}/registrations", stage.callers["own"]
    registrations: dict[str, Any] = {}
    for role in ("cap", "riv", "pen", "bar"):
        made = stage.callers[role].post(path, json={"team": f"Team {role}"})
        assert made.json()["status"] == "pending", made.text
        registrations[role] = made.json()
    decisions = {"cap": "approved", "riv": "approved", "bar": "barred"}
    team_id = registrations["cap"]["team"]["id"]
    for role, status in decisions.items():
        _decide(owner, path, registrations[role]["id"], status)
    for role in ("for", "mem"):
        code = stage.callers["cap"].post(f"/challenges/{slug}/teams/{team_id}/invitations", json={}).json()["code"]
        made = stage.callers[role].post(path, json={"invitation": code})
        assert made.status_code == 201, made.text
        if made.json()["status"] == "pending":
            _decide(owner, path, made.json()["id"], "approved")
    return {"registration_id": registrations["cap"]["id"], "team_id": team_id, "team_name": "Team cap"}


def _decide(organizer: Caller, path: str, registration: str, status: str) -> None:
    answer = organizer.patch(f"{path}/{registration}", json={"status": status, "reason": "two accounts"})
    assert answer.status_code == 200, answer.text


def _build(stage: Stage, state: str) -> dict[str, str]:
    """A challenge in this state, with the submission that the table is about."""
    admin, callers = stage.people.admin, stage.callers
    slug = new_slug(f"access-{state}")
    phase = {"name": "main", "opens_at": FUTURE if state == "before" else "2020-01-01T00:00:00Z"}
    gold = SPLIT_GOLD if state == "released" else GOLD
    open_challenge(admin, slug, gold, registration="approval", draft=state == "draft", phases=[phase])
    for role, name in ORGANIZING.items():
        body = {"email": callers[role].email, "role": name}
        assert admin.post(f"/challenges/{slug}/organizers", json=body).status_code == 201
    if state == "draft":
        sent = require_finished(callers["own"].submit(slug, CORRECT_PREDICTIONS, team="Bench"))
        joined = {"registration_id": ABSENT, "team_id": sent["team"]["id"], "team_name": "Bench"}
    else:
        joined = _join(stage, slug)
        if state == "before":
            sent = require_finished(callers["own"].submit(slug, CORRECT_PREDICTIONS, team=joined["team_name"]))
        else:
            sent = require_finished(callers["cap"].submit(slug, CORRECT_PREDICTIONS))
        user_id, team_path = callers["for"].get("/me").json()["id"], f"/challenges/{slug}/teams/{joined['team_id']}"
        assert callers["for"].delete(f"{team_path}/members/{user_id}").is_success
    offered = {"name": FILE_NAME, "licence": "CC0-1.0", "audience": "teams"}
    admin.post(f"/challenges/{slug}/files", params=offered, content=b"id\n").raise_for_status()
    fill = joined | {
        "slug": slug,
        "phase": "main",
        "version": "1",
        "submission_id": sent["id"],
        "file_name": FILE_NAME,
        "announcement_id": ABSENT,
        "invitation_id": ABSENT,
        "import_id": ABSENT,
        "user_id": ABSENT,
        "token_id": ABSENT,
        "entry_id": ABSENT,
        "record_id": ABSENT,
        "level": "63",
        "number": "1",
        "label": "absent",
        "key": "f1_macro",
        "spare": stage.people["Spare"].email,
    }
    if stage.before_state is not None:
        stage.before_state(stage, state, fill)
    _enter_state(admin, slug, state)
    settle(stage.people.live)
    return fill


def _enter_state(admin: Caller, slug: str, state: str) -> None:
    path = MAIN_PHASE_PATH.format(slug)
    if state == "paused":
        assert admin.post(f"{path}/pause", json={"reason": "The gold is being checked."}).status_code == 200
    if state in {"closed", "late", "released"}:
        change = {"closes_at": PAST, "late": "unofficial" if state == "late" else "refuse"}
        assert admin.patch(path, json=change).status_code == 200
    if state == "released":
        answer = admin.post(f"{path}/release", json={"reason": "agreed"})
        assert answer.status_code == 200, answer.text
    if state == "archived":
        assert admin.post(f"/challenges/{slug}/archive").status_code == 200
    if state == "private":
        assert admin.patch(f"/challenges/{slug}", json={"visibility": "private"}).status_code == 200
