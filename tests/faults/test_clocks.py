"""A clock that somebody sets, by a day forth and back: windows and quota days follow it, and nothing else does.

`calendar` shifts what the service takes for the present moment. `machine` sets the clock of its machine, as far as a
program can see one: `time.time` and `datetime.now`; on PostgreSQL that is not the clock that windows go by.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.actions.operations.sweep_files import OrphanFileSweeper
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.inspection import frozen_children
from tests.live_service import Caller, eventually, open_challenge
from tests.races.concurrent_clients import CORRECT_PREDICTIONS, GOLD
from tests.settle import settle
from tests.store.test_fault_clocks import STEP, settable_clock

LEASE = 60.0
HEARTBEAT = 0.2
REAP_SECONDS = 0.05  # as often a worker looks for leases that have run out: several times between three heartbeats
KEY = {"Idempotency-Key": "k"}


class Scene:
    """A service with work in every state: being scored, in the queue, and waiting for another try."""

    def __init__(self, service: ServedApp, folder: Path) -> None:
        self.service = service
        self.uploads = folder / "files" / "uploads"
        hour = timedelta(hours=1)
        opens, closes = ((datetime.now(UTC) + each).isoformat() for each in (-hour, hour))
        long_ago = (datetime.now(UTC) - 9 * STEP).isoformat()
        phases = [
            {"name": "main", "opens_at": long_ago, "quota": {"per_day": 2}},
            {"name": "short", "opens_at": opens, "closes_at": closes},
        ]
        open_challenge(service.admin(), "pets", GOLD, phases=phases)
        body = {"email": "blue@example.org", "name": "Blue", "password": "a password for tests"}
        service.admin().post("/users", json=body).raise_for_status()
        answer = service.caller().post("/tokens", json={name: body[name] for name in ("email", "password")})
        self.blue: Caller = service.caller(answer.json()["token"]).join("pets", "Blue")
        service.admin().submit("pets", CORRECT_PREDICTIONS, team="First")  # so that the scoring process has started

    def send(self, phase: str = "main", **headers: str) -> Any:
        """Submit, without waiting."""
        return self.blue.post(f"/challenges/pets/phases/{phase}/submissions", json=CORRECT_PREDICTIONS, headers=headers)

    def task(self, submission: str) -> dict[str, Any]:
        """Its row of the work list."""
        query = text("SELECT status, attempt, crashes, interruptions FROM score_tasks WHERE submission_id = :one")
        with self.service.app.state.service.db.read() as session:
            return dict(session.execute(query, {"one": submission}).mappings().one())

    def wait_for_heartbeats(self, count: int) -> None:
        """Wait until the worker has given so many signs of life."""
        seen = {self._heartbeat()}

        def has_beaten() -> bool:
            seen.add(self._heartbeat())
            return len(seen) > count

        eventually(has_beaten, f"{count} signs of life")

    def _heartbeat(self) -> object:
        with self.service.app.state.service.db.read() as session:
            return session.execute(text("SELECT max(heartbeat_at) FROM workers")).scalar()

    def away(self, submission: str) -> tuple[Path, Path]:
        """Where a file is that was taken away, and where it belongs."""
        with self.service.app.state.service.db.read() as session:
            query = text("SELECT file_key FROM submissions WHERE id = :one")
            path = self.uploads.parent / session.execute(query, {"one": submission}).scalar_one()
        return path.rename(path.with_name("taken away")), path


@pytest.mark.parametrize(
    ("kind", "clock_of"), [("sqlite", "machine"), ("postgresql", "calendar"), ("postgresql", "machine")]
)
def test_a_step_of_a_day_moves_windows_and_quota_days_and_nothing_else(
    kind: str, clock_of: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("app.worker.worker.REAP_SECONDS", REAP_SECONDS)
    clock = settable_clock(monkeypatch, of_machine=clock_of == "machine")
    folder = tmp_path / "data"
    follows = kind == "sqlite" or not clock.of_machine
    settings: dict[str, Any] = {"heartbeat_seconds": HEARTBEAT, "lease_seconds": LEASE}
    if kind == "postgresql":
        url = request.getfixturevalue("postgres_database")()
        settings |= {"database_url": url, "files_shared": True}
    with serve_app(app_settings(folder, **settings), now=None if clock.of_machine else clock.shifted) as service:
        scene = Scene(service, folder)
        with frozen_children(os.getpid()):
            running, waiting = (scene.send().json()["id"] for _ in range(2))
            eventually(lambda: scene.task(running)["status"] == "running", "one is being scored")
            moved, original = scene.away(waiting)
        eventually(lambda: scene.task(waiting)["interruptions"] >= 2, "the other waits for another try")
        refused = scene.send()
        assert refused.json()["code"] == "quota_exceeded"
        with frozen_children(os.getpid()):
            first = scene.send("short", **KEY).json()["id"]
            later = scene.send("short").json()["id"]
            eventually(lambda: "running" in {scene.task(one)["status"] for one in (first, later)}, "one is at work")
            for step in (STEP, -STEP):
                clock.by = step
                if kind == "postgresql":
                    scene.wait_for_heartbeats(3)  # among which leases that have run out are looked for
                assert scene.blue.get("/me").status_code == 200
                assert scene.send("short", **KEY).json()["id"] == first
                assert (scene.send("short").status_code == 409) is follows
                answer = scene.send()
                assert (answer.status_code == 202) is follows, answer.text
                assert OrphanFileSweeper(service.app.state.service.db, service.app.state.service.files).sweep() == 0
                assert {scene.task(one)["attempt"] for one in (first, later)} <= {0, 1}
        moved.rename(original)
        eventually(lambda: scene.task(waiting)["status"] == "done", "no wait has become a day")
        settle(service)
        for one in (running, first, later):
            assert scene.task(one) == {"status": "done", "attempt": 1, "crashes": 0, "interruptions": 0}
