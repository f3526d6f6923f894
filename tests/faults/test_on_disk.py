"""What lies on the disk: durable before a row may point to it, and for the service's own account only."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from app.files.folder import FolderFileStore
from app.settings import Settings
from tests.api.in_process_app import app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, open_pets_challenge, stored_uploads
from tests.live_service import Live, open_challenge

Step = tuple[str, str, str | int]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """What is synced and renamed from here on, in order; each call is made as it stands, and then noted."""
    noted: list[Step] = []

    def noting_sync(sync: Callable[[int], None]) -> Callable[[int], None]:
        def made(descriptor: int) -> None:
            sync(descriptor)
            path, found = Path(f"/proc/self/fd/{descriptor}").readlink(), os.fstat(descriptor)
            noted.append(("sync", path.name, "folder" if stat.S_ISDIR(found.st_mode) else found.st_size))

        return made

    def noting_move(move: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
        def made(source: Path, target: Path) -> None:
            move(source, target)
            noted.append(("rename", source.name, target.name))

        return made

    monkeypatch.setattr(os, "fsync", noting_sync(os.fsync))
    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, noting_move(getattr(os, name)))
    return noted


def test_all_bytes_are_on_disk_before_the_name_and_then_the_folder_entry(tmp_path: Path, steps: list[Step]) -> None:
    content = os.urandom(100_001)
    files = FolderFileStore(Settings(data_dir=tmp_path, min_free=0))
    assert [step[:2] for step in steps] == [("sync", "files"), ("sync", tmp_path.name)]  # the folders above it
    steps.clear()
    upload = files.begin()
    for start in range(0, len(content), 1000):
        upload.write(content[start : start + 1000])
    assert steps == []
    stored = upload.finish()
    name = stored.key.removeprefix("uploads/")
    assert steps == [
        ("sync", f"{name}.part", len(content)),
        ("rename", f"{name}.part", name),
        ("sync", "uploads", "folder"),
    ]
    assert (tmp_path / "files" / stored.key).read_bytes() == content


def test_nobody_else_reads_what_the_service_writes_whatever_the_umask(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)  # made by whoever runs the service, and open to all
    service = Live(data, admin_token=None)
    service.umask = 0
    service.start()
    try:
        service.admin_token = (data / "admin-token").read_text().strip()
        assert open_pets_challenge(service).submit("pets", CORRECT_PREDICTIONS).json()["status"] == "finished"
        modes = {str(path.relative_to(data)): path.stat().st_mode for path in data.rglob("*")}
        stored = {f"files/uploads/{name}" for name in stored_uploads(service)}
    finally:
        service.stop()
    assert len(stored) == 2  # gold and predictions
    database = {"assay.sqlite3", "assay.sqlite3-wal", "assay.sqlite3-shm"}
    assert modes.keys() >= database | stored | {"lock", "admin-token", "files", "files/uploads"}
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}


def test_a_data_folder_named_from_where_one_stands_serves_all_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Children work in a folder of their own: every path they are given has to be whole."""
    monkeypatch.chdir(tmp_path)
    with serve_app(app_settings(Path("assay-data"))) as service:
        open_challenge(service.admin(), "pets", GOLD)
        for name in ("json", "csv", "jsonl"):
            answer = service.caller().get("/challenges/pets/phases/main/template", params={"format": name})
            assert answer.status_code == 200, answer.text
        assert service.admin().submit("pets", CORRECT_PREDICTIONS, team="Blue").json()["status"] == "finished"
