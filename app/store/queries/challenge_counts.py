"""Queries that count the submissions of a challenge by status."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select

from app.store.session import ReadSession
from app.store.tables import Registration, Submission


class StatusTotal(NamedTuple):
    """How many submissions have a status, and how many of them came in since a moment."""

    status: str
    total: int
    recent: int


def by_status(session: ReadSession, phase_ids: Sequence[str], since: datetime) -> list[StatusTotal]:
    """The numbers of submissions of teams in these phases, without tests by organizers and baselines."""
    recent = func.count(Submission.id).filter(Submission.submitted_at >= since)
    query = (
        select(Submission.status, func.count(Submission.id), recent)
        .where(Submission.phase_id.in_(phase_ids), Submission.test.is_(False), Submission.baseline.is_(False))
        .group_by(Submission.status)
    )
    return [StatusTotal(*row) for row in session.execute(query)]


def pending_registrations(session: ReadSession, challenge_id: str) -> int:
    """How many registrations wait for the approval of an organizer."""
    waiting = (Registration.challenge_id == challenge_id) & (Registration.status == "pending")
    return session.scalars(select(func.count(Registration.id)).where(waiting)).one()
