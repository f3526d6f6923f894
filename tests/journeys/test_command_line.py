"""The command line against a real service, where scripted answers would prove too little."""

from pathlib import Path

import pytest

from tests.cli.run_command import run_assay
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
    refused = run_assay("challenge", "edit", "edited", "-f", file)
    assert refused.status == 1
    assert "The classes of a challenge cannot be changed" in " ".join(refused.err.split())
