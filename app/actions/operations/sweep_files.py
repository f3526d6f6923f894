"""Remove stored files that no row points to: what is left of uploads whose transaction did not come to be."""

import time
from collections.abc import Collection
from itertools import islice

import structlog

from app.files import FileStore
from app.store.queries.file_references import referenced_keys
from app.store.session import Database
from app.store.sweep_lock import try_sweep_lock

log = structlog.get_logger()

SWEEP_BATCH_SIZE = 200
MIN_ORPHAN_AGE_SECONDS = 24 * 3600.0  # seconds
RECHECK_SECONDS = 600.0  # far longer than an upload takes from its file to its row


class OrphanFileSweeper:
    """Sweeps again and again.

    Young files stay, for an upload is a file before it is a row. As the age goes by clocks that somebody may set, a
    file is removed only when it had no row on two looks that lie apart by the counter of this process.
    """

    def __init__(self, db: Database, files: FileStore) -> None:
        self._db = db
        self._files = files
        self._suspects: dict[str, float] = {}

    def sweep(self) -> int:
        """How many files were removed."""
        found = self._find_orphans()
        now = time.monotonic()
        self._suspects = {key: self._suspects.get(key, now) for key in found}
        return self._remove([key for key, since in self._suspects.items() if now - since >= RECHECK_SECONDS])

    def sweep_at_start(self) -> int:
        """The same for a service that is alone and has not begun to take uploads: one look is enough."""
        return self._remove(self._find_orphans())

    def _find_orphans(self) -> list[str]:
        keys = iter(list(self._files.keys(older=MIN_ORPHAN_AGE_SECONDS)))
        found: list[str] = []
        while batch := list(islice(keys, SWEEP_BATCH_SIZE)):
            found += self._filter_orphans(batch)
        return found

    def _filter_orphans(self, keys: Collection[str]) -> list[str]:
        with self._db.read() as session:
            known = referenced_keys(session, keys)
        return [key for key in keys if key not in known]

    def _remove(self, doubtful: Collection[str]) -> int:
        keys, removed = iter(doubtful), 0
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
