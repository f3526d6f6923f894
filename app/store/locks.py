"""Named transaction locks: each is held until its transaction ends.

On SQLite there is only one writer at a time, so every lock is already held. On PostgreSQL they are advisory locks, each
taken before the rows that it protects are written. If two names hash to the same number, a transaction waits longer
than needed, but nothing breaks.

A transaction takes the locks in the order of this file. With one order for all, no two wait for each other.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Select, bindparam, func, select

from app.store import clock
from app.store.clock import ClockReading
from app.store.session import ReadSession, WriteSession

CHALLENGE = "challenge"


def challenge(session: ReadSession, slug: str, *, shared: bool = False) -> None:
    """Lock a challenge: exclusive for changes by organizers, shared for submissions, which must not see half a change.

    A read session needs no lock, because it reads one snapshot. A transaction that already holds the lock keeps its
    mode: upgrading a shared lock would deadlock with another holder that upgrades too.
    """
    if isinstance(session, WriteSession) and CHALLENGE not in session.info:
        session.info[CHALLENGE] = slug
        _acquire(session, CHALLENGE, slug, shared=shared)


def try_submission(session: WriteSession, slug: str, user_id: str, key: str | None) -> bool:
    """Lock the challenge for a submission, shared, and its Idempotency-Key, in one statement.

    Returns False while another request holds the key. Once that request has committed, the key names the submission
    that it stored.
    """
    assert CHALLENGE not in session.info
    session.info[CHALLENGE] = slug
    names = {"challenge": (CHALLENGE, slug)} | ({} if key is None else {"key": ("key", user_id, key)})
    locked = _run(session, _LOCK_SUBMISSION if key is None else _LOCK_SUBMISSION_AND_KEY, names)
    return key is None or locked is None or bool(locked[1])


def copies(session: WriteSession, line: str) -> None:
    """Lock a line of copies, which share their gold: nobody takes part in one while becoming an organizer of another."""
    _acquire(session, "copies", line)


def accounts(session: WriteSession) -> None:
    """Lock who may act on the site: whether an administrator or an owner is the last one depends on other accounts."""
    _acquire(session, "accounts")


def team_names(session: WriteSession, challenge_id: str) -> None:
    """Lock the team names of a challenge: whether a new name is free depends on all of them, not on one row."""
    _acquire(session, "team names", challenge_id)


def team(session: WriteSession, phase_id: str, team_id: str) -> None:
    """Lock a team's quota in a phase: the count must not change until the reservation is stored."""
    _acquire(session, "team", phase_id, team_id)


def lane(session: WriteSession, name: str) -> None:
    """Lock a lane of the work list, so that two tasks added at the same time get different turns."""
    _acquire(session, "lane", name)


def team_and_lane(session: WriteSession, phase_id: str, team_id: str, lane_name: str) -> ClockReading:
    """Lock a team's quota, then a lane, in one statement; returns the time after both waits.

    So timestamps order a team's submissions.
    """
    names = {"team": ("team", phase_id, team_id), "lane": ("lane", lane_name)}
    locked = _run(session, _LOCK_TEAM_AND_LANE, names)
    moment: datetime | None = None if locked is None else locked[2]
    return clock.reading(session, moment)


def first_start(session: WriteSession) -> None:
    """Lock what the first process to start creates."""
    _acquire(session, "first start")


def try_maintenance(session: WriteSession) -> bool:
    """Whether this process may do periodic maintenance now, which only one process should do at a time."""
    return _try_acquire(session, "maintenance")


def try_sequencer(session: WriteSession) -> bool:
    """Whether this process may extend the transparency log now, which only one should do at a time."""
    return _try_acquire(session, "sequencer")


def sequencer(session: WriteSession) -> None:
    """Lock the transparency log, to end it or to begin another one."""
    _acquire(session, "sequencer")


def _lock(function: Any, name: str) -> ColumnElement[Any]:
    """A column that takes the lock whose number is the parameter `name`."""
    return function(bindparam(name, type_=BigInteger))  # type: ignore[no-any-return]


# PostgreSQL computes the columns of a row from left to right.
_LOCK_SUBMISSION = select(_lock(func.pg_advisory_xact_lock_shared, "challenge"))
_LOCK_SUBMISSION_AND_KEY = _LOCK_SUBMISSION.add_columns(_lock(func.pg_try_advisory_xact_lock, "key"))
_LOCK_TEAM_AND_LANE = select(
    _lock(func.pg_advisory_xact_lock, "team"), _lock(func.pg_advisory_xact_lock, "lane"), clock.DatabaseTime()
)


def _run(session: WriteSession, statement: Select[Any], names: Mapping[str, tuple[str, ...]]) -> Any:
    """The row of a statement that takes locks; None on SQLite, where every lock is held."""
    if session.get_bind().dialect.name == "sqlite":
        return None
    numbers = {parameter: _lock_key(*name) for parameter, name in names.items()}
    return session.connection().execute(statement, numbers).one()


def _acquire(session: WriteSession, *name: str, shared: bool = False) -> None:
    if session.get_bind().dialect.name != "sqlite":
        acquire = func.pg_advisory_xact_lock_shared if shared else func.pg_advisory_xact_lock
        session.execute(select(acquire(_lock_key(*name))))


def _try_acquire(session: WriteSession, *name: str) -> bool:
    if session.get_bind().dialect.name == "sqlite":
        return True
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(_lock_key(*name)))))


def _lock_key(*name: str) -> int:
    """The number of a lock: 64 bits, signed, as PostgreSQL takes it; no part of a name contains the separator NUL."""
    digest = hashlib.sha256("\0".join(name).encode()).digest()
    return int.from_bytes(digest[:8], signed=True)
