"""Files that are refused, disks that are short, and many writers at once."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from app.errors import Unavailable
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.live_service import MAX_WAIT_SECONDS, open_challenge
from tests.settle import settle

SUBMISSIONS = "/challenges/pets/phases/main/submissions"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uploads") / "data"


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[ServedApp]:
    with serve_app(app_settings(folder)) as service:
        open_challenge(service.admin(), "pets", GOLD)
        yield service


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "files" / "uploads").iterdir())


@pytest.mark.ci
def test_forty_writers_at_once_are_all_served(running: ServedApp, folder: Path) -> None:
    admin = running.admin()
    before = len(files_in(folder))

    def write(number: int) -> int:
        return admin.post(SUBMISSIONS, json=CORRECT_PREDICTIONS, params={"team": f"T{number}"}).status_code

    with ThreadPoolExecutor(40) as writers:
        assert list(writers.map(write, range(40), timeout=MAX_WAIT_SECONDS)) == [202] * 40
    assert len(files_in(folder)) == before + 40

    settle(running)
    assert len(admin.board("pets").json()["rows"]) == 40


def test_one_name_wanted_by_many_at_once_is_given_once(running: ServedApp) -> None:
    admin = running.admin()
    body = {"slug": "wanted", "title": "Wanted", "task": "multiclass", "recipe": {"primary": "accuracy"}}
    with ThreadPoolExecutor(8) as writers:
        answers = list(
            writers.map(lambda _: admin.post("/challenges", json=body).status_code, range(8), timeout=MAX_WAIT_SECONDS)
        )
    assert sorted(answers) == [201] + [409] * 7


def test_a_refused_upload_leaves_no_file(running: ServedApp, folder: Path) -> None:
    admin = running.admin()
    before = files_in(folder)
    assert admin.post(SUBMISSIONS, json=CORRECT_PREDICTIONS).json()["code"] == "not_registered"
    assert (
        admin.post(SUBMISSIONS, json=CORRECT_PREDICTIONS, params={"team": "Dry", "dry_run": "true"}).json()["valid"]
        is True
    )
    key = {"Idempotency-Key": "same"}
    first = admin.post(SUBMISSIONS, json=CORRECT_PREDICTIONS, params={"team": "Same"}, headers=key)
    assert first.status_code == 202
    assert admin.post(SUBMISSIONS, json=CORRECT_PREDICTIONS, params={"team": "Same"}, headers=key).status_code == 200
    assert admin.post(SUBMISSIONS, json={}, params={"team": "Same"}, headers=key).status_code == 422
    assert len(files_in(folder)) == len(before) + 1


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServedApp, list[str], Path]]:
    """A service started again on a short disk, with files that no row points to, and the files that are to be kept."""
    data = tmp_path_factory.mktemp("restarted") / "data"
    with serve_app(app_settings(data)) as service:
        open_challenge(service.admin(), "pets", GOLD)
        assert service.admin().submit("pets", CORRECT_PREDICTIONS, team="Blue").status_code == 201
    stored = files_in(data)
    old, young, foreign = "0" * 32, "1" * 32, "somebody's notes"
    for name in (old, young, foreign):
        (data / "files" / "uploads" / name).write_bytes(b"x")
    for name in (*stored, old, foreign):
        os.utime(data / "files" / "uploads" / name, (0, 0))
    with serve_app(app_settings(data, min_free=1 << 60)) as service:
        yield service, sorted([*stored, young, foreign]), data


def test_a_short_disk_refuses_uploads_and_goes_on_reading(restarted: tuple[ServedApp, list[str], Path]) -> None:
    service, *_ = restarted
    admin = service.admin()
    refused = admin.post(SUBMISSIONS, json=CORRECT_PREDICTIONS, params={"team": "Red"})
    assert refused.status_code == 503
    assert refused.json()["code"] == "storage_short"
    assert int(refused.headers["retry-after"]) > 0
    assert refused.headers["content-type"] == "application/problem+json"
    assert len(admin.board("pets").json()["rows"]) == 1
    assert len(admin.get(SUBMISSIONS).json()["items"]) == 1
    ready = admin.get(service.url + "/readyz")
    assert ready.status_code == 503
    assert "almost full" in ready.json()["checks"]["space"]
    assert ready.json()["checks"]["files"] == "ok"


def test_files_that_no_row_points_to_are_swept_at_the_start_once_they_are_a_day_old(
    restarted: tuple[ServedApp, list[str], Path],
) -> None:
    _, expected, data = restarted
    assert files_in(data) == expected


FULL = """
import resource, signal, sys
from pathlib import Path
from typing import Any
from app.errors import StorageAlmostFull
from app.files.folder import FolderFileStore
from app.settings import Settings
files = FolderFileStore(Settings(data_dir=Path(sys.argv[1]), min_free=0))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
upload = files.begin()
try:
    upload.write(b"x" * 4000)
    upload.finish()
except StorageAlmostFull:
    print("short", sorted(path.name for path in (files.root / "uploads").iterdir()))
"""


def test_a_disk_that_fills_up_at_the_last_byte_is_storage_short_and_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "short []\n"), done.stderr


def test_a_repetition_is_answered_though_its_own_copy_cannot_be_removed_now(
    running: ServedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete(_key: str) -> None:
        raise Unavailable

    admin = running.admin()
    request: dict[str, Any] = {
        "json": CORRECT_PREDICTIONS,
        "params": {"team": "Repeated"},
        "headers": {"Idempotency-Key": "k"},
    }
    first = admin.post(SUBMISSIONS, **request)
    monkeypatch.setattr(running.app.state.service.files, "delete", delete)
    again = admin.post(SUBMISSIONS, **request)
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
