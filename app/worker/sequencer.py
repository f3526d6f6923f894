"""Extends the transparency log every two seconds, and asks witnesses to cosign its checkpoints."""

import structlog

from app.actions.transparency.log_key import LogKeyUnusable
from app.actions.transparency.sequence_records import LogDamaged, sequence
from app.actions.transparency.witnesses import Witnesses
from app.runtime.periodic_jobs import PeriodicJobs
from app.settings import Settings
from app.store.session import Database

log = structlog.get_logger()

ROUND_SECONDS = 2.0  # a round costs some milliseconds, however few records wait
REFUSED_ROUNDS = 60  # rounds between two log lines about a log that cannot be continued


class Sequencer:
    """Of several processes with the key, one at a time extends the log."""

    def __init__(self, settings: Settings, db: Database) -> None:
        """Nothing happens before the jobs run."""
        self._settings = settings
        self._db = db
        self._is_first_round = True
        self._refused = 0
        self._witnesses = Witnesses(db, settings)

    def start(self, jobs: PeriodicJobs) -> None:
        """Sequence from now on, and beside it post checkpoints to witnesses."""
        jobs.every(ROUND_SECONDS, self.sequence_waiting)
        if self._witnesses.configured:
            jobs.every(ROUND_SECONDS, self._witnesses.cosign_latest)

    def sequence_waiting(self) -> None:
        """Give positions to all records that wait."""
        try:
            while sequence(self._db, self._settings, first=self._is_first_round):
                pass
            self._is_first_round, self._refused = False, 0
        except (LogDamaged, LogKeyUnusable) as error:
            if self._refused % REFUSED_ROUNDS == 0:
                log.error("log_not_sequenced", code=error.code, reason=error.detail, remedy=error.advice)  # noqa: TRY400
            self._refused += 1
