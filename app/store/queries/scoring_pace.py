"""How fast submissions are scored at present, to estimate when those that wait will be."""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select

from app.scoring.standings import round_significant
from app.store import clock
from app.store.queries import workers
from app.store.session import SCORING_SLOTS, SHARED_CACHE, ReadSession
from app.store.tables import ScoreTask
from app.task_priorities import SUBMISSION_PRIORITY

SAMPLE_SIZE = 50
PACE_DIGITS = 1
"""Significant digits of the mean duration, because durations depend on the gold and on the files of others.

Whoever polls an `eta` sees exactly when it changes to the next second, and a position far behind multiplies the mean.
"""
CACHE_SECONDS = 5.0
_CACHED_PACE = "scoring pace"  # key in the shared cache of the sessions of a database
_TASK = ScoreTask.__table__.c
# The index on status, priority and id gives the newest tasks; literals let SQLite see that it applies.
_NEWEST = (
    select(_TASK.started_at, _TASK.finished_at, clock.DatabaseTime())
    .where(_TASK.status == "done", _TASK.priority == SUBMISSION_PRIORITY)
    .where(_TASK.started_at.is_not(None), _TASK.finished_at.is_not(None))
    .order_by(_TASK.id.desc())
    .limit(SAMPLE_SIZE)
)


@dataclass(frozen=True, slots=True)
class ScoringPace:
    """The mean duration of recent scorings in seconds, to `PACE_DIGITS`, how many run at once, and when both were read.

    `read_at` is a time of the database, `counter` a reading of the monotonic clock at that moment.
    """

    mean_seconds: float
    slots: int
    read_at: datetime
    counter: float

    def seconds_until_scored(self, position: int) -> float:
        """Seconds until the task at this position of the queue is scored: until it starts, and its own scoring.

        An estimate: later submissions of others may be served first, and tasks differ in size.
        """
        return self.mean_seconds * (position / self.slots + 1)

    def eta(self, position: int) -> datetime:
        """When the task at this position will be scored, by the database's clock, which is not asked again."""
        elapsed = time.monotonic() - self.counter
        return self.read_at + timedelta(seconds=elapsed + self.seconds_until_scored(position))


def recent(session: ReadSession) -> ScoringPace | None:
    """The pace of the newest scored tasks; None before the first one, and while no worker is listed.

    Read every CACHE_SECONDS for all sessions of a database, because every reply about a queued submission needs it.
    """
    shared: dict[str, ScoringPace] = session.info.get(SHARED_CACHE, {})
    cached = shared.get(_CACHED_PACE)
    if cached is not None and time.monotonic() < cached.counter + CACHE_SECONDS:
        return cached
    pace = _read_pace(session)
    if pace is not None:
        shared[_CACHED_PACE] = pace
    return pace


def _read_pace(session: ReadSession) -> ScoringPace | None:
    slots = session.info.get(SCORING_SLOTS) or workers.slots(session)
    rows = session.connection().execute(_NEWEST).all()
    if not rows or not slots:
        return None
    seconds = [(end - start).total_seconds() for start, end, _ in rows]
    read_at = clock.reading(session, rows[-1][2]).now
    mean = round_significant(sum(seconds) / len(seconds), PACE_DIGITS)
    return ScoringPace(max(0.0, mean or 0.0), slots, read_at, time.monotonic())
