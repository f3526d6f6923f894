"""Remove stored files that no row refers to.

They are the remains of uploads whose transaction did not commit, and prepared gold whose gold version is gone, whose
draft has changed, or which another version of the program prepared.
"""

import time
from collections.abc import Collection
from datetime import timedelta
from itertools import islice

import structlog

from app.files import FileStore
from app.prepared.gold_arrays import PROGRAM
from app.store import clock
from app.store.queries import prepared_gold
from app.store.queries.file_references import referenced_keys
from app.store.session import Database
from app.store.sweep_backup_lock import try_sweep_lock

log = structlog.get_logger()

SWEEP_BATCH_SIZE = 200
MIN_ORPHAN_AGE_SECONDS = 24 * 3600.0
RECHECK_SECONDS = 600.0  # far longer than an upload takes from the end of its file to its commit


class OrphanFileSweeper:
    """Removes orphan files, each time it is called.

    Young files are left alone, because an upload is a file before it is a row. As clocks that determine the age may be
    adjusted, a file is removed only if it had no row at two checks that are far apart by the monotonic clock.
    """

    def __init__(self, db: Database, files: FileStore) -> None:
        self._db = db
        self._files = files
        self._suspects: dict[str, float] = {}

    def sweep(self) -> int:
        """Remove files that were orphans at an earlier call too; returns their number."""
        orphans = self._find_orphans()
        now = time.monotonic()
        self._suspects = {key: self._suspects.get(key, now) for key in orphans}
        return self._remove([key for key, since in self._suspects.items() if now - since >= RECHECK_SECONDS])

    def sweep_at_start(self) -> int:
        """Remove all orphans at once; safe while no process accepts uploads."""
        return self._remove(self._find_orphans())

    def _find_orphans(self) -> list[str]:
        self._remove_outdated_rows()
        keys = iter(list(self._files.keys(older=MIN_ORPHAN_AGE_SECONDS)))
        orphans: list[str] = []
        while batch := list(islice(keys, SWEEP_BATCH_SIZE)):
            orphans += self._filter_orphans(batch)
        return orphans

    def _remove_outdated_rows(self) -> None:
        """Remove old rows of other program versions. One that still runs prepares again what it needs."""
        with self._db.read() as session:
            before = clock.now(session) - timedelta(seconds=MIN_ORPHAN_AGE_SECONDS)
            if not prepared_gold.has_outdated(session, PROGRAM, before):
                return
        with self._db.write() as session:
            prepared_gold.remove_outdated(session, PROGRAM, before)

    def _filter_orphans(self, keys: Collection[str]) -> list[str]:
        with self._db.read() as session:
            known = referenced_keys(session, keys)
        return [key for key in keys if key not in known]

    def _remove(self, orphans: Collection[str]) -> int:
        keys, removed = iter(orphans), 0
        while batch := list(islice(keys, SWEEP_BATCH_SIZE)):
            with try_sweep_lock(self._db) as allowed:
                if not allowed:
                    break
                for key in self._filter_orphans(batch):
                    self._files.delete(key)
                    self._suspects.pop(key, None)
                    removed += 1
        if removed:
            log.info("orphan_files_removed", count=removed)
        return removed
