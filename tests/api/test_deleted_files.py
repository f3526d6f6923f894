"""A submission whose file was deleted says so and keeps its problems."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from app.actions.operations.remove_unscored_files import UnscoredFiles
from app.api.dependencies import AppState
from app.store.tables import Submission
from app.store.types import utcnow
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.inspection import GOLD
from tests.live_service import open_challenge

SUBMISSIONS = "/challenges/pets/phases/main/submissions"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    folder: Path = tmp_path_factory.mktemp("deleted") / "data"
    with serve_app(app_settings(folder)) as running:
        open_challenge(running.admin(), "pets", GOLD)
        yield running


def test_the_download_of_a_deleted_file_says_when_it_was_deleted(service: ServedApp) -> None:
    admin = service.admin()
    state: AppState = service.app.state.service
    sent = admin.post(SUBMISSIONS, json={"t1": "cow"}, params={"team": "Blue"}, headers={"Prefer": "wait=30"}).json()
    assert (sent["status"], sent["file_deleted_at"]) == ("rejected", None)
    path = f"/submissions/{sent['id']}"
    assert admin.get(f"{path}/predictions").json() == {"t1": "cow"}
    with state.db.write() as session:
        session.execute(update(Submission).values(finished_at=utcnow() - timedelta(days=8)))
    remover = UnscoredFiles(state.db, state.files, state.settings)
    for _ in range(2):  # marked, then deleted
        remover.remove_unscored()
        read = admin.get(path).json()
        assert read["problems"] == sent["problems"]
        assert read["sha256"] == sent["sha256"]
        gone = admin.get(f"{path}/predictions")
        assert (gone.status_code, gone.json()["code"]) == (410, "file_deleted")
        assert gone.json()["deleted_at"] == read["file_deleted_at"]
        assert read["file_deleted_at"] in gone.json()["detail"]
    refused = admin.post(f"{path}/rerun")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_rescorable")
    visitor = service.caller()
    assert visitor.get(f"{path}/predictions").status_code in {401, 404}
