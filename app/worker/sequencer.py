"""Extends the transparency log every few seconds, and asks witnesses to cosign its checkpoints."""

import time

import structlog

from app.actions.transparency.log_key import LogKeyUnusable
from app.actions.transparency.sequence_records import LogDamaged, sequence
from app.actions.transparency.witnesses import Witnesses
from app.runtime.periodic_jobs import PeriodicJobs
from app.settings import Settings
from app.store.session import Database

log = structlog.get_logger()

ROUND_SECONDS = 1.0
SHARE = 0.004
"""The share of the time that rounds may take: one costs some milliseconds, however few records wait."""
MAX_PAUSE_SECONDS = 5.0
REFUSED_ROUNDS = 60  # rounds between two log lines about a log that cannot be continued


class Sequencer:
    """Of several processes with the key, one at a time extends the log."""

    def __init__(self, settings: Settings, db: Database) -> None:
        """Nothing happens before the jobs run."""
        self._settings = settings
        self._db = db
        self._is_first_round = True
        self._refused = 0
        self._next_round = 0.0
        self._witnesses = Witnesses(db, settings)

    def start(self, jobs: PeriodicJobs) -> None:
        """Sequence from now on, and beside it post checkpoints to witnesses."""
        seconds = self._settings.background_pace * ROUND_SECONDS
        jobs.every(seconds, self.sequence_waiting)
        if self._witnesses.configured:
            jobs.every(seconds, self._witnesses.cosign_latest)

    def sequence_waiting(self) -> None:
        """Give positions to all records that wait, unless the last round was a moment ago."""
        began = time.monotonic()
        if began < self._next_round:
            return
        try:
            while sequence(self._db, self._settings, first=self._is_first_round):
                pass
            self._is_first_round, self._refused = False, 0
        except (LogDamaged, LogKeyUnusable) as error:
            if self._refused % REFUSED_ROUNDS == 0:
                log.error("log_not_sequenced", code=error.code, reason=error.detail, remedy=error.advice)  # noqa: TRY400
            self._refused += 1
        ended = time.monotonic()
        self._next_round = ended + self._settings.background_pace * min(MAX_PAUSE_SECONDS, (ended - began) / SHARE)
