"""Terms, fields, codes of a challenge, and who may not register."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from app.store.tables import AuditEntry, Challenge
from app.store.types import new_id
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


def test_terms_and_fields_are_required_and_stored(people: People) -> None:
    fields = [{"name": "affiliation", "label": "University", "required": True}]
    slug = create_without_gold(people.admin, "terms", terms="Be fair.", registration_fields=fields)
    shown = people.visitor.get(f"/challenges/{slug}").json()
    assert (shown["terms"], shown["terms_version"]) == ("Be fair.", 1)
    path = f"/challenges/{slug}/registrations"
    blue = people["Blue"]
    faults = require_refused(blue.post(path, json={"team": "Blue"}), 422, "invalid_request")["errors"]
    assert [fault["pointer"] for fault in faults] == ["/terms", "/fields/affiliation"]
    mine = blue.post(path, json={"team": "Blue", "terms": 1, "fields": {"affiliation": "Kiel"}}).json()
    assert (mine["terms_version"], mine["fields"]) == (1, {"affiliation": "Kiel"})
    people.admin.patch(f"/challenges/{slug}", json={"terms": "Be very fair."})
    require_refused(blue.patch(f"{path}/{mine['id']}", json={"terms": 1}), 422, "invalid_request")
    assert blue.patch(f"{path}/{mine['id']}", json={"terms": 2}).json()["terms_version"] == 2


def test_other_fields_do_not_keep_anybody_from_accepting_terms(people: People) -> None:
    asked = [{"name": "affiliation", "label": "University", "required": True}]
    slug = create_without_gold(people.admin, "new-fields", terms="Be fair.", registration_fields=asked)
    path, blue = f"/challenges/{slug}/registrations", people["Blue"]
    mine = blue.post(path, json={"team": "Blue", "terms": 1, "fields": {"affiliation": "Kiel"}}).json()
    own = f"{path}/{mine['id']}"
    other = [{"name": "country", "label": "Country", "required": True}]
    people.admin.patch(f"/challenges/{slug}", json={"terms": "Be fair, please.", "registration_fields": other})
    assert blue.patch(own, json={"terms": 2}).json()["terms_version"] == 2
    require_refused(blue.patch(own, json={"fields": {"affiliation": "Bonn"}}), 422, "invalid_request")
    require_refused(blue.patch(own, json={"fields": {"country": " "}}), 422, "invalid_request")
    require_refused(people.admin.patch(own, json={"fields": {"country": "FR"}}), 404, "not_found")
    changed = blue.patch(own, json={"fields": {"country": "DE"}}).json()
    assert changed["fields"] == {"affiliation": "Kiel", "country": "DE"}
    assert blue.patch(own, json={"terms": 2, "fields": {"country": "DE"}}).status_code == 200  # changes nothing
    assert (changed["terms_version"], changed["terms_accepted_at"] is not None) == (2, True)
    team = f"/challenges/{slug}/teams/{mine['team']['id']}"
    assert blue.delete(f"{team}/members/{blue.get('/me').json()['id']}").status_code == 204
    assert blue.post(path, json={"team": "Blue Two"}).status_code == 201  # nothing is asked for twice
    acts = [entry["action"] for entry in blue.get(own).json()["history"]]
    assert acts == ["registration.create", "registration.accept_terms", "registration.answer"]


def test_a_user_who_changes_answers_without_end_does_not_make_the_history_endless(people: People) -> None:
    slug = create_without_gold(people.admin, "long-history")
    path = f"/challenges/{slug}/registrations"
    mine = people["Blue"].post(path, json={"team": "Blue"}).json()
    fields = {"at": datetime.now(UTC), "role": "member", "action": "registration.answer", "object_id": mine["id"]}
    with write_session_of(people.live) as session:
        session.add_all(AuditEntry(id=new_id(), changes={}, **fields) for _ in range(200))
    history = people["Blue"].get(f"{path}/{mine['id']}").json()["history"]
    assert [each["action"] for each in history] == ["registration.answer"] * 200


def test_new_terms_are_due_when_the_user_registers_again(people: People) -> None:
    slug = create_challenge(people.admin, "new-terms", terms="Be fair.")
    path, blue = f"/challenges/{slug}/registrations", people["Blue"]
    mine = blue.post(path, json={"team": "Blue", "terms": 1}).json()
    people.admin.patch(f"/challenges/{slug}", json={"terms": "Be fair, please."})
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))  # new terms stop nobody at a deadline
    assert people.admin.get(path).json()["items"][0]["terms_version"] == 1  # organizers see who accepted which
    assert blue.delete(f"{path}/{mine['id']}").status_code == 204
    require_refused(blue.patch(f"{path}/{mine['id']}", json={"terms": 2}), 409, "registration_ended")
    require_refused(blue.post(path, json={"team": "Blue Two"}), 422, "invalid_request")


def test_an_invited_user_reads_what_a_private_challenge_asks_for(people: People) -> None:
    asked = [{"name": "affiliation", "label": "University", "required": True}]
    fields = {"visibility": "private", "registration": "invitation", "terms": "Be fair.", "registration_fields": asked}
    slug = create_without_gold(people.admin, "asks", **fields)
    made = people.admin.post(f"/challenges/{slug}/invitations", json={"max_uses": 1}).json()
    blue, code = people["Blue"], {"Assay-Invitation": made["code"]}
    seen = blue.get(f"/challenges/{slug}", headers=code).json()
    assert (seen["terms"], seen["registration_fields"][0]["label"]) == ("Be fair.", "University")
    absent = people["Red"].get("/challenges/no-such-challenge", headers=code)
    for wrong in ({}, {"Assay-Invitation": "wrong"}):
        assert blue.get(f"/challenges/{slug}", headers=wrong).content == absent.content
    require_refused(people.visitor.get(f"/challenges/{slug}", headers=code), 404, "not_found")
    require_refused(blue.get(f"/challenges/{slug}/phases/main", headers=code), 404, "not_found")
    narrow, path = people.with_scopes(blue, "read"), f"/challenges/{slug}/registrations"
    assert (
        narrow.post(path, json={"invitation": "wrong", "team": "Blue"}).json()["code"] == "not_found"
    )  # as for a challenge that does not exist
    body = {"invitation": made["code"], "team": "Blue", "terms": 1, "fields": {"affiliation": "Kiel"}}
    assert blue.post(path, json=body).status_code == 201
    require_refused(people["Red"].get(f"/challenges/{slug}", headers=code), 404, "not_found")  # the code is used up


def test_a_captain_admits_to_the_team_and_not_to_a_private_challenge(people: People) -> None:
    slug = create_without_gold(people.admin, "captains-code", visibility="private")
    made = people.admin.post(f"/challenges/{slug}/invitations", json={"max_uses": 2}).json()
    path, blue, red = f"/challenges/{slug}/registrations", people["Blue"], people["Red"]
    team = blue.post(path, json={"invitation": made["code"], "team": "Blue"}).json()["team"]["id"]
    code = blue.post(f"/challenges/{slug}/teams/{team}/invitations", json={}).json()["code"]
    require_refused(red.post(path, json={"invitation": code}), 403, "registration_needs_code")
    require_refused(red.post(path, json={"invitation": code[:-1]}), 404, "not_found")
    require_refused(red.post("/challenges/absent/registrations", json={"invitation": code}), 404, "not_found")
    assert red.post(path, json={"invitation": f" {made['code']}\n"}).json()["team"] is None  # as it is pasted
    in_no_team = require_refused(red.get(f"/challenges/{slug}/phases/main/submissions"), 403, "no_team")
    assert "in no team" in in_no_team["detail"]
    assert red.post(path, json={"invitation": code}).json()["team"]["id"] == team


def test_own_data_say_why_a_private_challenge_is_hidden_now(people: People) -> None:
    slug = create_challenge(people.admin, "barred-from-private", visibility="private")
    made = people.admin.post(f"/challenges/{slug}/invitations", json={}).json()
    path, blue = f"/challenges/{slug}/registrations", people["Blue"]
    mine = blue.post(path, json={"invitation": made["code"], "team": "Blue"}).json()
    people.admin.patch(f"{path}/{mine['id']}", json={"status": "barred", "reason": "Two accounts."})
    require_refused(blue.get(f"/challenges/{slug}"), 404, "not_found")
    require_refused(blue.get(path), 404, "not_found")
    (own,) = [row for row in blue.get("/me/data").json()["registrations"] if row["challenge"] == slug]
    assert (own["status"], own["reason"], own["history"][-1]["reason"]) == ("barred", *["Two accounts."] * 2)


def test_an_empty_reason_bars_nobody(people: People) -> None:
    slug = create_without_gold(people.admin, "no-reason")
    people["Blue"].join(slug, "Blue")
    path = f"/challenges/{slug}/registrations"
    own = f"{path}/{people.admin.get(path).json()['items'][0]['id']}"
    for reason in ("", " \n ", "\u2060"):
        require_refused(people.admin.patch(own, json={"status": "barred", "reason": reason}), 422, "invalid_request")


def test_the_command_line_shows_and_decides_registrations(people: People) -> None:
    asked = [{"name": "affiliation", "label": "University", "required": True}]
    fields = {"visibility": "private", "registration": "approval", "terms": "Be fair.", "registration_fields": asked}
    slug = create_challenge(people.admin, "cli-registrations", **fields)
    url, blue = ("--url", people.live.url), people.live.person("Cli")
    admin, mine = (
        (*url, "--token", people.live.admin_token),
        (*url, "--token", blue.headers["Authorization"].split()[1]),
    )
    code = run_assay("registration", "invite", slug, "--unlimited", "--note", "class", *admin).out.strip()
    shown = run_assay("challenge", "show", slug, "--invitation", code, *mine).out
    assert "terms, version 1:\n  Be fair." in shown
    assert "field affiliation (required): University" in shown
    refused = run_assay("register", slug, "--invitation", code, *mine)
    lines = refused.err.splitlines()
    assert [line.partition(": ")[0] for line in lines[1:3]] == ["  /terms", "  /fields/affiliation"]
    assert "/api/v1" not in refused.err
    assert (refused.status, f"assay challenge show {slug} --invitation" in " ".join(refused.err.split())) == (1, True)
    complete = ("--accept-terms", "1", "--field", "affiliation=Kiel")
    assert "no team yet" in run_assay("register", slug, "--invitation", code, *complete, *mine).out
    assert "Team Blue" in run_assay("register", slug, "--team", "Blue", *mine).out
    people.admin.patch(f"/challenges/{slug}", json={"terms": "Be fair, please."})
    again = run_assay("register", slug, "--accept-terms", "2", "--field", "affiliation=Bonn", *mine)
    assert ("Team Blue" in again.out, "accepted version 2" in again.err) == (True, True)
    listed = run_assay("registration", "list", slug, "--status", "approved", *admin).out
    assert (blue.email.lower() in listed, "affiliation: Bonn" in listed) == (True, True)
    assert run_assay("registration", "list", slug, "--status", "barred", "--json", *admin).value() == []
    own = run_assay("registration", "show", slug, *mine).out
    assert ("affiliation: Bonn" in own, "terms: version 2" in own) == (True, True)
    run_assay("registration", "bar", slug, blue.email, "--reason", "Two accounts", *admin)
    assert "Two accounts" in run_assay("registration", "show", slug, blue.email, *admin).out
    assert "is approved" in run_assay("registration", "approve", slug, blue.email, "--reason", "One person", *admin).out
    assert "Approved 0 registrations" in run_assay("registration", "approve", slug, "--all", *admin).out
    assert "pending again" in run_assay("registration", "approve", slug, blue.email, "--withdraw", *admin).out
    shown = run_assay("registration", "show", slug, blue.email, *admin).out
    assert ("One person" in shown, "status: pending" in shown) == (True, True)
    (invitation,) = run_assay("registration", "invitations", slug, "--json", *admin).value()
    assert (invitation["note"], invitation["uses"], invitation["max_uses"]) == ("class", 1, None)
    assert "is revoked" in run_assay("registration", "revoke", slug, invitation["id"], *admin).out
    assert run_assay("registration", "invitations", slug, "--json", *admin).value() == []


def test_a_code_admits_to_a_private_challenge_and_can_be_revoked(people: People) -> None:
    slug = create_without_gold(people.admin, "hidden", visibility="private", registration="invitation")
    made = people.admin.post(f"/challenges/{slug}/invitations", json={"max_uses": 2, "days": 3}).json()
    path, body = f"/challenges/{slug}/registrations", {"invitation": made["code"], "team": "Blue"}
    blue, red = people["Blue"], people["Red"]
    require_refused(blue.get(f"/challenges/{slug}"), 404, "not_found")
    require_refused(blue.post(path, json=body | {"invitation": "wrong"}), 404, "not_found")
    assert blue.post(path, json=body).json()["status"] == "approved"
    assert blue.get(f"/challenges/{slug}").status_code == 200
    assert people.admin.delete(f"/challenges/{slug}/invitations/{made['id']}").status_code == 204
    require_refused(red.post(path, json=body | {"team": "Red"}), 404, "not_found")


def test_decisions_need_reasons_and_leave_a_history(people: People) -> None:
    slug = create_challenge(people.admin, "bars", registration="approval")
    blue = people["Blue"]
    blue.join(slug, "Blue")
    path = f"/challenges/{slug}/registrations"
    own = f"{path}/{blue.get(path).json()['items'][0]['id']}"
    require_refused(people.admin.patch(own, json={"status": "barred"}), 422, "invalid_request")
    people.admin.patch(own, json={"status": "approved"})
    people.admin.patch(own, json={"status": "barred", "reason": "two accounts"})
    acts = [entry["action"] for entry in people.admin.get(own).json()["history"]]
    assert acts == ["registration.create", "registration.approve", "registration.bar"]
    own_view = blue.get(own).json()["history"]
    assert [(act["action"], act["actor_id"]) for act in own_view] == [(act, None) for act in acts]
    require_refused(people["Red"].get(own), 404, "not_found")


def test_who_could_read_the_gold_cannot_register(people: People) -> None:
    slug = create_challenge(people.admin, "gold-readers")
    path, blue = f"/challenges/{slug}/organizers", people["Blue"]
    require_refused(
        people.admin.post(f"/challenges/{slug}/registrations", json={"team": "A"}), 403, "may_have_read_gold"
    )
    people.admin.post(path, json={"email": blue.email, "role": "viewer"})
    people.admin.delete(path, params={"email": blue.email})
    require_refused(blue.post(f"/challenges/{slug}/registrations", json={"team": "B"}), 403, "may_have_read_gold")
    people["Red"].join(slug, "Red")
    require_refused(people.admin.post(path, json={"email": people["Red"].email}), 409, "still_registered")


@pytest.mark.parametrize("gold_of", ["the source", "the copy"])
def test_nobody_takes_part_where_a_challenge_they_organize_has_the_same_gold(people: People, gold_of: str) -> None:
    source, copy = create_challenge(people.admin, "line"), create_challenge(people.admin, "line")
    with write_session_of(people.live) as session:
        rows = {slug: session.scalars(select(Challenge).where(Challenge.slug == slug)).one() for slug in (source, copy)}
        rows[copy].lineage_id = rows[source].id
    organized, other = (source, copy) if gold_of == "the source" else (copy, source)
    blue, red = people["Blue"], people["Red"].join(other, "Red")
    path = f"/challenges/{organized}/organizers"
    assert people.admin.post(path, json={"email": blue.email}).status_code == 201
    people.admin.delete(path, params={"email": blue.email}).raise_for_status()
    require_refused(blue.post(f"/challenges/{other}/registrations", json={"team": "B"}), 403, "may_have_read_gold")
    refused = require_refused(people.admin.post(path, json={"email": red.email}), 409, "still_registered")
    assert "the same gold" in refused["detail"]
    own = red.get(f"/challenges/{other}/registrations").json()["items"][0]["id"]
    assert red.delete(f"/challenges/{other}/registrations/{own}").status_code == 204
    assert people.admin.post(path, json={"email": red.email}).status_code == 201
    require_refused(red.post(f"/challenges/{other}/registrations", json={"team": "R"}), 403, "may_have_read_gold")


def test_an_administrator_is_told_to_take_part_with_another_account(people: People) -> None:
    slug = create_challenge(people.admin, "administrators")
    refused = people.admin.post(f"/challenges/{slug}/registrations", json={"team": "A"})
    assert "another account" in require_refused(refused, 403, "may_have_read_gold")["remedy"]
    people.admin.post(f"/challenges/{slug}/organizers", json={"email": people["Olga"].email, "role": "editor"})
    refused = people["Olga"].post(f"/challenges/{slug}/registrations", json={"team": "O"})
    assert "another account" not in require_refused(refused, 403, "may_have_read_gold")["remedy"]


def test_a_viewer_is_told_why_they_cannot_submit(people: People) -> None:
    slug = create_challenge(people.admin, "viewers")
    viewer = people["Eve"]
    people.admin.post(f"/challenges/{slug}/organizers", json={"email": viewer.email, "role": "viewer"})
    queries: tuple[dict[str, Any], ...] = ({}, {"test": "true"}, {"team": "Eve"})
    for query in queries:
        refused = require_refused(viewer.submit(slug, {"t1": "a"}, **query), 403, "forbidden")
        assert "may only read" in refused["detail"]


def test_every_organizer_can_leave_but_the_last_owner_who_can_act(people: People) -> None:
    slug = create_without_gold(people.admin, "leaving")
    path = f"/challenges/{slug}/organizers"
    owner = people.admin.get(path).json()["items"][0]["email"]
    olga, eve, second = people["Olga"], people["Eve"], people.live.person("second")
    for person, role in ((olga, "editor"), (eve, "viewer"), (second, "owner")):
        people.admin.post(path, json={"email": person.email, "role": role}).raise_for_status()
    require_refused(eve.delete(path, params={"email": olga.email}), 403, "forbidden")
    for person in (olga, eve):
        assert person.delete(path, params={"email": person.email}).status_code == 204
        require_refused(person.get(path), 403, "forbidden")
        require_refused(person.delete(path, params={"email": person.email}), 403, "forbidden")
    their_id = people.admin.get("/users", params={"q": second.email}).json()["items"][0]["id"]
    disabled = {"disabled": True, "reason": "A trial."}
    people.admin.patch(f"/users/{their_id}", json=disabled).raise_for_status()
    require_refused(people.admin.delete(path, params={"email": owner}), 409, "last_owner")
    people.admin.patch(f"/users/{their_id}", json={"disabled": False}).raise_for_status()
    assert people.admin.delete(path, params={"email": owner}).status_code == 204
    left = people.admin.get(path).json()["items"]
    assert [(row["email"], row["role"]) for row in left] == [(second.email, "owner")]
