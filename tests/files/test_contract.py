"""What every file store does, in a folder and in a bucket of two makes."""

import hashlib
import io
from pathlib import Path
from typing import Any

import pytest

from app.errors import StorageAlmostFull, Unavailable
from app.files import PREPARED_GOLD, FileStore, StoredFile, new_key
from app.files.bucket import BucketFileStore
from app.files.folder import FolderFileStore
from app.settings import Settings
from tests.s3_servers import S3Server

LARGE = 9 * 1024 * 1024 + 3  # more than one part of a large upload


def open_store(kind: str, request: pytest.FixtureRequest, data_dir: Path, **settings: Any) -> FileStore:
    if kind == "folder":
        return FolderFileStore(Settings.model_validate({"data_dir": data_dir, "min_free": 0} | settings))
    server: S3Server = request.getfixturevalue(kind)
    return BucketFileStore(server.settings(data_dir, **settings), data_dir / "work")


@pytest.fixture(params=["folder", "moto", "rclone"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def files(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
    return open_store(kind, request, tmp_path)


def store(files: FileStore, *chunks: bytes) -> StoredFile:
    upload = files.begin()
    for chunk in chunks:
        upload.write(chunk)
    assert upload.size == sum(map(len, chunks))
    return upload.finish()


def read(files: FileStore, key: str) -> bytes:
    with files.local_path(key) as path:
        return path.read_bytes()


def all_keys(files: FileStore) -> list[str]:
    return sorted(files.keys(older=-60))  # ages are taken by two clocks, one of which counts whole seconds


def on_the_way(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.suffix == ".part" or path.parent.name == "spool"]


def test_the_size_of_a_file_is_told_without_reading_it(files: FileStore) -> None:
    stored = store(files, b"a few bytes")
    assert files.size(stored.key) == stored.size == 11
    files.delete(stored.key)
    with pytest.raises(FileNotFoundError):
        files.size(stored.key)


@pytest.mark.parametrize("chunks", [(b"a few", b" bytes"), (b"",), ()], ids=["some", "empty", "none"])
def test_what_is_written_is_read_back_with_its_hash_and_size(files: FileStore, chunks: tuple[bytes, ...]) -> None:
    whole = b"".join(chunks)
    stored = store(files, *chunks)
    assert (stored.sha256, stored.size) == (hashlib.sha256(whole).hexdigest(), len(whole))
    assert read(files, stored.key) == whole
    assert all_keys(files) == [stored.key]


def test_a_file_of_several_parts_arrives_whole(files: FileStore, tmp_path: Path) -> None:
    whole = bytes(range(251)) * (LARGE // 251 + 1)
    stored = store(files, whole[:LARGE])
    assert stored.size == LARGE
    assert hashlib.sha256(read(files, stored.key)).hexdigest() == stored.sha256
    assert on_the_way(tmp_path) == []


def test_equal_contents_are_two_files(files: FileStore) -> None:
    first, second = store(files, b"same"), store(files, b"same")
    assert first.sha256 == second.sha256
    files.delete(first.key)
    assert read(files, second.key) == b"same"


def test_an_upload_that_is_given_up_leaves_nothing(files: FileStore, tmp_path: Path) -> None:
    upload = files.begin()
    upload.write(b"half of")
    upload.abort()
    assert all_keys(files) == []
    assert on_the_way(tmp_path) == []


def test_giving_up_after_the_end_does_no_harm(files: FileStore) -> None:
    upload = files.begin()
    upload.write(b"whole")
    stored = upload.finish()
    upload.abort()
    assert read(files, stored.key) == b"whole"


@pytest.mark.parametrize("key", ["uploads/" + "0" * 32, "prepared/" + "0" * 32, "uploads/../escape", "elsewhere"])
def test_a_file_that_is_not_there_is_said_to_be_missing(files: FileStore, key: str) -> None:
    with pytest.raises(FileNotFoundError, match=key), files.local_path(key):
        pass
    with pytest.raises(FileNotFoundError, match=key):
        files.fetch(key, io.BytesIO())


def test_prepared_gold_is_kept_apart_from_uploads_and_for_its_owner_alone(files: FileStore, tmp_path: Path) -> None:
    path = tmp_path / "made"
    path.write_bytes(b"prepared")
    path.chmod(0o644)
    key, upload = new_key(PREPARED_GOLD), store(files, b"sent")
    files.put(key, path, 8)
    assert all_keys(files) == sorted([key, upload.key])
    assert key.rpartition("/")[0] != upload.key.rpartition("/")[0]
    out = io.BytesIO()
    files.fetch(key, out)
    assert out.getvalue() == b"prepared"
    stored = files.stored_path(key)
    assert (stored is None) == isinstance(files, BucketFileStore)
    if stored is not None:
        assert stored.read_bytes() == b"prepared"
        assert stored.stat().st_mode & 0o777 == 0o600
    files.delete(key)
    assert all_keys(files) == [upload.key]


def test_a_file_is_deleted_once_and_missing_after_that(files: FileStore) -> None:
    stored = store(files, b"short-lived")
    assert read(files, stored.key) == b"short-lived"
    files.delete(stored.key)
    files.delete(stored.key)
    assert all_keys(files) == []
    with pytest.raises(FileNotFoundError), files.local_path(stored.key):
        pass


def test_files_are_named_by_age(files: FileStore) -> None:
    stored = store(files, b"young")
    assert list(files.keys(older=3600)) == []
    assert list(files.keys(older=-60)) == [stored.key]


def test_uploads_are_refused_while_the_disk_is_short(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    files = open_store(kind, request, tmp_path, min_free=1 << 62)
    for ask in (files.begin, files.check):
        with pytest.raises(StorageAlmostFull):
            ask()


def test_what_a_killed_process_left_is_cleared_and_whole_files_stay(files: FileStore, tmp_path: Path) -> None:
    stored = store(files, b"whole")
    killed = files.begin()
    killed.write(b"never to be whole")
    assert len(on_the_way(tmp_path)) == 1
    assert files.clear_leftovers(older=3600) == 0
    assert files.clear_leftovers(older=0) == 1
    killed.abort()  # only to close it
    assert on_the_way(tmp_path) == []
    assert all_keys(files) == [stored.key]


def test_a_sound_store_passes_its_check(files: FileStore) -> None:
    files.check()


def test_a_file_put_under_its_key_is_there_as_if_it_had_been_uploaded(files: FileStore, tmp_path: Path) -> None:
    content = b"x" * LARGE
    (tmp_path / "kept").write_bytes(content)
    key = f"uploads/{'0123456789abcdef' * 2}"
    for _ in range(2):  # a second time does no harm
        files.put(key, tmp_path / "kept", LARGE)
        assert all_keys(files) == [key]
        assert read(files, key) == content
    assert not on_the_way(tmp_path)
    with pytest.raises(Unavailable):
        files.put(f"{key[:-1]}0", tmp_path / "kept", LARGE + 1)
    assert all_keys(files) == [key]
