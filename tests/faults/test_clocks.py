"""A clock that somebody sets, by a day forth and back: windows and quota days follow it, and nothing else does.

`calendar` shifts what the service takes for the present moment. `machine` sets the clock of its machine, as far as a
program can see one: `time.time` and `datetime.now`; on PostgreSQL that is not the clock that windows go by.
"""

import os
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.actions.access import Caller as Identity
from app.actions.accounts.bootstrap import get_or_create_administrator
from app.actions.accounts.issue_token import authenticate_token, issue_token
from app.actions.operations.sweep_files import OrphanFileSweeper
from app.actions.submissions.admission import only_open_phase
from app.actions.submissions.cancel_submission import cancel_submission
from app.actions.submissions.read_leaderboard import read_leaderboard
from app.actions.submissions.select_submission import select_submission
from app.api.limits.request_limits import RequestLimits
from app.errors import LeaderboardHidden, NoOpenPhase, PhaseClosed, TooManyRequests
from app.scoring import SCORER_VERSION
from app.store import clock as steady_clock
from app.store import types
from app.store.queries import users
from app.store.session import Database
from app.store.tables import Phase, ScoreTask, Submission
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.inspection import frozen_children
from tests.live_service import Caller, eventually, open_challenge
from tests.migrated_databases import migrate_by_copy
from tests.races.concurrent_clients import CORRECT_PREDICTIONS, GOLD
from tests.store.sample_rows import RowIds, fill_tables, submission

STEP = timedelta(days=1, hours=1)
LEASE = 5.0
KEY = {"Idempotency-Key": "k"}


@dataclass
class Clock:
    """What somebody sets."""

    of_machine: bool
    by: timedelta = field(default_factory=timedelta)
    true: Callable[[], float] = time.time

    def shifted(self, moment: datetime) -> datetime:
        """The moment that it shows."""
        return moment + self.by

    def time(self) -> float:
        """The same in seconds."""
        return self.true() + self.by.total_seconds()


@pytest.fixture
def clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock; with the parameter `machine` that of the whole process."""
    new_clock = Clock(of_machine=getattr(request, "param", "machine") == "machine")
    if new_clock.of_machine:

        class Shown(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return datetime.now(tz) + new_clock.by

        monkeypatch.setattr(types, "datetime", Shown)
        monkeypatch.setattr(time, "time", new_clock.time)
    return new_clock


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

    def away(self, submission: str) -> tuple[Path, Path]:
        """Where a file is that was taken away, and where it belongs."""
        with self.service.app.state.service.db.read() as session:
            query = text("SELECT file_key FROM submissions WHERE id = :one")
            path = self.uploads.parent / session.execute(query, {"one": submission}).scalar_one()
        return path.rename(path.with_name("taken away")), path


@pytest.mark.parametrize(
    ("kind", "clock"),
    [("sqlite", "machine"), ("postgresql", "calendar"), ("postgresql", "machine")],
    indirect=["clock"],
)
def test_a_step_of_a_day_moves_windows_and_quota_days_and_nothing_else(
    kind: str, clock: Clock, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    follows = kind == "sqlite" or not clock.of_machine
    settings: dict[str, Any] = {"heartbeat_seconds": LEASE / 4, "lease_seconds": LEASE}
    if kind == "postgresql":
        url = request.getfixturevalue("postgres_database")()
        settings |= {"database_url": url, "files_shared": True}
    with serve_app(app_settings(folder, **settings), now=None if clock.of_machine else clock.shifted) as service:
        scene = Scene(service, folder)
        with frozen_children(os.getpid()):
            running, waiting = (scene.send().json()["id"] for _ in range(2))
            eventually(lambda: scene.task(running)["status"] == "running", "one is being scored")
            moved, original = scene.away(waiting)
        eventually(lambda: scene.task(waiting)["interruptions"] >= 3, "the other waits for another try")
        refused = scene.send()
        assert refused.json()["code"] == "quota_exceeded"
        with frozen_children(os.getpid()):
            first = scene.send("short", **KEY).json()["id"]
            later = scene.send("short").json()["id"]
            eventually(lambda: "running" in {scene.task(one)["status"] for one in (first, later)}, "one is at work")
            for step in (STEP, -STEP):
                clock.by = step
                time.sleep(1.25 * LEASE if kind == "postgresql" else 0.2)  # no claim may be lost by then
                assert scene.blue.get("/me").status_code == 200
                assert scene.send("short", **KEY).json()["id"] == first
                assert (scene.send("short").status_code == 409) is follows
                answer = scene.send()
                assert (answer.status_code == 202) is follows, answer.text
                assert OrphanFileSweeper(service.app.state.service.db, service.app.state.service.files).sweep() == 0
                assert {scene.task(one)["attempt"] for one in (first, later)} <= {0, 1}
        moved.rename(original)
        everything = text("SELECT count(*) FROM score_tasks WHERE status <> 'done'")

        def done() -> bool:
            with service.app.state.service.db.read() as session:
                return bool(session.execute(everything).scalar_one() == 0)

        eventually(done, "no wait has become a day")
        for one in (running, first, later):
            assert scene.task(one) == {"status": "done", "attempt": 1, "crashes": 0, "interruptions": 0}


def close_phase_at(db: Database, moment: datetime) -> tuple[RowIds, str]:
    """A phase with a finished and a queued submission, whose board is shown after the close."""
    with db.write() as session:
        ids = fill_tables(session)
        phase = session.get_one(Phase, ids.phase)
        phase.leaderboard, phase.closes_at, phase.scorer_version = "after_close", moment, SCORER_VERSION
        session.get_one(Submission, ids.submission).status = "finished"
        session.query(ScoreTask).delete()
        late = submission(ids.phase, ids.team, ids.user, status="queued", submitted_at=moment)
        session.add(late)
        session.flush()
        return ids, late.id


def test_a_phase_takes_submissions_until_just_before_its_close(tmp_path: Path) -> None:
    close = datetime(2030, 1, 1, tzinfo=UTC)
    migrate_by_copy(app_settings(tmp_path))
    db = Database(app_settings(tmp_path), now=lambda _: close - timedelta(microseconds=1))
    ids, queued = close_phase_at(db, close)
    member = Identity(user_id=ids.user, scopes=frozenset({"read", "submit"}))
    with db.write() as session:
        assert only_open_phase(session, member, "pets", key=None) == "main"
        with pytest.raises(LeaderboardHidden):
            read_leaderboard(session, member, "pets", "main", split=None, metric=None)
        assert select_submission(session, member, ids.submission, selected=True, reason=None).submission.selected_at
        assert cancel_submission(session, member, queued).submission.status == "cancelled"
    db.close()


def test_at_its_close_a_phase_is_closed_and_its_board_is_shown(tmp_path: Path) -> None:
    close = datetime(2030, 1, 1, tzinfo=UTC)
    migrate_by_copy(app_settings(tmp_path))
    db = Database(app_settings(tmp_path), now=lambda _: close)
    ids, queued = close_phase_at(db, close)
    member = Identity(user_id=ids.user, scopes=frozenset({"read", "submit"}))
    with db.write() as session:
        with pytest.raises(NoOpenPhase):
            only_open_phase(session, member, "pets", key=None)
        with pytest.raises(PhaseClosed):
            select_submission(session, member, ids.submission, selected=True, reason=None)
        with pytest.raises(PhaseClosed):
            cancel_submission(session, member, queued)
        # The queued submission is from after the close, so the board does not wait for it.
        board = read_leaderboard(session, member, "pets", "main", split=None, metric=None)
        assert [row["submission"] for row in board["rows"]] == [ids.submission]
    db.close()


def test_a_token_lasts_its_days_whatever_the_calendar_shows(tmp_path: Path) -> None:
    migrate_by_copy(app_settings(tmp_path))
    for by in (-STEP, STEP):
        db = Database(app_settings(tmp_path), now=Clock(of_machine=False, by=by).shifted)
        with db.write() as session:
            get_or_create_administrator(session)
            user = users.administrator(session)
            assert user is not None
            token, secret = issue_token(session, user, scopes=["read"], days=1)
            assert authenticate_token(session, secret).user_id == user.id
            left = token.expires_at - steady_clock.steady(session)
            assert timedelta(hours=23) < left <= timedelta(days=1)
        db.close()


@pytest.mark.parametrize("by", [STEP, -STEP])
def test_a_limit_of_rate_lasts_its_time_whatever_the_clock_shows(clock: Clock, tmp_path: Path, by: timedelta) -> None:
    limiter = RequestLimits(app_settings(tmp_path, rate_limits="2/second"))
    for _ in range(2):
        limiter.count_request("user", "Blue")
    clock.by = by
    with pytest.raises(TooManyRequests) as refused:
        limiter.count_request("user", "Blue")
    assert refused.value.headers["Retry-After"] == "1"

    def again() -> bool:
        with suppress(TooManyRequests):
            limiter.count_request("user", "Blue")
            return True
        return False

    eventually(again, "a second has passed")


def test_ids_go_by_the_moment_that_they_are_made_of() -> None:
    moments = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=number) for number in range(0, 5000, 7)]
    ids = [types.id_at(moment) for moment in moments]
    assert ids == sorted(set(ids))
    for text_id, moment in zip(ids, moments, strict=True):
        read = uuid.UUID(text_id)
        assert (read.version, read.variant) == (7, uuid.RFC_4122)
        assert read.int >> 80 == int(moment.timestamp() * 1000)
