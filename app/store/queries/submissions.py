"""Queries for submissions, their scores and their idempotency keys."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, delete, exists, func, insert, or_, select, tuple_, update

from app.store.board_invalidation import NO_BOARD_CHANGE
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession, WriteSession
from app.store.tables import IdempotencyKey, Phase, QuotaEntry, Score, ScoreTask, Submission, Team

IDEMPOTENCY_KEY_LIFETIME = timedelta(hours=24)
TOTALS_AT_LEAST = "at_least"
"""What is true beside the totals of a file's problems where reading stopped before its end."""
_ADD = insert(Submission.__table__)
_ADD_SCORE = insert(Score.__table__)
_SET_FINAL_STATUS = (
    update(Submission.__table__)
    .where(Submission.id == bindparam("submission"), Submission.status.in_(("queued", "running")))
    .values(
        status=bindparam("final", type_=Submission.status.type),
        finished_at=bindparam("now", type_=Submission.finished_at.type),
        problems=bindparam("wrong", type_=Submission.problems.type),
        problem_totals=bindparam("totals", type_=Submission.problem_totals.type),
        notes=bindparam("said", type_=Submission.notes.type),
    )
    .returning(Submission.phase_id)
)


def add(session: WriteSession, submission: Submission) -> None:
    """Store a new submission; the object itself stays outside the session, which would read it back."""
    table = Submission.__table__
    session.connection().execute(_ADD, {name: value for name, value in vars(submission).items() if name in table.c})


def add_scores(session: WriteSession, key: Mapping[str, Any], scores: Mapping[str, Any]) -> None:
    """Store the metric values of each split under the key of their task; boards are not told (app.store.board_invalidation)."""
    session.connection().execute(_ADD_SCORE, [{**key, "split": split, "metrics": scores[split]} for split in scores])


def set_final_status(
    session: WriteSession, submission_id: str, status: str, now: datetime, found: Mapping[str, Any]
) -> str | None:
    """Give a submission the status that it keeps, with what was `found` in its file; boards are not told.

    Gives the id of its phase; None where it has such a status already.
    """
    at_least = {TOTALS_AT_LEAST: True} if found.get("total_at_least") else {}
    said = {"wrong": found["problems"], "totals": found["total"] | at_least, "said": found["notes"]}
    names = {"submission": submission_id, "final": status, "now": now, **said}
    phase_id: str | None = session.connection().execute(_SET_FINAL_STATUS, names).scalar_one_or_none()
    return phase_id


def cancel(session: WriteSession, submission_id: str, now: datetime, reason: Mapping[str, str]) -> str | None:
    """End a submission that has no status yet that it keeps, without scores; boards are not told.

    Gives the id of its phase; None where it has such a status already.
    """
    undone = (Submission.id == submission_id) & Submission.status.in_(("queued", "running"))
    ended = update(Submission).where(undone).values(status="cancelled", finished_at=now, failure=dict(reason))
    return session.scalar(ended.returning(Submission.phase_id).execution_options(**NO_BOARD_CHANGE))


def count_unsettled(session: ReadSession, phase_id: str, closes_at: datetime) -> int:
    """How many of the submissions that came before the close have no status yet that they keep.

    Whatever took from the quota came before it, wherever organizers have put the close since; what they enter takes none.
    """
    undone = (Submission.phase_id == phase_id) & Submission.status.in_(("queued", "running"))
    charged = exists().where(QuotaEntry.submission_id == Submission.id, QuotaEntry.kind == "reserve")
    before = or_(Submission.submitted_at < closes_at, charged)
    return session.scalars(select(func.count(Submission.id)).where(undone, before)).one()


def unsettled_ids(session: ReadSession, team_id: str, user_id: str) -> list[str]:
    """The ids of what this user sent for this team and is not settled yet."""
    mine = (Submission.team_id == team_id) & (Submission.user_id == user_id)
    phases = select(Phase.id).join(Team, Team.challenge_id == Phase.challenge_id).where(Team.id == team_id)
    waiting = mine & Submission.phase_id.in_(phases) & Submission.status.in_(("queued", "running"))
    return list(session.scalars(select(Submission.id).where(waiting).order_by(Submission.id)))


def count_baseline_entries(session: ReadSession, challenge_id: str) -> int:
    """How many entries of baselines a challenge has."""
    baselines = select(Team.id).where(Team.challenge_id == challenge_id, Team.baseline)
    phases = select(Phase.id).where(Phase.challenge_id == challenge_id)
    of_baselines = Submission.phase_id.in_(phases) & Submission.team_id.in_(baselines)
    return session.scalars(select(func.count(Submission.id)).where(of_baselines)).one()


def phase_submissions(phase_id: str, team_id: str | None = None) -> Select[Submission]:
    """Submissions of a phase, of one team only if said."""
    query = select(Submission).where(Submission.phase_id == phase_id)
    return query if team_id is None else query.where(Submission.team_id == team_id)


class BoardSubmission(NamedTuple):
    """What a board needs to know of a submission."""

    id: str
    team_id: str
    team_name: str
    method: str
    baseline: bool
    submitted_at: datetime
    selected_at: datetime | None


MetricValues = Mapping[str, Mapping[str, Any]]  # of one score, by the canonical string of the metric


def board_submissions(session: ReadSession, phase_id: str) -> list[BoardSubmission]:
    """Finished submissions that neither were withdrawn nor disqualified: those that a board is made of.

    Columns, not rows of the session: a board reads thousands, for each of its changes.
    """
    query = select(
        Submission.id,
        Submission.team_id,
        Team.name,
        Submission.method,
        Submission.baseline,
        Submission.submitted_at,
        Submission.selected_at,
    ).join(Team, Team.id == Submission.team_id)
    shown = query.where(
        Submission.phase_id == phase_id,
        Submission.status == "finished",
        Submission.withdrawn_at.is_(None),
        Submission.disqualified_at.is_(None),
    )
    return [BoardSubmission(*row) for row in session.execute(shown.order_by(Submission.id))]


def scores_for_board(
    session: ReadSession, phase_id: str, *, gold_id: str, recipe_ids: Iterable[str], scorer_version: int, split: str
) -> dict[str, MetricValues]:
    """Metric values by submission id, all of one gold, recipe family, scorer version and split."""
    query = (
        select(Score.submission_id, Score.metrics)
        .join(Submission, Submission.id == Score.submission_id)
        .where(
            Submission.phase_id == phase_id,
            Score.gold_id == gold_id,
            Score.recipe_id.in_(list(recipe_ids)),
            Score.scorer_version == scorer_version,
            Score.split == split,
        )
    )
    return {row.submission_id: row.metrics for row in session.execute(query)}


def lock_task(session: WriteSession, submission_id: str, origin: ScoreProvenance) -> ScoreTask | None:
    """The submission's task of this origin, locked; who works on it meanwhile is waited for."""
    query = select(ScoreTask).where(ScoreTask.submission_id == submission_id, origin.task_condition())
    locked = query.order_by(ScoreTask.id.desc()).limit(1).with_for_update()
    return session.scalar(locked.execution_options(populate_existing=True))


def find_idempotency_key(session: ReadSession, user_id: str, key: str, now: datetime) -> IdempotencyKey | None:
    """What this user's key stood for, within its life."""
    row = session.get(IdempotencyKey, (user_id, key))
    return row if row is not None and row.created_at > now - IDEMPOTENCY_KEY_LIFETIME else None


def delete_expired_keys(session: WriteSession, user_id: str, key: str, now: datetime) -> None:
    """Remove this key if it is past its life, and all others that are; those that another removes now are left to it."""
    old = IdempotencyKey.created_at <= now - IDEMPOTENCY_KEY_LIFETIME
    session.execute(delete(IdempotencyKey).where(IdempotencyKey.user_id == user_id, IdempotencyKey.key == key, old))
    row = (IdempotencyKey.user_id, IdempotencyKey.key)
    session.execute(
        delete(IdempotencyKey).where(tuple_(*row).in_(select(*row).where(old).with_for_update(skip_locked=True)))
    )
