"""The command line against a real service, where scripted answers would prove too little."""

from pathlib import Path

import pytest

from tests.cli.run_command import run_assay
from tests.journeys.support import People, create_challenge, predictions_with_hits, require_finished
from tests.live_service import Live

FIRST = """
slug: edited
title: First
task: multiclass
classes: [1, 2]
recipe: {primary: f1_macro, metrics: [f1_macro]}
phases: [{name: main, quota: {per_day: 5}}]
"""
SECOND = (
    FIRST.replace("First", "Second")
    .replace("metrics: [f1_macro]", "metrics: [f1_macro, accuracy]")
    .replace("per_day: 5}}", "per_day: 7}}, {name: final}")
)


def test_a_challenge_is_edited_with_the_file_it_was_created_from(
    live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_URL", live.url)
    monkeypatch.setenv("ASSAY_TOKEN", live.admin_token)
    file = tmp_path / "challenge.yaml"
    file.write_text(FIRST)
    created = run_assay("challenge", "create", "-f", file)
    assert created.status == 0, created.err
    unchanged = run_assay("challenge", "edit", "edited", "-f", file)
    assert unchanged.status == 0, unchanged.err
    file.write_text(SECOND)
    edited = run_assay("challenge", "edit", "edited", "-f", file)
    assert edited.status == 0, edited.err
    now = live.caller().get("/challenges/edited").json()
    assert now["title"] == "Second"
    assert now["recipe"]["metrics"] == ["f1_macro", "accuracy"]
    assert [(phase["slug"], phase["quota"]["per_day"]) for phase in now["phases"]] == [("main", 7), ("final", None)]
    file.write_text(SECOND.replace("[1, 2]", "[1, 2, 3]"))
    wider = run_assay("challenge", "edit", "edited", "-f", file)
    assert wider.status == 0, wider.err
    assert live.caller().get("/challenges/edited").json()["classes"] == ["1", "2", "3"]


def test_gold_and_recipes_are_uploaded_looked_at_and_replaced(
    live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_URL", live.url)
    monkeypatch.setenv("ASSAY_TOKEN", live.admin_token)
    file = tmp_path / "challenge.yaml"
    file.write_text(SECOND.replace("edited", "looked-at"))
    assert run_assay("challenge", "create", "-f", file).status == 0
    gold = tmp_path / "gold.csv"
    gold.write_text("id,label\nx,1\ny,2\nz,2\n")
    upload = ("gold", "upload", "looked-at", "--phase", "main", "-f", gold)
    draft = run_assay(*upload)
    assert (draft.status, draft.out.splitlines()[-1]) == (0, "Gold version 1 of looked-at/main: draft.")
    assert "classes: 2: 1, 2" in draft.out
    assert "assay gold activate looked-at 1 --phase main" in draft.err
    gold.write_text("id,label,splt\nx,1,public\n")
    misspelt = run_assay(*upload)
    assert misspelt.status == 1
    assert "Rename 'splt' to 'split'" in " ".join(f"{misspelt.out} {misspelt.err}".split())
    gold.write_text("id,label,split\nx,1,public\ny,2,private\n")
    active = run_assay(*upload, "--activate")
    assert "splits: 1 public, 1 private" in active.out
    assert active.out.endswith("Gold version 2 of looked-at/main: active.\n")
    assert run_assay("gold", "delete", "looked-at", "1", "--phase", "main").status == 0
    assert "splits: 1 public" in run_assay("gold", "show", "looked-at", "2", "--phase", "main").out
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("{primary: accuracy}")
    own = run_assay("recipe", "set", "looked-at", "-f", recipe, "--phase", "final")
    assert own.out.splitlines()[:2] == ["recipe of the phase final, version 2", "primary: accuracy"]
    assert "of the challenge, version 1" in run_assay("recipe", "show", "looked-at").out
    assert "metrics and selection of final: its own" in run_assay("challenge", "show", "looked-at").out
    assert "of the challenge, version 1" in run_assay("recipe", "drop", "looked-at", "--phase", "final").out


def test_submissions_and_teams_are_withdrawn_disqualified_and_reinstated(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = create_challenge(people.admin, "commands")
    people["Blue"].join(slug, "Blue Sky")
    sent = [require_finished(people["Blue"].submit(slug, predictions_with_hits(hits)))["id"] for hits in (4, 3, 2)]
    monkeypatch.setenv("ASSAY_URL", people.live.url)

    def run(token: str, *words: str) -> str:
        monkeypatch.setenv("ASSAY_TOKEN", token)
        ran = run_assay(*words)
        assert ran.status == 0, ran.err
        return " ".join(ran.out.split())

    def marks() -> list[tuple[str | None, int | None]]:
        rows = people.visitor.board(slug).json()["rows"]
        return [(row["mark"], row["rank"]) for row in rows]

    admin, own = people.live.admin_token, people["Blue"].headers["authorization"].removeprefix("Bearer ")
    assert run(own, "withdraw", sent[0], "--reason", "Wrong file") == f"Submission {sent[0]} is withdrawn."
    assert "withdrawn at 2" in (shown := run(own, "submission", sent[0]))
    assert "UTC: Wrong file" in shown
    assert run(admin, "disqualify", sent[1], "--reason", "so") == f"Submission {sent[1]} is disqualified."
    assert marks() == [("withdrawn", None), ("disqualified", None), (None, 1)]
    listed = run(own, "submissions", slug)
    assert all(f" {mark}" in listed for mark in ("withdrawn", "disqualified"))
    board = run(own, "leaderboard", slug)
    assert all(words in board for words in ("withdrawn Blue Sky", "disqualified Blue Sky", "1 Blue Sky"))
    for each in sent[:2]:
        assert run(admin, "reinstate", each) == f"Submission {each} takes part in the ranking."
    assert marks() == [(None, 1)]
    run(admin, "team", "disqualify", slug, "Blue Sky", "--reason", "Several accounts")
    assert marks() == [("disqualified", None)]
    refused = run_assay("team", "disqualify", slug, "Green", "--reason", "so")
    assert (refused.status, "has no team 'Green'" in refused.err, "'Blue Sky'" in refused.err) == (1, True, True)
    run(admin, "team", "reinstate", slug, "Blue Sky")
    assert marks() == [(None, 1)]
