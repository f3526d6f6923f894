"""What `assay doctor` says of the machine: its libraries, and the file system under its data."""

from pathlib import Path

import pytest

from app.doctor import disk, software


def test_libraries_that_are_missing_or_old_are_found() -> None:
    assert software.library_fault("numpy", "1.0") is None
    assert "older than 999" in (software.library_fault("numpy", "999") or "")
    assert software.library_fault("no-such-library", "1") == "no-such-library is missing"


@pytest.mark.parametrize(
    ("kind", "sqlite", "state"),
    [
        ("ext4", True, "ok"), ("nfs4", True, "problem"), ("fuse.sshfs", True, "problem"), ("nfs4", False, "ok"),
        ("tmpfs", True, "warning"), ("overlay", False, "warning"),
    ],
)  # fmt: skip
def test_the_disk_is_the_one_mounted_last_on_the_nearest_folder_above(kind: str, sqlite: bool, state: str) -> None:
    mounts = f"/dev/a / xfs rw 0 0\nb /srv/my\\040data nfs rw 0 0\nc /srv/my\\040data {kind} rw 0 0\nd /srv/my btrfs rw 0 0\n"
    assert disk.judge_file_system(Path("/srv/my data/assay.sqlite3"), mounts, sqlite=sqlite).state == state
    assert disk.file_system_type(Path("/srv/my database"), mounts) == "xfs"
