"""How fast submissions are scored at present, to estimate when those that wait will be."""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select

from app.scoring.standings import round_significant
from app.store.queries import workers
from app.store.session import SCORING_SLOTS, SHARED_CACHE, ReadSession
from app.store.tables import ScoreTask
from app.task_priorities import SUBMISSION_PRIORITY

SAMPLE_SIZE = 50
PACE_DIGITS = 1
"""Significant digits of the mean duration, because durations depend on the gold and on the files of others.

Whoever polls an `eta` sees exactly when it changes to the next second, and a position far behind multiplies the mean.
"""
CACHE_SECONDS = 1.0
_CACHED_PACE = "scoring pace"  # key in the shared cache of the sessions of a database
_TASK = ScoreTask.__table__.c
# The index on status, priority and id gives the newest tasks; literals let SQLite see that it applies.
_NEWEST = (
    select(_TASK.started_at, _TASK.finished_at)
    .where(_TASK.status == "done", _TASK.priority == SUBMISSION_PRIORITY)
    .where(_TASK.started_at.is_not(None), _TASK.finished_at.is_not(None))
    .order_by(_TASK.id.desc())
    .limit(SAMPLE_SIZE)
)


@dataclass(frozen=True, slots=True)
class ScoringPace:
    """The mean duration of recent scorings in seconds, to `PACE_DIGITS`, and how many run at once."""

    mean_seconds: float
    slots: int

    def seconds_until_scored(self, position: int) -> float:
        """Seconds until the task at this position of the queue is scored: until it starts, and its own scoring.

        An estimate: later submissions of others may be served first, and tasks differ in size.
        """
        return self.mean_seconds * (position / self.slots + 1)

    def eta(self, now: datetime, position: int) -> datetime:
        """When the task at this position will be scored."""
        return now + timedelta(seconds=self.seconds_until_scored(position))


def recent(session: ReadSession) -> ScoringPace | None:
    """The pace of the newest scored tasks; None before the first one, and while no worker is listed.

    Read once a second for all sessions of a database, because every reply about a queued submission needs it.
    """
    shared: dict[str, tuple[float, ScoringPace]] = session.info.get(SHARED_CACHE, {})
    cached = shared.get(_CACHED_PACE)
    if cached is not None and time.monotonic() < cached[0] + CACHE_SECONDS:
        return cached[1]
    pace = _read_pace(session)
    if pace is not None:
        shared[_CACHED_PACE] = (time.monotonic(), pace)
    return pace


def _read_pace(session: ReadSession) -> ScoringPace | None:
    slots = session.info.get(SCORING_SLOTS) or workers.slots(session)
    seconds = [(end - start).total_seconds() for start, end in session.connection().execute(_NEWEST)]
    if not (seconds and slots):
        return None
    mean = round_significant(sum(seconds) / len(seconds), PACE_DIGITS)
    return ScoringPace(max(0.0, mean or 0.0), slots)
