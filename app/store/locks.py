"""What must not happen at once is put in line; each lock is held until its transaction ends.

On SQLite there is one writer at a time, so that every lock is held already. On PostgreSQL they are advisory locks: kept
in memory, taken before the rows that they guard are written, and safe where two names share a number, for that only makes
somebody wait. A transaction takes them in the order of this file.
"""

import hashlib

from sqlalchemy import func, select

from app.store.session import ReadSession, WriteSession

CHALLENGE = "challenge"


def challenge(session: ReadSession, slug: str, *, shared: bool = False) -> None:
    """Hold the challenge: alone for its organizers' changes, shared for submissions, which may not see one half done.

    A reading session needs no lock, and a transaction that holds one keeps it as it is.
    """
    if isinstance(session, WriteSession) and CHALLENGE not in session.info:
        session.info[CHALLENGE] = slug
        _acquire(session, CHALLENGE, slug, shared=shared)


def try_key(session: WriteSession, user_id: str, text: str) -> bool:
    """Hold an Idempotency-Key, unless another request does: once that has ended, its key tells what it stored."""
    return _try_acquire(session, "key", user_id, text)


def team_names(session: WriteSession, challenge_id: str) -> None:
    """Hold the names of a challenge's teams: whether a new one is taken shows only by all of them."""
    _acquire(session, "team names", challenge_id)


def team(session: WriteSession, phase_id: str, team_id: str) -> None:
    """Hold a team's quota in a phase: what is counted stays so until the reservation is stored."""
    _acquire(session, "team", phase_id, team_id)


def lane(session: WriteSession, name: str) -> None:
    """Hold a lane of the queue: two tasks that come at the same moment do not take the same turn."""
    _acquire(session, "lane", name)


def first_start(session: WriteSession) -> None:
    """Hold what the first process to start makes."""
    _acquire(session, "first start")


def try_maintenance(session: WriteSession) -> bool:
    """Whether this process may do now what only one should do at a time."""
    return _try_acquire(session, "maintenance")


def _acquire(session: WriteSession, *name: str, shared: bool = False) -> None:
    if session.get_bind().dialect.name != "sqlite":
        lock = func.pg_advisory_xact_lock_shared if shared else func.pg_advisory_xact_lock
        session.execute(select(lock(_lock_key(*name))))


def _try_acquire(session: WriteSession, *name: str) -> bool:
    if session.get_bind().dialect.name == "sqlite":
        return True
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(_lock_key(*name)))))


def _lock_key(*name: str) -> int:
    """A lock's number, 64 bits with a sign."""
    digest = hashlib.sha256("\0".join(name).encode()).digest()
    return int.from_bytes(digest[:8], signed=True)
