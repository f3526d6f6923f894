"""Commands that change or delete something of a challenge take --reason, and the audit trail keeps it."""

from pathlib import Path

import pytest
from sqlalchemy import select

from app.store.tables import Rerun
from tests.cli.run_command import run_assay, write_file
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    require_finished,
    submit_for_teams,
    write_session_of,
)
from tests.live_service import PASSWORD, Caller


def newest_entries(who: Caller, slug: str, count: int) -> list[tuple[str, str | None]]:
    """Action and reason of the newest entries, oldest first."""
    page = who.get(f"/challenges/{slug}/audit", params={"limit": count}).json()
    return [(entry["action"], entry["reason"]) for entry in reversed(page["items"])]


def join_team(captain: Caller, person: Caller, slug: str) -> str:
    """Let a person join the captain's team; gives the id of the captain's registration."""
    team = captain.get(f"/challenges/{slug}/teams").json()["items"][0]["id"]
    code = captain.post(f"/challenges/{slug}/teams/{team}/invitations", json={}).json()["code"]
    assert person.post(f"/challenges/{slug}/registrations", json={"invitation": code}).status_code == 201
    return str(captain.get(f"/challenges/{slug}/registrations").json()["items"][0]["id"])


def test_each_command_hands_over_its_reason(people: People, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slug, admin = create_challenge(people.admin, "reasons"), people.admin
    monkeypatch.setenv("ASSAY_URL", people.live.url)
    monkeypatch.setenv("ASSAY_TOKEN", people.live.admin_token)
    title = write_file(tmp_path / "title.json", {"title": "Reasons"})
    recipe = write_file(tmp_path / "recipe.json", make_recipe("accuracy", "f1_macro"))
    gold = write_file(tmp_path / "gold.json", GOLD)
    news = admin.post(f"/challenges/{slug}/announcements", json={"title": "News"}).json()["id"]
    code = admin.post(f"/challenges/{slug}/invitations", json={}).json()["id"]
    data = {"name": "train.json", "licence": "CC0-1.0"}
    assert admin.post(f"/challenges/{slug}/files", params=data, json=[1]).status_code == 201
    blue = people["Blue"].join(slug, "Blue")
    green = people["Green"]
    join_team(blue, green, slug)
    acts: list[tuple[str, tuple[object, ...]]] = [
        ("recipe.change", ("recipe", "set", slug, "-f", recipe)),
        ("recipe.change", ("recipe", "set", slug, "-f", recipe, "--phase", "main")),
        ("recipe.change", ("recipe", "drop", slug, "--phase", "main")),
        ("challenge.edit", ("challenge", "edit", slug, "-f", title)),
        ("phase.create", ("phase", "add", slug, "Extra")),
        ("phase.edit", ("phase", "edit", slug, "--phase", "extra", "--closes", "2099-01-01 AoE")),
        ("challenge.edit", ("phase", "order", slug, "extra", "main")),
        ("phase.pause", ("phase", "pause", slug, "--phase", "extra")),
        ("phase.resume", ("phase", "resume", slug, "--phase", "extra")),
        ("gold.upload", ("gold", "upload", slug, "--phase", "extra", "-f", gold, "--draft")),
        ("gold.delete", ("gold", "delete", slug, 1, "--phase", "extra")),
        ("gold.activate", ("gold", "upload", slug, "--phase", "extra", "-f", gold, "--activate")),
        ("phase.rename", ("phase", "rename", slug, "Other", "--phase", "extra")),
        ("phase.delete", ("phase", "delete", slug, "--phase", "other")),
        ("announcement.edit", ("announcement", "edit", slug, news, "--title", "Old news")),
        ("announcement.delete", ("announcement", "delete", slug, news)),
        ("file.edit", ("file", "edit", slug, "train.json", "--licence", "CC-BY-4.0")),
        ("file.delete", ("file", "delete", slug, "train.json")),
        ("invitation.revoke", ("registration", "revoke", slug, code)),
        ("team.rename", ("team", "rename", slug, "Azure", "--team", "Blue")),
        ("team.captain", ("team", "captain", slug, green.email.upper(), "--team", "Azure")),
    ]
    for number, (action, words) in enumerate(acts):
        done = run_assay(*words, "--reason", f"Reason {number}.")
        assert done.status == 0, (words, done.err)
        assert newest_entries(admin, slug, 1) == [(action, f"Reason {number}.")], words
    sent = require_finished(green.submit(slug, CORRECT_PREDICTIONS))["id"]
    tried = require_finished(admin.submit(slug, CORRECT_PREDICTIONS, test="true"))["id"]
    for action, words in (
        ("submission.rerun", ("rerun", slug, "--submission", sent)),
        ("phase.rerun", ("rerun", slug, "--phase", "main", "--yes", "--wait")),
        ("submission.delete", ("delete", tried)),
        ("challenge.rename", ("challenge", "rename", slug, f"{slug}-new")),
    ):
        done = run_assay(*words, "--reason", action)
        assert done.status == 0, (words, done.err)
        slug = f"{slug}-new" if action == "challenge.rename" else slug
        assert newest_entries(admin, slug, 1) == [(action, action)], words
    order = admin.post(f"{MAIN_PHASE_PATH.format(slug)}/rerun", params={"reason": " "})
    assert order.status_code == 400, order.text


def test_what_follows_from_an_act_has_the_reason_of_the_act(people: People, tmp_path: Path) -> None:
    slug, admin = create_challenge(people.admin, "reasons"), people.admin
    service = ("--url", people.live.url, "--token", people.live.admin_token)
    ada, bob, cleo = people["Ada"].join(slug, "Azure"), people["Bob"], people["Cleo"]
    own = join_team(ada, bob, slug)
    assert run_assay("registration", "bar", slug, own, "--reason", "Two accounts.", *service).status == 0
    why = "Two accounts."
    assert newest_entries(admin, slug, 2) == [("registration.bar", why), ("team.captain", why)]
    join_team(bob, cleo, slug)
    answer = admin.patch(f"/users/{bob.get('/me').json()['id']}", json={"disabled": True, "reason": "A stolen one."})
    assert answer.status_code == 200, answer.text
    assert newest_entries(admin, slug, 1) == [("team.captain", "A stolen one.")]
    assert run_assay("phase", "add", slug, "Next", *service).status == 0
    gold = write_file(tmp_path / "gold.json", GOLD)
    groups = write_file(tmp_path / "groups.json", {row["id"]: "d" for row in GOLD})
    upload = ("gold", "upload", slug, "--phase", "next", "-f", gold, "--groups", groups, "--activate")
    assert run_assay(*upload, "--reason", "Ready.", *service).status == 0
    actions = ("gold.upload", "gold.metadata", "gold.activate")
    assert newest_entries(admin, slug, 3) == [(action, "Ready.") for action in actions]
    assert run_assay("challenge", "copy", slug, f"{slug}-copy", *service).status == 0
    assert run_assay("challenge", "publish", f"{slug}-copy", "--reason", "Now.", *service).status == 0
    assert newest_entries(admin, f"{slug}-copy", 1) == [("challenge.edit", "Now.")]


def test_captains_and_administrators_hand_over_reasons_too(people: People) -> None:
    slug, admin = create_challenge(people.admin, "reasons"), people.admin
    service = ("--url", people.live.url, "--token")
    as_admin = (*service, people.live.admin_token)
    dora, emil = (people[name].join(slug, name) for name in ("Dora", "Emil"))
    as_dora = (*service, dora.headers["Authorization"].partition(" ")[2])
    team = dora.get(f"/challenges/{slug}/teams").json()["items"][0]["id"]
    code = dora.post(f"/challenges/{slug}/teams/{team}/invitations", json={}).json()["id"]
    of_captain: list[tuple[str, tuple[object, ...]]] = [
        ("team.revoke_invitation", ("team", "revoke", slug, code)),
        ("team.propose_merge", ("team", "merge", slug, "Emil")),
        ("team.withdraw_merge", ("team", "merge", slug, "Emil", "--withdraw")),
    ]
    for action, words in of_captain:
        done = run_assay(*words, "--reason", action, *as_dora)
        assert done.status == 0, (words, done.err)
        assert newest_entries(admin, slug, 1) == [(action, action)], words
    site_code = admin.post("/invitations", json={}).json()["id"]
    login = {"email": emil.email, "password": PASSWORD}
    token = people.visitor.post("/tokens", json=login).json()["id"]
    on_this_machine = ("--local", "--data-dir", people.live.data_dir)
    of_administrator: list[tuple[str, tuple[object, ...]]] = [
        ("invitation.revoke", ("invitation", "revoke", site_code, *as_admin)),
        ("token.revoke", ("token", "revoke", token, *as_admin)),
        ("user.reset", ("user", "reset", emil.email, *on_this_machine)),
    ]
    for action, words in of_administrator:
        done = run_assay(*words, "--reason", action)
        assert done.status == 0, (words, done.err)
        entry = admin.get("/audit", params={"limit": 1, "action": action}).json()["items"][0]
        assert entry["reason"] == action, words
    submit_for_teams(admin, slug, [("Dora", CORRECT_PREDICTIONS)])
    assert run_assay("rerun", slug, "--yes", "--wait", *as_admin).status == 0
    with write_session_of(people.live) as session:
        order = session.scalars(select(Rerun).order_by(Rerun.id.desc()).limit(1)).one()
        order.finished_at = None
    assert run_assay("rerun", slug, "--cancel", "--reason", "Enough.", *as_admin).status == 0
    assert newest_entries(admin, slug, 1) == [("phase.cancel_rerun", "Enough.")]
