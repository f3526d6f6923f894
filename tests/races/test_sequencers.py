"""The sequencer of the transparency log: killed at any point, or several at once, the log stays one log."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from app.settings import Settings
from tests.live_service import ROOT
from tests.migrated_databases import migrate_by_copy
from tests.postgres import PostgresServer


@pytest.fixture(params=["sqlite", "postgresql"])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The settings of an empty installation of either kind, with a key."""
    key = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "log.pem").write_bytes(key)
    settings = {"data_dir": str(tmp_path / "data"), "log_key_file": str(tmp_path / "log.pem")}
    settings["database_wait"] = "60"
    if request.param == "sqlite":
        migrate_by_copy(Settings(**settings))  # type: ignore[arg-type]
        yield {f"ASSAY_{name.upper()}": value for name, value in settings.items()}
        return
    postgres: PostgresServer = request.getfixturevalue("postgres")
    with postgres.database() as url:
        settings["database_url"] = url
        migrate_by_copy(Settings(**settings))  # type: ignore[arg-type]
        yield {f"ASSAY_{name.upper()}": value for name, value in settings.items()}


def test_there_is_one_log(environment: dict[str, str]) -> None:
    """After every kill, and with competitors, positions have no gap and no checkpoint contradicts another."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    command = [sys.executable, "-m", "tests.races.log_processes"]
    done = subprocess.run(command, cwd=ROOT, env=keep | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = done.stdout.splitlines()
    (killed,) = [line for line in told if line.startswith("killed at ")]
    assert int(killed.split()[2]) >= 10
    assert told[-1] == "sound"
