"""The lock between sweeping and backup.

A sweep deletes files that no row references. A backup copies the database first and the files later, so files that the
copied database references must survive until the end, even if their rows are deleted meanwhile. Sweeps share the lock;
a backup holds it exclusively.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import func, select

from app.errors import Unavailable
from app.store.session import Database

SWEEP_LOCK_KEY = 0x41535357
LOCK_TIMEOUT_SECONDS = 60.0  # for a running sweep to end, before a backup fails
LOCK_POLL_SECONDS = 0.1


@contextmanager
def try_sweep_lock(db: Database) -> Iterator[bool]:
    """Hold the shared lock during the block; yields False during a backup, since the next sweep can do the work."""
    with _lock(db, shared=True, seconds=0.0) as acquired:
        yield acquired


@contextmanager
def prevent_sweeping(db: Database) -> Iterator[None]:
    """Hold the exclusive lock during the block; raises Unavailable if a sweep does not end in time."""
    with _lock(db, shared=False, seconds=LOCK_TIMEOUT_SECONDS) as acquired:
        if not acquired:
            raise Unavailable("A sweep of files or another backup is running.")
        yield


@contextmanager
def _lock(db: Database, *, shared: bool, seconds: float) -> Iterator[bool]:
    lock = _file_lock if db.sqlite else _advisory_lock
    with lock(db, shared=shared, seconds=seconds) as acquired:
        yield acquired


@contextmanager
def _file_lock(db: Database, *, shared: bool, seconds: float) -> Iterator[bool]:
    """On SQLite, a lock file next to the database: the backup may run in another process."""
    database = Path(str(db.url.database))
    with database.with_name(f"{database.name}.sweeping").open("w") as file:
        if os.geteuid() == 0:  # a backup by root must not lock out the service's own account
            owner = database.stat()
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        deadline = time.monotonic() + seconds
        while True:  # flock cannot wait for a limited time
            try:
                fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    yield False
                    return
                time.sleep(LOCK_POLL_SECONDS)
            else:
                yield True
                return


@contextmanager
def _advisory_lock(db: Database, *, shared: bool, seconds: float) -> Iterator[bool]:
    """On PostgreSQL, an advisory lock of the session, not of a transaction.

    A backup takes long, and a transaction open for that time would be ended by its idle timeout and would hold back
    vacuum.
    """
    acquire = func.pg_try_advisory_lock_shared if shared else func.pg_try_advisory_lock
    release = func.pg_advisory_unlock_shared if shared else func.pg_advisory_unlock
    with db.engine().connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        deadline = time.monotonic() + seconds
        while not connection.scalar(select(acquire(SWEEP_LOCK_KEY))):
            if time.monotonic() >= deadline:
                yield False
                return
            time.sleep(LOCK_POLL_SECONDS)
        try:
            yield True
        finally:
            connection.execute(select(release(SWEEP_LOCK_KEY)))
