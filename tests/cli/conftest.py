from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.scripted_server import ScriptedServer, run_server


@pytest.fixture
def service() -> Iterator[ScriptedServer]:
    with run_server() as started:
        yield started


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder of the test's own, and no address, token or width from outside."""
    for name in ("ASSAY_URL", "ASSAY_TOKEN", "ASSAY_DATA_DIR", "ASSAY_DATABASE_URL", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"
