"""Remove stored files that no row points to: what is left of uploads whose transaction did not come to be."""

import time
from collections.abc import Collection
from itertools import islice

import structlog

from app.files import Files
from app.store.queries.file_references import with_rows
from app.store.session import Database
from app.store.sweep_lock import sweeping

log = structlog.get_logger()

BATCH = 200
DAY = 24 * 3600.0  # seconds
SECOND_LOOK = 600.0  # far longer than an upload takes from its file to its row


class Sweeper:
    """Sweeps again and again.

    Young files stay, for an upload is a file before it is a row. As the age goes by clocks that somebody may set, a
    file is removed only when it had no row on two looks that lie apart by the counter of this process.
    """

    def __init__(self, db: Database, files: Files) -> None:
        self._db = db
        self._files = files
        self._suspects: dict[str, float] = {}

    def sweep(self) -> int:
        """How many files were removed."""
        found = self._without_row()
        now = time.monotonic()
        self._suspects = {key: self._suspects.get(key, now) for key in found}
        return self._remove([key for key, since in self._suspects.items() if now - since >= SECOND_LOOK])

    def sweep_at_start(self) -> int:
        """The same for a service that is alone and has not begun to take uploads: one look is enough."""
        return self._remove(self._without_row())

    def _without_row(self) -> list[str]:
        keys = iter(list(self._files.keys(older=DAY)))
        found: list[str] = []
        while batch := list(islice(keys, BATCH)):
            found += self._orphans(batch)
        return found

    def _orphans(self, keys: Collection[str]) -> list[str]:
        with self._db.read() as session:
            known = with_rows(session, keys)
        return [key for key in keys if key not in known]

    def _remove(self, doubtful: Collection[str]) -> int:
        keys, removed = iter(doubtful), 0
        while batch := list(islice(keys, BATCH)):
            with sweeping(self._db) as allowed:
                if not allowed:
                    break
                for key in self._orphans(batch):
                    self._files.delete(key)
                    self._suspects.pop(key, None)
                    removed += 1
        if removed:
            log.info("orphan_files_removed", count=removed)
        return removed
