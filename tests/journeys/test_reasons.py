"""Commands that change something for others take --reason, and the audit trail keeps it."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_command import run_assay, write_file
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    require_finished,
)
from tests.live_service import Caller


def newest_entry(who: Caller, slug: str) -> dict[str, Any]:
    entry: dict[str, Any] = who.get(f"/challenges/{slug}/audit", params={"limit": 1}).json()["items"][0]
    return entry


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
    team = blue.get(f"/challenges/{slug}/teams").json()["items"][0]["id"]
    invited = blue.post(f"/challenges/{slug}/teams/{team}/invitations", json={}).json()["code"]
    green = people["Green"]
    assert green.post(f"/challenges/{slug}/registrations", json={"invitation": invited}).status_code == 201
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
        ("team.captain", ("team", "captain", slug, green.email, "--team", "Azure")),
    ]
    for number, (action, words) in enumerate(acts):
        done = run_assay(*words, "--reason", f"Reason {number}.")
        assert done.status == 0, (words, done.err)
        entry = newest_entry(admin, slug)
        assert (entry["action"], entry["reason"]) == (action, f"Reason {number}."), words
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
        entry = newest_entry(admin, slug)
        assert (entry["action"], entry["reason"]) == (action, action), words
    order = admin.post(f"{MAIN_PHASE_PATH.format(slug)}/rerun", params={"reason": " "})
    assert order.status_code == 400, order.text
