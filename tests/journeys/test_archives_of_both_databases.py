"""A phase on SQLite and the same phase on PostgreSQL give archives with the same scores, to the last digit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.archives.open_archive import open_archive
from app.archives.rescoring import rescore_archive
from app.archives.verification import verify_archive
from tests.api.in_process_app import app_settings, serve_app
from tests.journeys.support import create_challenge, make_recipe, predictions_with_hits, require_finished
from tests.live_service import Caller

SPLITS = ("public", "private", "public", "private")
GOLD = [
    {"id": f"t{n}", "label": label, "split": split}
    for n, (label, split) in enumerate(zip("aabb", SPLITS, strict=True), 1)
]


def export_phase(admin: Caller, target: Path) -> Path:
    """The archive of a phase with three submissions of two teams."""
    slug = create_challenge(admin, "both", GOLD, recipe=make_recipe("f1_macro", "mcc", "accuracy"))
    for team, hits in (("Blue", 3), ("Green", 3), ("Blue", 1)):
        require_finished(admin.submit(slug, predictions_with_hits(hits), team=team))
    answer = admin.get(f"/challenges/{slug}/export", params={"phase": "main"}).raise_for_status()
    target.write_bytes(answer.content)
    return target


def archived_scores(path: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Team, split and values of each score, in the order of acceptance; all are checked on the way."""
    with open_archive(path) as archive:
        assert verify_archive(archive).faults == []
        assert {(each.outcome, each.instances) for each in rescore_archive(archive)} == {("same", "same")}
        names = {row["id"]: (row["order"], row["team_name"]) for row in archive.rows("submissions.jsonl")}
        rows = sorted(archive.rows("scores.jsonl"), key=lambda row: (names[row["submission"]][0], row["split"]))
        return [(names[row["submission"]][1], row["split"], row["metrics"]) for row in rows]


def test_both_databases_give_the_same_scores(tmp_path: Path, postgres_database: Callable[[], str]) -> None:
    found = []
    for name, address in (("sqlite", {}), ("postgresql", {"database_url": postgres_database(), "files_shared": True})):
        with serve_app(app_settings(tmp_path / name, **address)) as app:
            found.append(archived_scores(export_phase(app.admin(), tmp_path / f"{name}.zip")))
    assert len(found[0]) == 9
    assert json.dumps(found[0]) == json.dumps(found[1])
