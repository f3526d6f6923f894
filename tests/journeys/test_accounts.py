"""Accounts: passwords, resets, disabling, deletion, own data, invitations to the site."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.actions.accounts.token_uses import TokenUses
from app.settings import Settings
from app.store.session import Database
from app.store.tables import AuditEntry, PasswordReset, Token
from tests.cli.run_command import run_assay
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    People,
    create_challenge,
    create_without_gold,
    require_finished,
    require_refused,
    write_session_of,
)
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD, Caller, Live

NEW_PASSWORD = "sieben Zwerge trinken Tee"


def log_in(people: People, email: str, password: str) -> Any:
    return people.visitor.post("/tokens", json={"email": email, "password": password})


def id_of(caller: Caller) -> str:
    return str(caller.get("/me").json()["id"])


def test_a_new_password_ends_all_other_tokens(people: People) -> None:
    person = people.live.person("Changer")
    other = people.with_scopes(person, "read")
    body = {"current": PASSWORD, "new": NEW_PASSWORD}
    require_refused(person.post("/me/password", json=body | {"current": "wrong"}), 401, "wrong_password")
    require_refused(person.post("/me/password", json=body | {"new": "Changer123"}), 422, "invalid_request")
    assert other.get("/me").status_code == 200
    assert person.post("/me/password", json=body).status_code == 204
    assert person.get("/me").status_code == 200
    require_refused(other.get("/me"), 401, "unauthorized")
    require_refused(log_in(people, person.email, PASSWORD), 401, "wrong_password")
    assert log_in(people, person.email, NEW_PASSWORD).status_code == 201


def test_a_name_can_change(people: People) -> None:
    person = people.live.person("Before")
    assert person.patch("/me", json={"name": "After"}).json()["name"] == "After"
    assert person.get("/me").json()["name"] == "After"


def test_a_disabled_account_is_locked_out_until_it_is_enabled(people: People) -> None:
    person = people.live.person("Disabled")
    id_of_disabled = id_of(person)
    path = f"/users/{id_of_disabled}"
    require_refused(people.admin.patch(path, json={"disabled": True}), 422, "invalid_request")
    body = {"disabled": True, "reason": "Shared with others."}
    require_refused(person.patch(path, json=body), 403, "forbidden")
    assert people.admin.patch(path, json=body).json()["disabled_reason"] == "Shared with others."
    require_refused(person.get("/me"), 401, "unauthorized")
    assert "Shared" in require_refused(log_in(people, person.email, PASSWORD), 403, "account_disabled")["detail"]
    require_refused(log_in(people, person.email, "wrong"), 401, "wrong_password")  # who does not know it learns nothing
    listing = {"status": "disabled", "q": person.email}  # other tests disable accounts too
    assert [row["id"] for row in people.admin.get("/users", params=listing).json()["items"]] == [id_of_disabled]
    assert people.admin.patch(path, json={"disabled": False}).json()["disabled_at"] is None
    assert log_in(people, person.email, PASSWORD).status_code == 201
    require_refused(person.get("/me"), 401, "unauthorized")  # its old token stays ended
    with write_session_of(people.live) as session:
        acts = session.scalars(select(AuditEntry).where(AuditEntry.object_id == id_of_disabled))
        assert [(act.action, act.role) for act in acts] == [
            ("user.disable", "administrator"),
            ("user.enable", "administrator"),
        ]


def test_nobody_shuts_the_administrators_out(people: People) -> None:
    boss = people.live.person("AccountBoss", admin=True)
    body = {"disabled": True, "reason": "mistake"}
    full = people.with_scopes(boss, "admin")
    require_refused(full.patch(f"/users/{id_of(boss)}", json=body), 409, "last_administrator")
    require_refused(people.admin.patch(f"/users/{id_of(people.admin)}", json=body), 409, "last_administrator")
    require_refused(people.admin.post(f"/users/{id_of(boss)}/reset"), 403, "forbidden")


def test_a_deleted_account_leaves_what_it_sent_under_a_pseudonym(people: People) -> None:
    slug = create_challenge(people.admin, "deleted")
    person = people.live.person("Leaver").join(slug, "Leavers")
    user_id = id_of(person)
    sent = require_finished(person.submit(slug, CORRECT_PREDICTIONS))
    data = person.get("/me/data").json()
    assert [row["id"] for row in data["submissions"]] == [sent["id"]]
    assert [(row["challenge"], row["team"]) for row in data["registrations"]] == [(slug, "Leavers")]
    assert data["account"]["email"] == person.email.lower()
    assert "argon2" not in json.dumps(data)
    assert "secret" not in json.dumps(data)
    assert data["submissions"][0]["scores"] == sent["scores"]
    assert data["submissions"][0]["phase"] == "main"
    assert [act["action"] for act in data["registrations"][0]["history"]] == ["registration.create"]
    wrong = person.request("DELETE", "/me", json={"password": "wrong"})
    require_refused(wrong, 401, "wrong_password")
    assert person.request("DELETE", "/me", json={"password": PASSWORD}).status_code == 204
    require_refused(person.get("/me"), 401, "unauthorized")
    require_refused(log_in(people, person.email, PASSWORD), 401, "wrong_password")
    board = people.visitor.board(slug).json()["rows"]
    assert [(row["team"]["name"], row["submission"]) for row in board] == [("Leavers", sent["id"])]
    listed = people.admin.get(f"/challenges/{slug}/registrations").json()["items"]
    assert listed[0]["user"]["name"] == f"Deleted user {user_id[-6:]}"
    again = {"email": person.email, "name": "Leaver", "password": PASSWORD}
    assert people.visitor.post("/users", json=again).status_code == 201  # the address is free again


def test_all_of_long_data_is_sent(people: People) -> None:
    person = people.live.person("Busy")
    with write_session_of(people.live) as session:
        common = {"actor_id": id_of(person), "role": "user", "changes": {}}
        session.add_all(AuditEntry(action="team.rename", object_name=str(number), **common) for number in range(401))
    answer = person.get("/me/data", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-disposition"] == 'attachment; filename="assay-data.json"'
    data = answer.json()
    assert sorted(int(act["object_name"]) for act in data["acts"]) == list(range(401))
    assert data["submissions"] == []


def test_the_scores_in_own_data_are_those_that_the_phase_shows(people: People) -> None:
    phase = {"name": "main", "reports": []}
    slug = create_challenge(people.admin, "own-data", phases=[phase])
    person = people.live.person("Blind").join(slug, "Blind")
    person.submit(slug, CORRECT_PREDICTIONS)
    (sent,) = person.get("/me/data").json()["submissions"]
    assert (sent["status"], sent["scores"], sent["challenge"]) == ("finished", {}, slug)


@pytest.mark.parametrize("reason", ["", "  ", "\u200b"])
def test_an_empty_reason_is_none(people: People, reason: str) -> None:
    path = f"/users/{id_of(people['Ada'])}"
    require_refused(people.admin.patch(path, json={"disabled": True, "reason": reason}), 422, "invalid_request")


def test_a_text_that_no_database_takes_is_refused(people: People) -> None:
    require_refused(people.admin.get("/users", params={"q": "a\0"}), 400, "bad_request")
    body = {"secret": "a\0.b", "password": NEW_PASSWORD}
    require_refused(people.visitor.post("/password-resets", json=body), 422, "invalid_request")


def test_a_disabled_account_cannot_act_by_any_token_or_session(people: People) -> None:
    person = people.live.person("Frozen")
    assert people.admin.patch(f"/users/{id_of(person)}", json={"disabled": True, "reason": "A test"}).status_code == 200
    refused = run_assay("token", "create", "--email", person.email, "--data-dir", str(people.live.data_dir))
    assert (refused.status, "A test" in refused.err) == (1, True)
    with write_session_of(people.live) as session:  # a token that was left over is none
        for token in session.scalars(select(Token).where(Token.user.has(email=person.email))):
            token.revoked_at = None
    require_refused(person.get("/me"), 401, "unauthorized")
    require_refused(person.submit("no-challenge", CORRECT_PREDICTIONS), 401, "unauthorized")


def test_an_approval_can_be_withdrawn_on_the_command_line(people: People) -> None:
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    person = people.live.person("Trusted", approved=True)
    withdrawn = run_assay("user", "approve", person.email, "--withdraw", "--reason", "Has left", *service)
    assert "no longer approved" in withdrawn.out
    assert person.get("/me").json()["approved"] is False


def test_the_command_line_writes_own_data_to_a_file(people: People, tmp_path: Path) -> None:
    person = people.live.person("Zo\u00eb")
    token = person.headers["Authorization"].split()[1]
    service = ("--url", people.live.url, "--token", token)
    run_assay("account", "data", "-o", tmp_path / "mine.json", *service)
    written = json.loads((tmp_path / "mine.json").read_text())
    printed = json.loads(run_assay("account", "data", *service).out)
    assert (
        written["account"] == printed["account"] == run_assay("account", "data", "--json", *service).value()["account"]
    )
    assert written["account"]["name"] == "Zo\u00eb"


def test_the_command_line_names_tokens_and_says_when_they_expire(people: People) -> None:
    person = people.live.person("Namer")
    given = ("--email", person.email, "--data-dir", str(people.live.data_dir), "--token-name", "cron", "--days", "3")
    run_assay("token", "create", *given)
    row = next(row for row in person.get("/tokens").json()["items"] if row["name"] == "cron")
    lifetime = datetime.fromisoformat(row["expires_at"]) - datetime.fromisoformat(row["created_at"])
    assert lifetime == timedelta(days=3)


def test_the_only_owner_of_a_challenge_stays(people: People) -> None:
    owner = people.live.person("OnlyOwner")
    slug = create_without_gold(people.admin, "only-owner")
    body = {"email": owner.email, "role": "owner"}
    assert people.admin.post(f"/challenges/{slug}/organizers", json=body).status_code == 201
    removed = people.admin.delete(f"/challenges/{slug}/organizers", params={"email": "administrator@localhost"})
    assert removed.status_code == 204
    refused = require_refused(owner.request("DELETE", "/me", json={"password": PASSWORD}), 409, "last_owner")
    assert slug in refused["detail"]


@pytest.fixture(scope="module")
def invited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service that admits people by invitation, and knows its address."""
    folder = tmp_path_factory.mktemp("invited") / "data"
    live = Live(folder, signup="invitation", public_url="https://assay.example.org/").start()
    yield live
    live.stop()


def sign_up(live: Live, email: str, code: str | None) -> Any:
    body = {"email": email, "name": "Someone", "password": PASSWORD}
    return live.caller().post("/users", json=body if code is None else body | {"invitation": code})


def test_a_code_admits_as_many_people_as_it_says(invited: Live) -> None:
    admin = invited.admin()
    require_refused(sign_up(invited, "none@example.org", None), 403, "invitation_needed")
    require_refused(sign_up(invited, "none@example.org", "wrong"), 422, "invalid_invitation")
    made = admin.post("/invitations", json={"max_uses": 1, "note": "class"}).json()
    assert sign_up(invited, "first@example.org", f" {made['code']}\n").status_code == 201  # as it is pasted
    require_refused(sign_up(invited, "second@example.org", made["code"]), 422, "invalid_invitation")
    require_refused(sign_up(invited, "first@example.org", "wrong"), 422, "invalid_invitation")  # not: it has an account
    assert [(row["note"], row["uses"]) for row in admin.get("/invitations").json()["items"]] == [("class", 1)]
    other = admin.post("/invitations", json={"max_uses": None}).json()
    assert admin.delete(f"/invitations/{other['id']}").status_code == 204
    require_refused(sign_up(invited, "second@example.org", other["code"]), 422, "invalid_invitation")


def test_a_reset_link_sets_a_password_once(invited: Live) -> None:
    admin = invited.admin()
    person = invited.person("Forgetful", approved=True)
    answer = admin.post(f"/users/{id_of(person)}/reset", headers={"Host": "evil.example.org"})
    link = answer.json()["link"]
    assert link.startswith("https://assay.example.org/password-reset#")
    secret = link.partition("#")[2]
    body = {"secret": secret, "password": NEW_PASSWORD}
    visitor = invited.caller()
    require_refused(visitor.post("/password-resets", json=body | {"password": "Forgetful1"}), 422, "invalid_request")
    assert visitor.post("/password-resets", json=body).status_code == 204
    require_refused(person.get("/me"), 401, "unauthorized")
    require_refused(visitor.post("/password-resets", json=body), 409, "reset_not_usable")
    require_refused(visitor.post("/password-resets", json=body | {"secret": "x.y"}), 409, "reset_not_usable")
    login = visitor.post("/tokens", json={"email": person.email, "password": NEW_PASSWORD})
    assert login.status_code == 201
    two = [admin.post(f"/users/{id_of(invited.caller(login.json()['token']))}/reset").json()["link"] for _ in range(2)]
    first, second = ({"secret": each.partition("#")[2], "password": NEW_PASSWORD} for each in two)
    assert visitor.post("/password-resets", json=first).status_code == 204
    require_refused(visitor.post("/password-resets", json=second), 409, "reset_not_usable")  # the first ended it
    login = visitor.post("/tokens", json={"email": person.email, "password": NEW_PASSWORD})
    late = admin.post(f"/users/{id_of(invited.caller(login.json()['token']))}/reset").json()
    with write_session_of(invited) as session:
        row = session.get_one(PasswordReset, late["link"].partition("#")[2].partition(".")[0])
        row.expires_at = row.created_at
    expired = {"secret": late["link"].partition("#")[2], "password": PASSWORD}
    require_refused(visitor.post("/password-resets", json=expired), 409, "reset_not_usable")


def test_without_a_public_address_there_is_no_link(people: People) -> None:
    person = people.live.person("NoLink")
    require_refused(people.admin.post(f"/users/{id_of(person)}/reset"), 409, "no_public_url")


def test_the_command_line_resets_an_administrator(invited: Live) -> None:
    boss = invited.person("Boss", admin=True)
    folder = ("--local", "--data-dir", str(invited.data_dir))
    built_in = run_assay("user", "reset", "administrator@localhost", *folder)
    assert (built_in.status, "assay login --token -" in built_in.err) == (1, True)
    assert "There is no account nobody@example.org." in run_assay("user", "reset", "nobody@example.org", *folder).err
    made = run_assay("user", "reset", boss.email, *folder)
    link = made.out.strip()
    assert re.fullmatch(r"[0-9a-f]{32}\.\S+", link)  # this command does not know the public address
    spent = subprocess.run(
        [sys.executable, "-m", "app.cli", "password", "--link", link, "--password", "-", "--url", invited.url],
        input=f"{NEW_PASSWORD}\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=MAX_WAIT_SECONDS,
    )
    assert spent.returncode == 0, spent.stderr
    assert "assay login" in spent.stdout
    login = invited.caller().post("/tokens", json={"email": boss.email, "password": NEW_PASSWORD})
    assert login.status_code == 201


def test_a_link_says_where_it_is_spent(invited: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    person = invited.person("Linked", approved=True)
    secret = run_assay("user", "reset", person.email, "--local", "--data-dir", str(invited.data_dir)).out.strip()
    monkeypatch.delenv("ASSAY_URL", raising=False)
    given = ("--link", f"{invited.url}/password-reset#{secret}", "--password", "-")
    assert "is set" in run_assay("password", *given, stdin=f"{NEW_PASSWORD}\n").out
    login = invited.caller().post("/tokens", json={"email": person.email, "password": NEW_PASSWORD})
    assert login.status_code == 201


def test_the_command_line_manages_accounts(people: People) -> None:
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    person = people.live.person("Managed")
    assert person.email.lower() in run_assay("user", "list", "--search", "managed", *service).out
    assert "is approved" in run_assay("user", "approve", person.email, *service).out
    assert "is disabled" in run_assay("user", "disable", person.email, "--reason", "A test", *service).out
    assert "is enabled" in run_assay("user", "enable", person.email, *service).out
    code = run_assay("invitation", "create", "--note", "friends", *service).out.strip()
    assert len(code) > 20
    assert "friends" in run_assay("invitation", "list", *service).out
    refused = run_assay("user", "delete", person.email, *service)
    assert (refused.status, "--yes" in refused.err) == (2, True)  # there is no terminal
    user = people.admin.get(f"/users?q={person.email}").json()["items"][0]["id"]
    deleted = run_assay("user", "delete", person.email, "--yes", "--json", *service)
    assert deleted.value() == {"id": user, "deleted": True}
    assert run_assay("user", "list", "--search", "managed@", *service).out.count("@") == 0


def test_the_last_use_of_a_token_is_stored(people: People) -> None:
    person = people.live.person("TokenUser")
    token = person.get("/tokens").json()["items"][0]
    assert token["last_used_at"] is None
    database = Database(Settings(data_dir=people.live.data_dir))
    uses = TokenUses(database)
    uses.note(token["id"])
    uses.note(None)
    uses.store_token_uses()
    database.close()
    assert person.get("/tokens").json()["items"][0]["last_used_at"]
