"""A clock that somebody sets, seen by the actions: windows go by it, and tokens, limits of rate and ids do not.

`machine` sets the clock of its machine, as far as a program can see one: `time.time` and `datetime.now`.
"""

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.actions.access import Caller as Identity
from app.actions.accounts.bootstrap import get_or_create_administrator
from app.actions.accounts.issue_token import authenticate_token, issue_token
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
from tests.api.in_process_app import app_settings
from tests.live_service import eventually
from tests.migrated_databases import migrate_by_copy
from tests.store.sample_rows import RowIds, fill_tables, submission

STEP = timedelta(days=1, hours=1)


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


def settable_clock(monkeypatch: pytest.MonkeyPatch, *, of_machine: bool) -> Clock:
    """A clock; perhaps that of the whole process, until the end of the test."""
    new_clock = Clock(of_machine)
    if of_machine:

        class Shown(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return datetime.now(tz) + new_clock.by

        monkeypatch.setattr(types, "datetime", Shown)
        monkeypatch.setattr(time, "time", new_clock.time)
    return new_clock


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
def test_a_limit_of_rate_lasts_its_time_whatever_the_clock_shows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, by: timedelta
) -> None:
    clock = settable_clock(monkeypatch, of_machine=True)
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
