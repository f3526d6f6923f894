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

NUMBER = 0x41535357
PATIENCE = 60.0  # seconds that a backup waits for a sweep at work
LOOK = 0.1


@contextmanager
def sweeping(db: Database) -> Iterator[bool]:
    """Hold the right to sweep while the block lasts; gives False when a backup is being made."""
    with _held(db, shared=True, seconds=0.0) as held:
        yield held


@contextmanager
def no_sweeping(db: Database) -> Iterator[None]:
    """Keep every sweeper away while the block lasts; raises Unavailable when one does not end."""
    with _held(db, shared=False, seconds=PATIENCE) as held:
        if not held:
            raise Unavailable("Files are being swept, or another backup is being made.")
        yield


@contextmanager
def _held(db: Database, *, shared: bool, seconds: float) -> Iterator[bool]:
    with _file_lock(db, shared=shared, seconds=seconds) if db.sqlite else _advisory(db, shared, seconds) as held:
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
                time.sleep(LOOK)
            else:
                yield True
                return


@contextmanager
def _advisory(db: Database, shared: bool, seconds: float) -> Iterator[bool]:
    """On PostgreSQL: a lock of the connection, outside any transaction, for a backup takes its time."""
    take = func.pg_try_advisory_lock_shared if shared else func.pg_try_advisory_lock
    give = func.pg_advisory_unlock_shared if shared else func.pg_advisory_unlock
    with db.engine().connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        deadline = time.monotonic() + seconds
        while not connection.scalar(select(take(NUMBER))):
            if time.monotonic() >= deadline:
                yield False
                return
            time.sleep(LOOK)
        try:
            yield True
        finally:
            connection.execute(select(give(NUMBER)))
