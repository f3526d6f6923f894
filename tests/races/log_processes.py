"""Sequencers of the transparency log as processes that are killed at every point, or that compete.

Started as `python -m tests.races.log_processes`, with the settings in the environment. It forks each
sequencer, so that a hundred of them start as fast as one; nothing else runs in this process.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from sqlalchemy import event, select

from app.actions.transparency.add_record import add_record
from app.actions.transparency.sequence_records import is_up_to_date, sequence
from app.settings import Settings
from app.store.session import Database
from app.store.tables import LogCheckpoint, LogOrigin, LogRecord
from app.tlog.checkpoint import read_checkpoint
from tests.live_service import eventually
from tests.tlog.recursive_tree import mth

COMPETITORS, ROUNDS, RECORDS = 3, 5, 10


def add(db: Database, *names: str) -> None:
    """Store a record about each object in one transaction."""
    with db.write() as session:
        for name in names:
            add_record(session, "audit", {"name": name}, challenge_id=None, object_id=name)


def require_sound(db: Database, *, complete: bool = False) -> int:
    """Positions have no gap, and each checkpoint has the root of its entries; with `complete` nothing waits."""
    with db.read() as session:
        (origin,) = session.scalars(select(LogOrigin)).all() or (None,)
        if origin is None:
            return 0
        placed = session.execute(
            select(LogRecord.position, LogRecord.entry)
            .where(LogRecord.origin_id == origin.id)
            .order_by(LogRecord.position)
        ).all()
        notes = session.scalars(select(LogCheckpoint.note).order_by(LogCheckpoint.size)).all()
        waiting = session.scalars(select(LogRecord.id).where(LogRecord.position.is_(None))).all()
    assert [row[0] for row in placed] == list(range(len(placed)))
    entries = [bytes.fromhex(row[1]) for row in placed]
    sizes = []
    for note in notes:
        checkpoint = read_checkpoint(note)[1]
        assert checkpoint.root == mth(entries[: checkpoint.size])
        sizes.append(checkpoint.size)
    assert len(sizes) == len(set(sizes))
    if complete:
        assert not waiting
        assert sizes[-1] == len(entries)
    return len(entries)


def forked(work: Callable[[], object]) -> int:
    """Run this in a process of its own; returns its id."""
    child = os.fork()
    if child:
        return child
    work()
    os._exit(0)


def status_of(child: int) -> int:
    """How a process ended: 0, or the negative number of the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def sequence_until_killed(settings: Settings, point: int) -> None:
    """One round, killed before its statement or commit number `point`."""
    db, count = Database(settings), 0

    def advance(*_: Any, **__: Any) -> None:
        nonlocal count
        count += 1
        if count == point:
            os.kill(os.getpid(), signal.SIGKILL)

    engine = db.engine()
    for name in ("before_cursor_execute", "commit"):
        event.listen(engine, name, advance)
    sequence(db, settings, first=True)


def kill_everywhere(settings: Settings) -> None:
    """Kill a round before each of its statements and commits in turn, until one is through."""
    point = 0
    while True:
        point += 1
        db = Database(settings)
        add(db, f"record {point}")
        db.close()
        status = status_of(forked(lambda: sequence_until_killed(settings, point)))  # noqa: B023 - run now
        db = Database(settings)
        require_sound(db)
        if status == 0:
            assert require_sound(db, complete=True) == point + 1
            sys.stdout.write(f"killed at {point - 1} points\n")
            return
        assert status == -signal.SIGKILL
        db.close()


def is_complete(db: Database, settings: Settings) -> bool:
    """Whether a further round has left nothing to do."""
    sequence(db, settings, first=True)
    with db.read() as session:
        return is_up_to_date(session)


def compete(settings: Settings) -> None:
    """Several sequencers at once, while records arrive whose ids are older than those of the others."""

    def work() -> None:
        db = Database(settings)
        for _ in range(ROUNDS):
            sequence(db, settings, first=True)

    db = Database(settings)
    before = require_sound(db)
    db.close()
    children = [forked(work) for _ in range(COMPETITORS)]
    db = Database(settings)
    if db.sqlite:
        for number in range(RECORDS):
            add(db, f"record {number}")
    else:
        late = db.write()
        with late as session:  # its record has the smallest id, and is committed after all others have positions
            add_record(session, "audit", {"name": "late"}, challenge_id=None, object_id="late")
            session.flush()
            for number in range(RECORDS - 1):
                add(db, f"record {number}")
            sequence(db, settings, first=True)
    os.kill(children[0], signal.SIGKILL)
    assert [status_of(child) for child in children][1:] == [0] * (COMPETITORS - 1)
    eventually(lambda: is_complete(db, settings), "the log is complete")  # the lock of a killed one is freed soon
    assert require_sound(db, complete=True) == before + RECORDS
    sys.stdout.write("sound\n")


if __name__ == "__main__":
    kill_everywhere(Settings())
    compete(Settings())
