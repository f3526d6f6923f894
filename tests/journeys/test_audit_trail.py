"""The audit trail: every act of an office leaves an entry, and who may read it finds it."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from sqlalchemy import select

from app.scoring import SCORER_VERSION
from app.store.tables import AuditEntry, BoardSwitch, Rerun, ScoreTask, Submission, User
from tests.api.in_process_app import openapi_document
from tests.cli.run_command import run_assay
from tests.journeys.audited_act import Act
from tests.journeys.audited_routes import ACTS, WITHOUT_REASON
from tests.journeys.support import (
    new_slug,
    require_refused,
    write_session_of,
)
from tests.live_service import PASSWORD, Caller, Live
from tests.settle import settle

PARTICIPANTS = ("ada", "bob", "cleo", "dan", "eve", "olga", "viewer")
PUBLIC_URL = "https://assay.example.org"
MOST_ENTRIES = 8  # that one act leaves, and more
REASON = "The committee decided so."
Operations = dict[tuple[str, str], dict[str, Any]]


def entries_of(who: Caller, path: str = "/audit", **query: Any) -> list[dict[str, Any]]:
    """All entries that this caller reads, in the order of the answers."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = who.get(path, params={"limit": 200, **query, **({"cursor": cursor} if cursor else {})})
        assert page.status_code == 200, page.text
        found += page.json()["items"]
        cursor = page.json()["next"]
        if cursor is None:
            return found


def actions(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["action"] for entry in entries]


@cache
def operations_of_api() -> Operations:
    """What the API says about its routes, by method and path."""
    document = openapi_document()
    schemas = document["components"]["schemas"]
    return {
        (method.upper(), path.removeprefix("/api/v1")): operation | {"schemas": schemas}
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


def operation_of(operations: Operations, act: Act) -> dict[str, Any]:
    """What the API says about the route of this act; of several that match, that with the fewest parameters."""
    matching = [route for route in operations if _uses(act, *route)]
    return operations[min(matching, key=lambda route: route[1].count("{"))]


def takes_reason_in_query(operation: dict[str, Any]) -> bool:
    return any((each["in"], each["name"]) == ("query", "reason") for each in operation.get("parameters", ()))


def takes_reason_in_body(operation: dict[str, Any]) -> bool:
    """Whether a schema that the body refers to, directly or as an alternative, has the property `reason`."""
    names = re.findall(r"#/components/schemas/(\w+)", json.dumps(operation.get("requestBody", {})))
    return any("reason" in operation["schemas"][name].get("properties", {}) for name in names)


class Story:
    """The acts of the table, one after another, on a service of their own."""

    def __init__(self, live: Live) -> None:
        self.live, self.admin = live, live.admin()
        self.people = {name: live.person(f"person-{name}") for name in PARTICIPANTS}
        ids = {name: str(person.get("/me").json()["id"]) for name, person in self.people.items()}
        self.ids = ids | {"admin": str(self.admin.get("/me").json()["id"])}
        emails = {name: self.people[name].email for name in ("olga", "viewer")}
        slugs = {"slug": new_slug("audited"), "gone": new_slug("gone")}
        self.fill = {f"{name}_id": each for name, each in ids.items()} | emails | slugs
        self.newest = max(entry["id"] for entry in [*entries_of(self.admin), {"id": ""}])
        self.operations = operations_of_api()
        self.outcomes: list[tuple[Act, list[dict[str, Any]]]] = []
        self.secrets: set[str] = {PASSWORD, "Zoe Zander", "person-", "@"}

    def caller(self, name: str) -> Caller:
        return self.admin if name == "admin" else self.people.get(name) or self.live.caller()

    def filled(self, value: Any) -> Any:
        text = json.dumps(value)
        for name, text_of in {**self.fill, "now": datetime.now(UTC).isoformat()}.items():
            text = text.replace("{" + name + "}", text_of)
        return json.loads(text)

    def do(self, act: Act) -> list[dict[str, Any]]:
        """Do it, and return the entries that it left, oldest first."""
        if act.before is not None:
            self._prepare(act.before)
        headers = {"Prefer": "wait=60"} if act.path.endswith("/submissions") else {}
        caller, path = self.caller(act.who), self.filled(act.path)
        asked = {"reason": REASON} if takes_reason_in_query(operation_of(self.operations, act)) else {}
        query = asked | self.filled(act.query)
        sent = {"content": act.body} if isinstance(act.body, bytes) else {"json": self.filled(act.body)}
        answer = caller.request(act.method, path, params=query, headers=headers, **sent)
        assert answer.is_success, (act, answer.text)
        for name, place in act.keep.items():
            value = answer.json()
            for part in place.split("."):
                value = value[part]
            self._keep(name, str(value))
        page = self.admin.get("/audit", params={"limit": MOST_ENTRIES}).json()["items"]
        new = [entry for entry in reversed(page) if entry["id"] > self.newest]
        assert len(new) < MOST_ENTRIES, "there may be others before"
        self.newest = max([self.newest, *(entry["id"] for entry in page)])
        return new

    def _keep(self, name: str, value: str) -> None:
        self.fill[name] = value
        if name == "link":
            self.fill["secret"] = value.partition("#")[2]
            self.secrets.add(self.fill["secret"].partition(".")[2])
        if name == "new":
            self.ids["new"] = value
        if name.endswith("code"):
            self.secrets.add(value)

    def _prepare(self, what: str) -> None:
        """Put rows back into a state that does not last on a service that scores."""
        with write_session_of(self.live) as session:
            if what == "let it wait":
                session.get_one(Submission, self.fill["waiting"]).status = "queued"
                return
            if what == "let the switch last":  # to a version that no worker here scores by
                phase_id = session.get_one(Submission, self.fill["waiting"]).phase_id
                of_phase = select(BoardSwitch).where(BoardSwitch.phase_id == phase_id, BoardSwitch.number == 1)
                switch = session.scalars(of_phase).one()
                email = self.people["olga"].email
                switch.requested_by = session.scalars(select(User.id).where(User.email == email)).one()
                switch.status = "pending"
                switch.to_scorer_version = SCORER_VERSION + 1
                return
            assert what == "let the rerun last"
            for task in session.scalars(select(ScoreTask)):
                task.rerun_id = None
            row = session.scalars(select(Rerun)).one()
            row.finished_at = row.cancelled_at = None


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """The story after its last act."""
    live = Live(tmp_path_factory.mktemp("audit") / "data", public_url=PUBLIC_URL).start()
    story = Story(live)
    for act in ACTS:
        story.outcomes.append((act, story.do(act)))
    settle(live)  # entries tell whether the log has them
    yield story
    live.stop()


def test_every_act_is_recorded_with_who_what_and_why(told: Story) -> None:
    assert len(told.outcomes) == len(ACTS)
    for act, new in told.outcomes:
        assert actions(new) == list(act.actions), act
        for entry in new:
            assert entry["actor"]["id"] == told.ids[act.who], (act, entry)
            asked = REASON if takes_reason_in_query(operation_of(told.operations, act)) else None
            assert (entry["reason"], entry["at"][-1]) == (act.reason or asked, "Z"), (act, entry)
        if new:
            assert new[0]["role"] == act.role, (act, new[0])
            expected = {name: dict(zip(("from", "to"), pair, strict=True)) for name, pair in act.changes.items()}
            assert told.filled(expected).items() <= new[0]["changes"].items(), (act, new[0])
            about_site = act.actions[0].partition(".")[0] in {"user", "token", "import"} or act.path.startswith(
                "/invitations"
            )
            assert (new[0]["challenge"] is None) == about_site, (act, new[0])


def test_every_recorded_act_takes_its_reason_in_one_place(told: Story) -> None:
    without = set()
    for act in (act for act in ACTS if act.actions):
        operation = operation_of(told.operations, act)
        places = takes_reason_in_query(operation) + takes_reason_in_body(operation)
        assert places <= 1, act
        if not places:
            without.add((act.method, act.path))
    assert without == WITHOUT_REASON


def test_every_route_that_changes_something_has_a_row() -> None:
    routes = {route for route in operations_of_api() if route[0] != "GET"}
    assert {route for route in routes if not any(_uses(act, *route) for act in ACTS)} == set()


def _uses(act: Act, method: str, path: str) -> bool:
    pattern = "[^/]+".join(map(re.escape, re.split(r"\{[^}]+\}", path)))
    return act.method == method and re.fullmatch(pattern, act.path) is not None


def test_no_entry_holds_a_secret_an_address_or_the_name_of_a_person(told: Story) -> None:
    with write_session_of(told.live) as session:
        rows = session.execute(select(AuditEntry.__table__)).all()
    text = json.dumps([list(map(str, row)) for row in rows])
    assert len(rows) > len(ACTS) / 2
    assert len(told.secrets) > 7
    assert {secret for secret in told.secrets if secret in text} == set()


def test_a_deleted_account_is_shown_by_its_pseudonym(told: Story) -> None:
    (gone,) = entries_of(told.admin, user=told.ids["eve"], action="user.delete")
    pseudonym = f"Deleted user {told.ids['eve'][-6:]}"
    assert (gone["actor"]["name"], gone["user"]["name"], gone["object"]["name"]) == (pseudonym,) * 3


def test_a_deleted_challenge_stays_readable_for_administrators(told: Story) -> None:
    slug = told.fill["gone"]
    path = f"/challenges/{slug}/audit"
    created, phase, deleted = entries_of(told.admin, path, order="oldest")
    assert entries_of(told.admin, challenge=slug, order="oldest") == [created, phase, deleted]
    assert entries_of(told.admin, challenge=created["challenge"]["id"], order="oldest") == [created, phase, deleted]
    assert created["challenge"] == phase["challenge"] == {"id": deleted["object"]["id"], "slug": slug}
    assert phase["phase"]["slug"] is None
    assert actions(entries_of(told.admin, path, phase="main")) == ["phase.create"]
    never = told.people["dan"].get("/challenges/never-was/audit")
    assert told.people["dan"].get(path).content == never.content
    require_refused(told.people["dan"].get("/audit"), 403, "forbidden")


def test_an_entry_names_its_object_as_it_was(told: Story) -> None:
    entries = entries_of(told.people["viewer"], f"/challenges/{told.fill['slug']}/audit")
    names = {entry["action"]: entry["object"]["name"] for entry in entries}
    expected = {"announcement.delete": "Longer delay", "phase.release": "main", "team.disqualify": "Azure"}
    assert names | expected == names
    assert names["challenge.edit"] == told.fill["slug"]


def test_the_trail_is_filtered_and_paged(told: Story) -> None:
    path, viewer, team = f"/challenges/{told.fill['slug']}/audit", told.people["viewer"], told.fill["blue"]
    everything = entries_of(viewer, path)
    assert [entry["id"] for entry in everything] == sorted((entry["id"] for entry in everything), reverse=True)
    assert entries_of(viewer, path, order="oldest") == everything[::-1]
    for order in ("newest", "oldest"):
        paged = entries_of(viewer, path, limit=7, order=order)
        assert paged == entries_of(viewer, path, order=order)

    def matches(test: Callable[[dict[str, Any]], Any], **query: Any) -> None:
        found = entries_of(viewer, path, **query)
        assert found == [entry for entry in everything if test(entry)]
        assert 0 < len(found) < len(everything), query

    ada, sent = told.ids["ada"], told.fill["sent"]
    for prefix in ("phase", "phase."):
        matches(lambda entry: entry["action"].startswith("phase."), action=prefix)
    matches(lambda entry: entry["action"] == "phase.pause", action="phase.pause")
    for account in (ada, told.people["ada"].email):
        matches(lambda entry: entry["actor"]["id"] == ada, actor=account)
        matches(lambda entry: entry["user"] is not None and entry["user"]["id"] == ada, user=account)
    matches(lambda entry: entry["object"]["id"] == sent, object=sent)
    for name in (team, "Azure", "azure"):
        matches(lambda entry: team in {entry["object"]["id"], (entry["team"] or {}).get("id")}, team=name)
    main = next(entry["phase"]["id"] for entry in everything if (entry["phase"] or {}).get("slug") == "main")
    for name in (main, "main"):
        matches(lambda entry: (entry["phase"] or {}).get("id") == main, phase=name)
    middle = everything[len(everything) // 2]["at"]
    matches(lambda entry: entry["at"] >= middle, since=middle)
    matches(lambda entry: entry["at"] < middle, until=middle)
    assert entries_of(viewer, path, actor="nobody@example.org") == []
    assert actions(entries_of(told.admin, phase="other")) == ["phase.delete", "phase.rename"]
    for query in ({"action": "Phase"}, {"since": "2027-01-01"}, {"order": "random"}, {"cursor": "x"}):
        assert viewer.get(path, params=query).status_code == 400, query


def test_ids_in_changes_come_with_names(told: Story) -> None:
    path = f"/challenges/{told.fill['slug']}/audit"
    entry = entries_of(told.people["viewer"], path, action="team.captain", order="oldest")[0]
    assert entry["names"] == {told.ids["ada"]: "person-ada", told.ids["bob"]: "person-bob"}
    assert entry["team"] == {"id": told.fill["blue"], "name": "Azure"}
    assert (entry["object"]["name"], entry["user"]["name"]) == ("Azure", "person-bob")


def test_the_command_line_shows_the_trail(told: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    slug, admin = told.fill["slug"], ("--url", told.live.url, "--token", told.live.admin_token)
    shown = run_assay("audit", slug, "--action", "quota.grant", *admin).out
    assert re.search(r"person-olga \(owner\) +quota.grant main, Azure +total: 5 → 7; reason: Agreed on Monday\.", shown)
    captains = run_assay("audit", slug, "--action", "team.captain", "--oldest", "--limit", 1, *admin)
    assert "person-ada → person-bob" in captains.out
    assert "more than 1 entries" in captains.err
    site = run_assay("audit", "--action", "challenge.delete", "--since", "2020-01-01", "--json", *admin).value()
    assert [entry["object"]["name"] for entry in site] == [told.fill["gone"]]
    assert "No entries match." in run_assay("audit", slug, "--until", "2020-01-01T00:00", *admin).out
    misspelt = ("--team", "Azur", "--user", "nobody@example.org", "--phase", "main", "--action", "quota.grant")
    told_of = run_assay("audit", slug, *misspelt, *admin).err
    assert ("--team 'Azur'" in told_of, "--user 'nobody@example.org'" in told_of, "--phase" in told_of) == (
        True,
        True,
        False,
    )
    assert run_assay("audit", "--since", "yesterday", *admin).status == 2


def test_commands_on_the_machine_of_the_service_are_recorded(told: Story) -> None:
    folder = ("--data-dir", told.live.data_dir)
    before = entries_of(told.admin, actor="operator")
    account = ("--email", "operated@example.org", "--name", "person-operated", "--approved", "--password", "-")
    assert run_assay("user", "create", *account, *folder, stdin=f"{PASSWORD}\n").status == 0
    token = run_assay("token", "create", "--email", "operated@example.org", *folder, "--json").value()
    assert run_assay("user", "reset", "operated@example.org", "--local", *folder).status == 0
    assert "Corrected the ranked values" in run_assay("doctor", "--repair", *folder).out
    new = entries_of(told.admin, actor="operator", order="oldest")[len(before) :]
    assert actions(new) == ["user.create", "token.create", "user.reset", "service.repair"]
    assert {(entry["actor"], entry["role"], entry["challenge"]) for entry in new} == {(None, "operator", None)}
    assert new[0]["changes"] == {"admin": {"from": None, "to": False}, "approved": {"from": None, "to": True}}
    assert new[1]["object"] == {"type": "token", "id": token["id"], "name": None}
    assert new[1]["changes"]["scopes"]["to"] == token["scopes"]
    assert token["token"].partition(".")[2] not in json.dumps(new)
