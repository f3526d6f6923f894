"""Whether stored files may be swept now: a backup keeps every file that its copy of the database names."""

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
LOCK_TIMEOUT_SECONDS = 60.0  # seconds that a backup waits for a sweep at work
LOCK_POLL_SECONDS = 0.1


@contextmanager
def try_sweep_lock(db: Database) -> Iterator[bool]:
    """Hold the right to sweep while the block lasts; gives False when a backup is being made."""
    with _lock(db, shared=True, seconds=0.0) as held:
        yield held


@contextmanager
def prevent_sweeping(db: Database) -> Iterator[None]:
    """Keep every sweeper away while the block lasts; raises Unavailable when one does not end."""
    with _lock(db, shared=False, seconds=LOCK_TIMEOUT_SECONDS) as held:
        if not held:
            raise Unavailable("Files are being swept, or another backup is being made.")
        yield


@contextmanager
def _lock(db: Database, *, shared: bool, seconds: float) -> Iterator[bool]:
    with _file_lock(db, shared=shared, seconds=seconds) if db.sqlite else _advisory_lock(db, shared, seconds) as held:
        yield held


@contextmanager
def _file_lock(db: Database, *, shared: bool, seconds: float) -> Iterator[bool]:
    """On SQLite: a lock file beside the database; another program may make the backup."""
    database = Path(str(db.url.database))
    with database.with_name(f"{database.name}.sweeping").open("w") as file:
        if os.geteuid() == 0:  # a backup made by root must not shut the service's own account out
            owner = database.stat()
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
        deadline = time.monotonic() + seconds
        while True:
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
def _advisory_lock(db: Database, shared: bool, seconds: float) -> Iterator[bool]:
    """On PostgreSQL: a lock of the connection, outside any transaction, for a backup takes its time."""
    take = func.pg_try_advisory_lock_shared if shared else func.pg_try_advisory_lock
    give = func.pg_advisory_unlock_shared if shared else func.pg_advisory_unlock
    with db.engine().connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        deadline = time.monotonic() + seconds
        while not connection.scalar(select(take(SWEEP_LOCK_KEY))):
            if time.monotonic() >= deadline:
                yield False
                return
            time.sleep(LOCK_POLL_SECONDS)
        try:
            yield True
        finally:
            connection.execute(select(give(SWEEP_LOCK_KEY)))
