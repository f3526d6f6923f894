"""Look at many submissions at once: how far each has come."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from app.actions.submissions.read_submissions import NOT_QUEUED, queue_places
from app.store.queries import submission_progress
from app.store.session import ReadSession


@dataclass(frozen=True, slots=True)
class SubmissionProgress:
    """The status of a submission, which attempt to score it this is, and its place in the queue.

    Two are equal if nothing has happened in between; the expected time alone passes with the clock.
    """

    status: str
    attempt: int
    queue_position: int | None
    eta: datetime | None = field(compare=False)


def look_at_submissions(session: ReadSession, ids: Collection[str]) -> dict[str, SubmissionProgress]:
    """The progress of submissions of any phases, by id; those that do not exist are left out."""
    rows = submission_progress.load_progress(session, list(ids))
    places = queue_places(session, {row.waiting_task: row.id for row in rows if row.waiting_task is not None})
    return {row.id: SubmissionProgress(row.status, row.attempt, *places.get(row.id, NOT_QUEUED)) for row in rows}
