"""Start and end of the service: one per data folder, an orderly end on SIGTERM, nothing left behind."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.support import GOOD, alive, children_of, eventually, pid_of, prepared, rows, status_of
from tests.live import ROOT, Live


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Live]:
    service = Live(tmp_path / "data").start()
    yield service
    service.kill()


def test_a_second_service_on_the_same_folder_refuses_and_the_first_goes_on(own: Live) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "app.cli", "serve", "--port", "0", "--data-dir", str(own.data_dir)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert second.returncode == 1
    assert "another service uses the data folder" in " ".join(second.stderr.split())
    assert "Traceback" not in second.stderr
    assert own.caller().get("/challenges").status_code == 200


@pytest.mark.parametrize(("how", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_asked_to_end_it_finishes_or_gives_back_its_work(own: Live, how: signal.Signals, status: int) -> None:
    blue = prepared(own)
    sent = [blue.submit("pets", GOOD, wait=0, method=f"m{number}").json()["id"] for number in range(8)]
    assert own.process is not None
    process, children = own.process, children_of(pid_of(own))
    process.send_signal(how)
    assert process.wait(timeout=60) == status, own.log()[-2000:]
    assert not any(map(alive, children))
    assert "Traceback" not in own.log()
    statuses = dict(rows(own, "SELECT id, status FROM submissions"))
    assert statuses.keys() == set(sent)
    assert set(statuses.values()) <= {"finished", "queued"}

    own.start()
    again = own.caller(blue.headers["Authorization"].removeprefix("Bearer "))
    eventually(lambda: all(status_of(again, each) == "finished" for each in sent), "everything is finished")
    assert rows(own, "SELECT count(*) FROM scores") == [(8,)]


def test_what_an_earlier_life_left_in_the_making_is_cleared_at_start(own: Live) -> None:
    own.stop()
    part = own.data_dir / "files" / "uploads" / "0123.part"
    scratch = own.data_dir / "files" / "scratch" / "4567"
    for path in (part, scratch):
        path.write_bytes(b"half")
    own.start()
    assert not part.exists()
    assert not scratch.exists()


def test_a_weak_administrators_token_is_refused_with_status_1(tmp_path: Path) -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "app.cli", "serve", "--port", "0", "--data-dir", str(tmp_path / "data")],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "ASSAY_ADMIN_TOKEN": "short-secret"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refused.returncode == 1
    assert "at least 32" in " ".join(refused.stderr.split())
    assert "short-secret" not in refused.stderr
