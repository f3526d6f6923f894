"""Queries of what is scored under given versions of gold, recipe and scorer, and what is not."""

from typing import Any, NamedTuple

from sqlalchemy import and_, select

from app.store.queries import target_scores
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession
from app.store.tables import ScoreTask, Submission


class Unscored(NamedTuple):
    """A finished submission without scores, and why its scoring failed for good; None while it has not."""

    submission: str
    team: str
    failure: dict[str, Any] | None


def unscored_of_phase(session: ReadSession, phase_id: str, provenance: ScoreProvenance) -> list[Unscored]:
    """The finished submissions of a phase that have no scores of this provenance, apart from test entries."""
    failed = and_(ScoreTask.submission_id == Submission.id, provenance.task_condition(), ScoreTask.status == "failed")
    query = (
        select(Submission.id, Submission.team_id, ScoreTask.failure)
        .outerjoin(ScoreTask, failed)
        .where(Submission.id.in_(target_scores.unscored(phase_id, provenance)), Submission.test.is_(False))
        .order_by(Submission.id)
    )
    return [Unscored(*row) for row in {row[0]: row for row in session.execute(query)}.values()]
