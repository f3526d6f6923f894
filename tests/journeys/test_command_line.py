"""The command line against a real service, where scripted answers would prove too little."""

import os
import subprocess
import sys
from pathlib import Path

from tests.live_service import MAX_WAIT_SECONDS, ROOT, Live

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


def assay(live: Live, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"ASSAY_URL": live.url, "ASSAY_TOKEN": live.admin_token}
    command = [sys.executable, "-m", "app.cli", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=False
    )


def test_a_challenge_is_edited_with_the_file_it_was_created_from(live: Live, tmp_path: Path) -> None:
    file = tmp_path / "challenge.yaml"
    file.write_text(FIRST)
    made = assay(live, "challenge", "create", "-f", str(file))
    assert made.returncode == 0, made.stderr
    same = assay(live, "challenge", "edit", "edited", "-f", str(file))
    assert same.returncode == 0, same.stderr
    file.write_text(SECOND)
    changed = assay(live, "challenge", "edit", "edited", "-f", str(file))
    assert changed.returncode == 0, changed.stderr
    now = live.caller().get("/challenges/edited").json()
    assert now["title"] == "Second"
    assert now["recipe"]["metrics"] == ["f1_macro", "accuracy"]
    assert [(phase["slug"], phase["quota"]["per_day"]) for phase in now["phases"]] == [("main", 7), ("final", None)]
    file.write_text(SECOND.replace("[1, 2]", "[1, 2, 3]"))
    fixed = assay(live, "challenge", "edit", "edited", "-f", str(file))
    assert fixed.returncode == 1
    assert "The classes of a challenge cannot be changed" in " ".join(fixed.stderr.split())
