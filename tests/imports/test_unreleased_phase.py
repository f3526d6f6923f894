"""An imported phase whose private scores were not released: nobody but organizers sees them before the release here."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.imports.source_phase import finish, release_and_freeze, send
from tests.journeys.support import MAIN_PHASE_PATH, require_refused
from tests.live_service import Caller
from tests.settle import settle

LOGGED = """SELECT receipts.split, receipts.submission_id FROM log_records JOIN receipts ON receipts.id = object_id
    WHERE log_records.kind = 'receipt'"""
RECEIPTS = """SELECT receipts.submission_id FROM receipts JOIN gold_versions ON gold_versions.id = gold_id
    WHERE split = 'private' AND gold_versions.status = 'active'"""


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    with closing(sqlite3.connect(folder / "assay.sqlite3", timeout=60)) as database:
        return database.execute(query).fetchall()


def require_nothing_private(app: ServedApp, slug: str, submission: str) -> None:
    """A visitor gets board, errata, receipts and foreign receipts of the public split alone."""
    visitor, path = app.caller(), MAIN_PHASE_PATH.format(slug)
    assert visitor.board(slug).json()["split"] == "public"
    for split in ("private", "all"):
        require_refused(visitor.board(slug, split=split), 403, "split_hidden")
        require_refused(visitor.get(f"/submissions/{submission}/receipt?split={split}"), 403, "split_hidden")
    (erratum,) = visitor.get(f"/challenges/{slug}/errata").json()["items"]
    assert list(erratum["boards"]) == ["public"]
    foreign = visitor.get(f"/submissions/{submission}/receipt/foreign").json()
    assert {each["split"] for each in foreign["receipts"]} == {"public"}
    assert visitor.get(path).json()["released_at"] is None


def shown(admin: Caller, slug: str) -> str:
    """A submission with a rank."""
    return next(str(row["submission"]) for row in admin.board(slug).json()["rows"] if row["rank"] == 1)


def test_private_scores_stay_private_until_the_release_here(unreleased: Path, tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "here"), analyses=True) as app:
        admin = app.admin()
        done = finish(app, send(admin, unreleased))
        assert done["status"] == "done", done
        settle(app)
        slug = done["challenge"]
        submission = shown(admin, slug)
        require_nothing_private(app, slug, submission)
        assert admin.get(f"/submissions/{submission}/receipt?split=private").status_code == 200
        proof = f"/submissions/{submission}/receipt/proof"
        require_refused(admin.get(proof, params={"split": "private"}), 404, "not_logged")
        logged = rows(tmp_path / "here", LOGGED)
        assert {split for split, _ in logged} == {"public"}
        assert len(logged) == len(set(logged))

        release_and_freeze(app, slug)
        assert app.caller().board(slug).json()["split"] == "private"
        settle(app)
        assert app.caller().get(proof, params={"split": "private"}).status_code == 200
        logged = rows(tmp_path / "here", LOGGED)
        assert len(logged) == len(set(logged))
        of_private = sorted(of for split, of in logged if split == "private")
        assert of_private == sorted(of for (of,) in rows(tmp_path / "here", RECEIPTS))
