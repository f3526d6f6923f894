"""Wrong settings: the error names the setting and the remedy, and never a secret."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.settings import Settings
from tests.cli.run_command import run_assay
from tests.postgres import PostgresServer

ROOT = Path(__file__).resolve().parents[2]
BUCKET = {"ASSAY_FILES_URL": "s3://bucket/prefix", "ASSAY_S3_ACCESS_KEY": "key"}
WRONG = {
    "another @ in the password": ({"ASSAY_DATABASE_URL": "postgresql+psycopg://a:top@secret@host/db"}, "%40"),
    "a prefix that climbs": ({"ASSAY_FILES_URL": "s3://bucket/../secret"}, "s3://bucket/prefix"),
    "no file of the secret key": (BUCKET | {"ASSAY_S3_SECRET_KEY_FILE": "/no/file"}, "ASSAY_S3_SECRET_KEY_FILE"),
    "no file of the token": ({"ASSAY_ADMIN_TOKEN_FILE": "/no/file"}, "ASSAY_ADMIN_TOKEN_FILE"),
    "a lease shorter than a sign": ({"ASSAY_LEASE_SECONDS": "5"}, "at least twice heartbeat_seconds"),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_setting_is_told_with_its_name(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, said = WRONG[how]
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    ran = run_assay("serve", "--data-dir", tmp_path / "new")
    assert ran.status == 1
    assert said in ran.err
    assert "docs/settings.md" in ran.err
    assert "secret@" not in ran.err
    assert "../secret" not in ran.err
    assert not (tmp_path / "new").exists()


def test_a_password_with_signs_written_as_they_have_to_be_is_taken() -> None:
    url = "postgresql+psycopg://assay:a%40b%2F@db.internal/assay?sslmode=verify-full"
    assert Settings(database_url=url).database == url
    assert Settings(database_url="postgresql+psycopg:///assay?host=/run/postgresql").on_postgresql


@pytest.mark.parametrize("prefix", ["", "/", "/assay", "/a.b/.c/", "/a/b/c"])
def test_usual_prefixes_are_taken(prefix: str) -> None:
    assert Settings(files_url=f"s3://bucket{prefix}").files_url


@pytest.mark.parametrize("words", [("migrate",), ("migrate", "--json"), ("backup", "made")])
def test_a_database_that_refuses_is_told_in_its_own_words(
    words: tuple[str, ...], postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_DATABASE_URL", postgres.url("nobody_made_this"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("ASSAY_FILES_SHARED", "true")
    ran = run_assay(*words)
    assert ran.status == 1
    text = ran.value()["detail"] + ran.value()["remedy"] if "--json" in words else ran.err
    assert "does not exist" in text
    assert "Check ASSAY_DATABASE_URL" in text


def test_what_nobody_reads_is_no_failure(tmp_path: Path) -> None:
    command = f"{sys.executable} -m app.cli migrate --json --data-dir {tmp_path}/made >&-"
    ran = subprocess.run(["sh", "-c", command], cwd=ROOT, env=dict(os.environ), check=False, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")
