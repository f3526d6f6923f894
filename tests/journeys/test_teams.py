"""Teams of several people: invitations, leaving, captaincy, and who reads what the team sent."""

from typing import Any

import pytest

from tests.cli.run_command import CommandResult, run_assay
from tests.faults.inspection import query_rows
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    People,
    create_challenge,
    create_without_gold,
    require_finished,
    require_refused,
)
from tests.live_service import PASSWORD, Caller


def registrations(slug: str) -> str:
    return f"/challenges/{slug}/registrations"


def team_of(who: Caller, slug: str) -> dict[str, Any]:
    """The team that a participant is in."""
    (row,) = who.get(f"/challenges/{slug}/teams").json()["items"]
    found: dict[str, Any] = row
    return found


def team_path(who: Caller, slug: str) -> str:
    return f"/challenges/{slug}/teams/{team_of(who, slug)['id']}"


def code_from(captain: Caller, slug: str, **body: Any) -> str:
    made = captain.post(f"{team_path(captain, slug)}/invitations", json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["code"])


def join_by_code(who: Caller, slug: str, captain: Caller) -> Caller:
    joined = who.post(registrations(slug), json={"invitation": code_from(captain, slug)})
    assert joined.status_code == 201, joined.text
    return who


def user_id(who: Caller) -> str:
    return str(who.get("/me").json()["id"])


def leave(who: Caller, slug: str) -> None:
    assert who.delete(f"{team_path(who, slug)}/members/{user_id(who)}").status_code == 204


def names(team: dict[str, Any]) -> list[tuple[str, bool]]:
    return [(each["name"], each["captain"]) for each in team["members"]]


def audited(people: People, slug: str) -> list[str]:
    """The acts on record about a challenge, oldest first."""
    query = (
        "SELECT a.action FROM audit_entries a JOIN challenges c ON c.id = a.challenge_id "
        f"WHERE c.slug = '{slug}' ORDER BY a.id"
    )
    return [str(row[0]) for row in query_rows(people.live, query)]


def test_a_code_admits_one_user_once(people: People) -> None:
    slug = create_challenge(people.admin, "code")
    blue, red, green = people["Blue"].join(slug, "Blue"), people["Red"], people["Green"]
    code = code_from(blue, slug, note="for Red")
    assert [each["note"] for each in team_of(blue, slug)["invitations"]] == ["for Red"]
    assert red.post(registrations(slug), json={"invitation": code}).json()["team"]["name"] == "Blue"
    for late in (green.post(registrations(slug), json={"invitation": each}) for each in (code, "no-such-code")):
        require_refused(late, 422, "invalid_invitation")
    assert names(team_of(red, slug)) == [("Blue", True), ("Red", False)]
    seen = {each["name"]: each["email"] for each in team_of(red, slug)["members"]}
    assert (seen["Blue"], seen["Red"]) == (None, red.email.lower())
    assert team_of(blue, slug)["invitations"] == []
    require_refused(red.post(f"{team_path(red, slug)}/invitations", json={}), 403, "not_captain")
    require_refused(red.post(registrations(slug), json={"team": "Red"}), 409, "already_registered")
    require_finished(red.submit(slug, CORRECT_PREDICTIONS))
    acts = [act for act in audited(people, slug) if act.startswith("team.")]
    assert acts == ["team.found", "team.invite", "team.join"]


def test_a_team_has_at_most_100_open_codes_because_every_list_of_teams_shows_them(people: People) -> None:
    slug = create_without_gold(people.admin, "codes")
    blue = people["Blue"].join(slug, "Blue")
    path = f"{team_path(blue, slug)}/invitations"
    assert {blue.post(path, json={}).status_code for _ in range(100)} == {201}
    require_refused(blue.post(path, json={}), 409, "too_many_invitations")
    first = team_of(blue, slug)["invitations"][0]
    assert blue.delete(f"{path}/{first['id']}").status_code == 204
    assert blue.post(path, json={}).status_code == 201


def test_a_code_is_good_for_its_own_challenge_until_it_is_revoked(people: People) -> None:
    first, second = create_without_gold(people.admin, "code-a"), create_without_gold(people.admin, "code-b")
    blue = people["Blue"].join(first, "Blue")
    code = code_from(blue, first)
    require_refused(people["Red"].post(registrations(second), json={"invitation": code}), 422, "invalid_invitation")
    (shown,) = team_of(blue, first)["invitations"]
    assert blue.delete(f"{team_path(blue, first)}/invitations/{shown['id']}").status_code == 204
    require_refused(people["Red"].post(registrations(first), json={"invitation": code}), 422, "invalid_invitation")
    require_refused(blue.delete(f"{team_path(blue, first)}/invitations/{shown['id']}"), 404, "not_found")


def test_a_team_has_at_most_as_many_members_as_the_challenge_allows(people: People) -> None:
    slug = create_without_gold(people.admin, "size", team_size_limit=2)
    blue = people["Blue"].join(slug, "Blue")
    codes = [code_from(blue, slug), code_from(blue, slug)]
    assert people["Red"].post(registrations(slug), json={"invitation": codes[0]}).status_code == 201
    refused = people["Green"].post(registrations(slug), json={"invitation": codes[1]})
    assert require_refused(refused, 409, "team_full")["limit"] == 2
    assert people.admin.patch(f"/challenges/{slug}", json={"team_size_limit": 3}).json()["team_size_limit"] == 3
    assert people["Green"].post(registrations(slug), json={"invitation": codes[1]}).status_code == 201


def test_the_captaincy_is_handed_over_and_passes_on(people: People) -> None:
    slug = create_challenge(people.admin, "captain")
    blue = people["Blue"].join(slug, "Blue")
    red, green = (join_by_code(people[name], slug, blue) for name in ("Red", "Green"))
    path = team_path(blue, slug)
    require_refused(red.patch(path, json={"captain": user_id(red)}), 403, "not_captain")
    require_refused(blue.patch(path, json={"captain": people.visitor.email or "nobody"}), 422, "invalid_request")
    assert blue.patch(path, json={"captain": user_id(green)}).json()["captain"] == user_id(green)
    leave(green, slug)  # Blue is longest in the team
    assert names(team_of(blue, slug)) == [("Blue", True), ("Red", False)]
    mine = blue.get(registrations(slug)).json()["items"][0]["id"]
    people.admin.patch(f"{registrations(slug)}/{mine}", json={"status": "barred", "reason": "r"}).raise_for_status()
    assert names(team_of(red, slug)) == [("Blue", False), ("Red", True)]
    require_refused(blue.delete(f"{path}/members/{user_id(blue)}"), 403, "registration_barred")
    require_refused(blue.delete(f"{registrations(slug)}/{mine}"), 403, "registration_barred")
    require_refused(people.admin.delete(f"{path}/members/{user_id(red)}"), 400, "bad_request")
    removed = people.admin.delete(f"{path}/members/{user_id(red)}", params={"reason": "two accounts"})
    assert removed.status_code == 204
    assert people.admin.get(f"/challenges/{slug}/teams").json()["items"][0]["captain"] == user_id(blue)


def test_what_was_sent_in_a_former_team_is_read_but_not_changed(people: People) -> None:
    slug = create_challenge(people.admin, "former")
    blue = people["Blue"].join(slug, "Blue")
    red = join_by_code(people["Red"], slug, blue)
    sent = f"/submissions/{require_finished(blue.submit(slug, CORRECT_PREDICTIONS))['id']}"
    leave(red, slug)
    mine = red.get(registrations(slug)).json()["items"][0]["id"]
    people.admin.patch(f"{registrations(slug)}/{mine}", json={"may_join": True}).raise_for_status()
    red.join(slug, "Red")
    assert red.get(sent).status_code == 200
    for act in ("select", "unselect", "withdraw", "cancel"):
        require_refused(red.post(f"{sent}/{act}"), 403, "submission_of_former_team")


def test_a_deleted_account_takes_no_place_and_leads_nobody(people: People) -> None:
    slug = create_without_gold(people.admin, "deleted-member", team_size_limit=2)
    gone = people.live.person("Gone").join(slug, "Blue")
    red = join_by_code(people["Red"], slug, gone)
    assert gone.request("DELETE", "/me", json={"password": PASSWORD}).status_code == 204
    (first, _), last = names(team_of(red, slug))
    assert (first.startswith("Deleted user"), last) == (True, ("Red", True))
    join_by_code(people["Green"], slug, red)  # the place is free
    leave(people["Green"], slug)
    leave(red, slug)
    (team,) = people.admin.get(f"/challenges/{slug}/teams").json()["items"]
    assert (team["captain"], len(team["members"])) == (None, 1)
    assert audited(people, slug)[-1] == "team.captain"


def test_the_codes_of_a_team_end_with_its_last_account(people: People) -> None:
    slug = create_without_gold(people.admin, "deleted-captain")
    gone = people.live.person("Gone").join(slug, "Blue")
    code = code_from(gone, slug)
    assert gone.request("DELETE", "/me", json={"password": PASSWORD}).status_code == 204
    require_refused(people["Red"].post(registrations(slug), json={"invitation": code}), 422, "invalid_invitation")


def test_a_name_does_not_cover_the_lines_around_it(people: People) -> None:
    slug = create_without_gold(people.admin, "marks")
    blue = people["Blue"].join(slug, "Blue")
    require_refused(blue.patch(team_path(blue, slug), json={"name": "Z" + "\u0301\u0302" * 3}), 422, "invalid_request")
    assert blue.patch(team_path(blue, slug), json={"name": "Vi\u1ec7t Nam"}).status_code == 200


def test_a_rename_keeps_to_the_rules_for_names(people: People) -> None:
    slug = create_challenge(people.admin, "rename")
    blue = people["Blue"].join(slug, "Blue")
    people["Green"].join(slug, "Green")
    path = team_path(blue, slug)
    require_refused(blue.patch(path, json={"name": "GREEN"}), 409, "team_name_taken")
    require_refused(blue.patch(path, json={"name": "Organizers"}), 422, "invalid_request")
    require_refused(blue.patch(path, json={}), 422, "invalid_request")
    assert blue.patch(path, json={"name": "BLUE"}).json()["name"] == "BLUE"
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    assert people.visitor.board(slug).json()["rows"][0]["team"]["name"] == "BLUE"
    assert blue.patch(path, json={"name": "Azure"}).status_code == 200
    assert people.visitor.board(slug).json()["rows"][0]["team"]["name"] == "Azure"
    require_refused(people["Green"].patch(path, json={"name": "Mine"}), 404, "not_found")


def test_usage_follows_people(people: People) -> None:
    slug = create_challenge(people.admin, "usage")
    blue = people["Blue"].join(slug, "Blue")
    red = join_by_code(people["Red"], slug, blue)
    leave(red, slug)  # before the team sent anything
    require_refused(red.submit(slug, CORRECT_PREDICTIONS), 403, "no_team")
    assert red.post(registrations(slug), json={"team": "Red"}).status_code == 201
    leave(red, slug)
    join_by_code(red, slug, blue)
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    leave(red, slug)
    green = people["Green"].join(slug, "Green")
    for body in ({"team": "Red Two"}, {"invitation": code_from(green, slug)}):
        require_refused(red.post(registrations(slug), json=body), 409, "bound_to_team")
    mine = red.get(registrations(slug)).json()["items"][0]
    assert mine["team"] is None
    assert mine["bound_team_id"] == team_of(blue, slug)["id"]
    assert red.delete(f"{registrations(slug)}/{mine['id']}").status_code == 204  # an end does not loose the tie
    require_refused(red.post(registrations(slug), json={"team": "Red Two"}), 409, "bound_to_team")
    join_by_code(red, slug, blue)  # back to the same team
    leave(red, slug)
    require_refused(red.patch(f"{registrations(slug)}/{mine['id']}", json={"may_join": True}), 403, "forbidden")
    allowed = people.admin.patch(f"{registrations(slug)}/{mine['id']}", json={"may_join": True})
    assert allowed.json()["bound_team_id"] is None
    assert red.post(registrations(slug), json={"team": "Red Two"}).status_code == 201
    assert "registration.may_join" in audited(people, slug)


def test_who_ends_the_registration_may_register_again(people: People) -> None:
    slug = create_challenge(people.admin, "ended", registration="approval")
    blue = people["Blue"].join(slug, "Blue")
    mine = blue.get(registrations(slug)).json()["items"][0]["id"]
    require_refused(people["Green"].delete(f"{registrations(slug)}/{mine}"), 404, "not_found")
    require_refused(people.admin.delete(f"{registrations(slug)}/{mine}"), 403, "forbidden")
    assert blue.delete(f"{registrations(slug)}/{mine}").status_code == 204
    assert blue.get(registrations(slug)).json()["items"][0]["status"] == "ended"
    require_refused(blue.submit(slug, CORRECT_PREDICTIONS), 403, "not_registered")
    assert blue.post(registrations(slug), json={"team": "Blue Two"}).json()["status"] == "pending"


def test_who_rejoins_learns_that_the_registration_waits_for_approval(people: People) -> None:
    slug = create_challenge(people.admin, "rejoining")
    blue = people["Blue"].join(slug, "Blue")
    red = join_by_code(people["Red"], slug, blue)
    sent = require_finished(red.submit(slug, CORRECT_PREDICTIONS))["id"]
    by_organizer = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Blue"))["id"]
    mine = red.get(registrations(slug)).json()["items"][0]["id"]
    assert red.delete(f"{registrations(slug)}/{mine}").status_code == 204
    people.admin.patch(f"/challenges/{slug}", json={"registration": "approval"}).raise_for_status()
    green = join_by_code(people["Green"], slug, blue)
    assert red.get(f"/submissions/{sent}").status_code == 200
    join_by_code(red, slug, blue)
    for path in ("", "/report", "/predictions"):
        require_refused(red.get(f"/submissions/{sent}{path}"), 403, "registration_pending")
        for who, hidden in ((red, by_organizer), (green, sent)):  # as before: they never saw it
            require_refused(who.get(f"/submissions/{hidden}{path}"), 404, "not_found")
    for verb in ("select", "withdraw", "cancel"):
        require_refused(red.post(f"/submissions/{sent}/{verb}", json={}), 403, "registration_pending")
    require_refused(red.get(f"/challenges/{slug}/phases/main/submissions"), 403, "registration_pending")
    token = red.headers["authorization"].removeprefix("Bearer ")
    for command in ("submission", "select"):
        assert "approv" in run_assay(command, sent, "--url", people.live.url, "--token", token).err
    own = {row["id"]: row["scores"] for row in red.get("/me/data").json()["submissions"]}
    assert own[sent] == {}


def test_a_file_stays_with_those_who_were_in_the_team(people: People) -> None:
    slug = create_challenge(people.admin, "files")
    blue = people["Blue"].join(slug, "Blue")
    red = join_by_code(people["Red"], slug, blue)
    old = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))["id"]
    leave(red, slug)
    new = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))["id"]
    green = join_by_code(people["Green"], slug, blue)
    listing = f"/challenges/{slug}/phases/main/submissions"
    for who, seen, files in ((blue, [new, old], [new, old]), (red, [old], [old]), (green, [new, old], [])):
        assert [each["id"] for each in who.get(listing).json()["items"]] == seen
        for submission in (old, new):
            assert who.get(f"/submissions/{submission}").status_code == (200 if submission in seen else 404)
            expected = 200 if submission in files else 403 if submission in seen else 404
            assert who.get(f"/submissions/{submission}/predictions").status_code == expected
    require_refused(red.post(f"/submissions/{old}/select"), 403, "no_team")
    mine = red.get(registrations(slug)).json()["items"][0]["id"]
    assert people.admin.patch(f"{registrations(slug)}/{mine}", json={"may_join": True}).status_code == 200
    assert red.post(registrations(slug), json={"team": "Red"}).status_code == 201
    for verb in ("select", "withdraw", "cancel"):
        require_refused(red.post(f"/submissions/{old}/{verb}", json={}), 403, "submission_of_former_team")
    people["Grey"].join(slug, "Grey")
    require_refused(people["Grey"].get(f"/submissions/{old}"), 404, "not_found")


@pytest.fixture
def commands(people: People) -> Any:
    def run(who: Caller, *words: object) -> CommandResult:
        token = who.headers["authorization"].removeprefix("Bearer ")
        result = run_assay(*words, "--url", people.live.url, "--token", token)
        assert result.status == 0, result.err
        return result

    return run


def test_the_command_line_leads_a_team(people: People, commands: Any, tmp_path: Any) -> None:
    slug = create_challenge(people.admin, "commands", team_size_limit=3)
    blue, red, green = people["Blue"], people["Red"], people["Green"]
    commands(blue, "register", slug, "--team", "Blue")
    code = commands(blue, "team", "invite", slug, "--note", "for Red").out.strip()
    assert "for Red" in commands(blue, "team", "show", slug).out
    commands(red, "register", slug, "--invitation", code)
    assert "Blue (captain), Red" in commands(people.admin, "team", "list", slug).out
    assert "Red is the captain" in commands(blue, "team", "captain", slug, "Red").out
    assert "Azure" in commands(red, "team", "rename", slug, "Azure").out
    sent = require_finished(red.submit(slug, CORRECT_PREDICTIONS))
    commands(blue, "submission", sent["id"], "--download", tmp_path / "mine.json")
    assert (tmp_path / "mine.json").read_bytes() == blue.get(f"/submissions/{sent['id']}/predictions").content
    commands(blue, "team", "leave", slug)
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    nobody = run_assay("team", "allow", slug, "nobody@example.org", *service)
    assert (nobody.status, f"assay registration list {slug}" in nobody.err) == (1, True)
    assert "may join" in commands(people.admin, "team", "allow", slug, blue.email.lower(), "--reason", "Ill.").out
    trail = people.admin.get(f"/challenges/{slug}/audit", params={"action": "registration.may_join"}).json()["items"]
    assert [entry["reason"] for entry in trail] == ["Ill."]
    commands(blue, "register", slug, "--team", "Blue Two")
    commands(green, "register", slug, "--team", "Green")
    token = blue.headers["authorization"].removeprefix("Bearer ")
    lost = run_assay("team", "merge", slug, "Nobody", "--url", people.live.url, "--token", token)
    assert "no team 'Nobody'" in lost.err
    assert "agrees with: assay team merge" in commands(blue, "team", "merge", slug, "Green").out
    commands(green, "team", "merge", slug, "Blue Two", "--withdraw")
    commands(green, "team", "merge", slug, "Blue Two")
    assert "Blue Two is part of Green now" in commands(blue, "team", "merge", slug, "Green").out
    commands(people.admin, "team", "disqualify", slug, "Green", "--reason", "Two accounts")
    assert "disqualified" in commands(people.admin, "team", "list", slug).out
    assert "UTC: Two accounts" in commands(green, "team", "show", slug).out
    commands(people.admin, "team", "reinstate", slug, "Green")
    commands(green, "team", "remove", slug, "Blue")
    commands(blue, "unregister", slug)
    invited = commands(green, "team", "invite", slug, "--json").value()
    assert invited["id"] in commands(green, "team", "revoke", slug, invited["id"]).out


def test_who_can_act_leads_a_team_whose_captain_cannot(people: People) -> None:
    slug = create_challenge(people.admin, "idle-captain", registration="approval")
    blue, red = people["Blue"].join(slug, "Blue"), people["Red"]

    def decide(who: Caller, status: str) -> None:
        listed = people.admin.get(registrations(slug)).json()["items"]
        (mine,) = [each["id"] for each in listed if each["user"]["email"] == who.email.lower()]
        body = {"status": status, "reason": "Decided."}
        assert people.admin.patch(f"{registrations(slug)}/{mine}", json=body).status_code == 200

    decide(blue, "approved")
    join_by_code(red, slug, blue)
    decide(blue, "barred")
    assert names(people.admin.get(f"/challenges/{slug}/teams").json()["items"][0]) == [("Blue", True), ("Red", False)]
    decide(red, "approved")
    assert names(team_of(red, slug)) == [("Blue", False), ("Red", True)]
    decide(blue, "approved")
    decide(red, "pending")
    assert names(team_of(blue, slug)) == [("Blue", True), ("Red", False)]
    disabled = people.live.person("Disabled").join(slug, "Green")
    decide(disabled, "approved")
    code = code_from(disabled, slug)
    user_id_of_disabled = user_id(disabled)
    lost = {"disabled": True, "reason": "Lost."}
    people.admin.patch(f"/users/{user_id_of_disabled}", json=lost).raise_for_status()
    people.admin.patch(f"/challenges/{slug}", json={"registration": "open"}).raise_for_status()
    assert people["Green"].post(registrations(slug), json={"invitation": code}).status_code == 201
    assert names(team_of(people["Green"], slug)) == [("Disabled", False), ("Green", True)]
    decide(people["Green"], "barred")
    assert names(team_of(people["Green"], slug)) == [("Disabled", False), ("Green", True)]  # nobody else can act
    people.admin.patch(f"/users/{user_id_of_disabled}", json={"disabled": False}).raise_for_status()
    assert names(team_of(people["Green"], slug)) == [("Disabled", True), ("Green", False)]
