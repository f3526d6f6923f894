"""/readyz tells what is wrong, has an end, and does not fail for a long queue."""

import os
import shutil
import threading
from pathlib import Path

import httpx
import pytest

from app.runtime.single_flight import SingleFlight, call_with_timeout
from app.store.session import Database
from tests.api.in_process_app import app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, frozen_children
from tests.live_service import MAX_WAIT_SECONDS, eventually, open_challenge


def ready(url: str) -> tuple[int, dict[str, str]]:
    answer = httpx.get(f"{url}/readyz", timeout=MAX_WAIT_SECONDS)
    return answer.status_code, answer.json()["checks"]


def is_unready_for(url: str, *missed: str) -> bool:
    """Whether it is unready for these parts alone."""
    status, checks = ready(url)
    return status == 503 and {name for name, status_text in checks.items() if status_text != "ok"} == set(missed)


def test_folder_schema_and_space_are_told_apart(tmp_path: Path) -> None:
    settings = app_settings(tmp_path / "data")
    with serve_app(settings) as service:
        assert ready(service.url) == (200, dict.fromkeys(("database", "schema", "files", "space"), "ok"))
        uploads = settings.files_dir / "uploads"
        uploads.rename(settings.files_dir / "elsewhere")
        status, checks = ready(service.url)
        assert (status, checks["space"]) == (503, "ok")
        assert "folder of uploads is missing" in checks["files"]
        shutil.move(settings.files_dir / "elsewhere", uploads)
        with Database(settings).engine().begin() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
        status, checks = ready(service.url)
        assert (status, checks["database"], checks["files"]) == (503, "ok", "ok")
        assert "assay migrate" in checks["schema"]
        with Database(settings).engine().begin() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'of a later version'")
        assert ready(service.url)[1]["schema"] == "ok"  # an upgrade is under way, and this process goes on


def test_a_long_queue_is_no_reason_to_be_unready(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data")) as service:
        open_challenge(service.admin(), "pets", GOLD)
        assert service.admin().submit("pets", CORRECT_PREDICTIONS, team="Blue").status_code == 201
        with frozen_children(os.getpid()):
            for _ in range(5):
                assert service.admin().submit("pets", CORRECT_PREDICTIONS, team="Blue", wait=0).status_code == 202
            eventually(lambda: ready(service.url)[0] == 200, "it is ready")


def test_a_call_that_hangs_is_waited_for_only_so_long_and_not_made_again_meanwhile() -> None:
    calls, end = [], threading.Event()

    def hang() -> int:
        calls.append(1)
        assert end.wait(MAX_WAIT_SECONDS)
        return len(calls)

    call = SingleFlight(hang)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            call.begin().result(0.01)
    assert calls == [1]
    pending = call.begin()
    end.set()
    assert pending.result(MAX_WAIT_SECONDS) == 1
    assert call.begin().result(MAX_WAIT_SECONDS) == 2
    with pytest.raises(ZeroDivisionError):
        call_with_timeout(MAX_WAIT_SECONDS, lambda: 1 // 0)
