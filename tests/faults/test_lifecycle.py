"""Start and end of the service: one per data folder, an orderly end on SIGTERM, nothing left behind."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI

from app.settings import Settings
from app.store.migrate import upgrade
from app.web_server import uvicorn_config
from tests.faults.inspection import (
    CORRECT_PREDICTIONS,
    children_of,
    frozen_scoring,
    is_alive,
    open_pets_challenge,
    pid_of,
    query_rows,
    submission_status,
)
from tests.live_service import MAX_WAIT_SECONDS, Live, eventually
from tests.preloaded_service import SERVICE_COMMAND, start_service

PATIENCE_SECONDS = 5


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    service = Live(tmp_path_factory.mktemp("lifecycle") / "data", drain_seconds="3")
    service.program = list(SERVICE_COMMAND)  # the command itself, not a fork of one that is loaded
    service.copy_schema = False
    service.start()
    yield service
    service.kill()


def test_a_start_after_an_upgrade_logs_the_migration_and_keeps_the_old_database(tmp_path: Path) -> None:
    upgrade(Settings(data_dir=tmp_path / "data"), "0013")
    service = Live(tmp_path / "data")
    try:
        service.start()
        assert "database_migrated" in service.log()
        assert (service.data_dir / "assay.sqlite3.before-0013").exists()
    finally:
        service.kill()


def refused_start(port: int, data_dir: Path, log: Path) -> str:
    """Start a service that refuses to run; returns what it writes."""
    words = ["serve", "--port", str(port), "--data-dir", str(data_dir)]
    with log.open("wb") as file:
        process = start_service(SERVICE_COMMAND, words, env=os.environ, log=file)
    assert process.wait(timeout=MAX_WAIT_SECONDS) == 1
    return log.read_text()


def test_a_second_service_on_the_same_folder_refuses_and_the_first_goes_on(own: Live, tmp_path: Path) -> None:
    output = refused_start(0, own.data_dir, tmp_path / "log")
    assert "another service uses the data folder" in " ".join(output.split()).lower()
    assert "Traceback" not in output
    assert own.caller().get("/challenges").status_code == 200


def test_a_port_in_use_is_told_in_a_sentence_and_nothing_is_made(own: Live, tmp_path: Path) -> None:
    output = refused_start(own.port, tmp_path / "other", tmp_path / "log")
    assert f"cannot listen on 127.0.0.1 port {own.port}" in output
    assert "--port" in output
    assert sorted(path.name for path in (tmp_path / "other").iterdir()) == ["lock"]


def test_a_mistyped_setting_is_named_at_the_start_and_its_value_is_not(
    own: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_DATABSE_URL", "postgresql+psycopg://a:secret@host/db")
    output = refused_start(own.port, tmp_path / "mistyped", tmp_path / "log")
    assert '"variable": "ASSAY_DATABSE_URL", "event": "setting_unknown"' in output
    assert "secret" not in output


def test_a_connection_outlives_the_patience_of_usual_clients(tmp_path: Path) -> None:
    """They keep an idle one for 5 s: a service that closes it at that moment loses a request now and then."""
    assert uvicorn_config(FastAPI(), Settings(data_dir=tmp_path)).timeout_keep_alive > 2 * PATIENCE_SECONDS


def test_asked_to_end_it_finishes_or_gives_back_its_work_and_clears_up_at_the_next_start(own: Live) -> None:
    blue = open_pets_challenge(own)
    sent = [blue.submit("pets", CORRECT_PREDICTIONS, wait=0, method=f"m{number}").json()["id"] for number in range(8)]
    assert own.process is not None
    process, children = own.process, children_of(pid_of(own))
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=MAX_WAIT_SECONDS) == 0, own.log()[-2000:]
    assert not any(map(is_alive, children))
    assert "Traceback" not in own.log()
    statuses = dict(query_rows(own, "SELECT id, status FROM submissions"))
    assert statuses.keys() == set(sent)
    assert set(statuses.values()) <= {"finished", "queued"}

    part = own.data_dir / "files" / "uploads" / "0123.part"
    part.write_bytes(b"half")
    own.program = SERVICE_COMMAND
    own.start()
    assert not part.exists()
    again = own.caller(blue.headers["Authorization"].removeprefix("Bearer "))
    eventually(lambda: all(submission_status(again, each) == "finished" for each in sent), "everything is finished")
    assert query_rows(own, "SELECT count(*) FROM scores") == [(8,)]


def test_work_that_does_not_end_in_time_is_given_back_when_it_is_asked_to_end(own: Live) -> None:
    admin = own.admin()
    with frozen_scoring(own) as children:
        pending = admin.submit("pets", CORRECT_PREDICTIONS, wait=0, team="Late").json()["id"]
        eventually(lambda: submission_status(admin, pending) == "running", "the submission is being scored")
        assert own.process is not None
        process = own.process
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=MAX_WAIT_SECONDS) == 0, own.log()[-2000:]
    assert not any(map(is_alive, children))
    own.program = list(SERVICE_COMMAND)
    own.start()
    eventually(lambda: submission_status(own.admin(), pending) == "finished", "it is finished in the next life")
    assert query_rows(own, f"SELECT interruptions, crashes FROM score_tasks WHERE submission_id = '{pending}'") == [
        (1, 0)
    ]


def test_interrupted_from_the_keyboard_it_ends_in_order(own: Live) -> None:
    assert own.process is not None
    process, children = own.process, children_of(pid_of(own))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=MAX_WAIT_SECONDS) == 130
    assert not any(map(is_alive, children))
    assert "Traceback" not in own.log()
