"""Queries for the files of submissions that can never be scored: rejected and cancelled ones."""

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import groupby

from sqlalchemy import func, select, update

from app.store.board_invalidation import NO_BOARD_CHANGE
from app.store.session import ReadSession, WriteSession
from app.store.tables import Submission

NEVER_SCORED = ("rejected", "cancelled")
_KEPT = Submission.status.in_(NEVER_SCORED) & Submission.file_removed_at.is_(None)


def expired(session: ReadSession, before: datetime, limit: int) -> Sequence[str]:
    """Some submissions whose status became final before that time and whose files are kept, the oldest first."""
    ended_at = func.coalesce(Submission.finished_at, Submission.submitted_at)
    return session.scalars(select(Submission.id).where(_KEPT, ended_at < before).order_by(ended_at).limit(limit)).all()


def beyond_daily_bytes(session: ReadSession, max_bytes: int) -> list[str]:
    """Submissions whose files are kept beyond so many bytes of one team on one day (UTC), the oldest of each day."""
    exceeding = select(Submission.team_id).where(_KEPT).group_by(Submission.team_id)
    exceeding = exceeding.having(func.sum(Submission.size) > max_bytes)
    columns = (Submission.team_id, Submission.submitted_at, Submission.id, Submission.size)
    query = select(*columns).where(_KEPT, Submission.team_id.in_(exceeding))
    query = query.order_by(Submission.team_id, Submission.submitted_at.desc(), Submission.id.desc())
    found: list[str] = []
    for _, files in groupby(session.execute(query), key=lambda row: (row.team_id, row.submitted_at.date())):
        total = 0
        for row in files:
            total += row.size
            if total > max_bytes:
                found.append(row.id)
    return found


def mark_removed(session: WriteSession, ids: Collection[str], now: datetime) -> Sequence[str]:
    """Record that the files of these submissions are removed; returns the keys of those that were kept until now."""
    change = update(Submission).where(Submission.id.in_(ids), _KEPT).values(file_removed_at=now)
    change = change.returning(Submission.file_key).execution_options(**NO_BOARD_CHANGE, synchronize_session=False)
    return session.scalars(change).all()
