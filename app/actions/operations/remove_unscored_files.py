"""Remove the files of submissions that can never be scored, some days later, or once a team has sent too many bytes.

The row stays, with its problems and the hash of the file. Files of failed submissions stay too, as an organizer may
queue these again.
"""

from collections.abc import Sequence
from datetime import timedelta

import structlog

from app.files import FileStore
from app.settings import Settings
from app.store import clock, locks
from app.store.queries import unscored_files
from app.store.session import Database
from app.store.sweep_backup_lock import try_sweep_lock

log = structlog.get_logger()

BATCH_SIZE = 200


class UnscoredFiles:
    """Such files of an installation; one process at a time records what is to be removed.

    A call records what is removed and deletes the files that the call before it recorded: a download that began before
    has opened its file by then. What a process that ends leaves behind has no row any more, so the sweep deletes it.
    """

    def __init__(self, db: Database, files: FileStore, settings: Settings) -> None:
        self._db = db
        self._files = files
        self._kept_for = timedelta(days=settings.rejected_days)
        self._max_bytes = settings.rejected_bytes
        self._recorded: list[str] = []

    def remove_unscored(self) -> int:
        """Record and delete; returns how many files were recorded. Does nothing during a backup, which may copy them."""
        with try_sweep_lock(self._db) as allowed:
            if not allowed:
                return 0
            while self._recorded:
                self._files.delete(self._recorded[-1])
                self._recorded.pop()
            while found := self._find():
                recorded = self._record(found)
                self._recorded += recorded
                if not recorded:  # another process is at it
                    break
        if self._recorded:
            log.info("unscored_files_removed", count=len(self._recorded))
        return len(self._recorded)

    def _find(self) -> Sequence[str]:
        with self._db.read() as session:
            before = clock.now(session) - self._kept_for
            found = unscored_files.expired(session, before, BATCH_SIZE)
            return found or unscored_files.beyond_daily_bytes(session, self._max_bytes)[:BATCH_SIZE]

    def _record(self, ids: Sequence[str]) -> Sequence[str]:
        with self._db.write() as session:
            if not locks.try_maintenance(session):
                return ()
            return unscored_files.mark_removed(session, ids, clock.now(session))
