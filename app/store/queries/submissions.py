"""Queries for submissions and their scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Executable,
    Select,
    bindparam,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from app.store.board_invalidation import NO_BOARD_CHANGE
from app.store.queries import analysis_tasks, ranked_values
from app.store.queries.memberships import Stay, sent_during
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase, QuotaEntry, Score, ScoreTask, Submission, Team
from app.store.types import new_id
from app.text.confusable_names import name_key

TOTALS_AT_LEAST = "at_least"
"""The extra key in the problem totals of a file, true if reading stopped before its end."""
_ADD_SCORE = insert(Score.__table__)
# As text, because SQLAlchemy leaves out the names of tables in a subquery of RETURNING.
_LAST_SWITCH = (
    "(SELECT switched.id FROM board_switches AS switched WHERE switched.phase_id = submissions.phase_id "
    "AND switched.status = 'done' ORDER BY switched.number DESC LIMIT 1)"
)
_SET_FINAL_STATUS: Executable = (
    update(Submission.__table__)
    .where(Submission.id == bindparam("submission"), Submission.status.in_(("queued", "running")))
    .values(
        status=bindparam("final", type_=Submission.status.type),
        finished_at=bindparam("now", type_=Submission.finished_at.type),
        problems=bindparam("file_problems", type_=Submission.problems.type),
        problem_totals=bindparam("totals", type_=Submission.problem_totals.type),
        notes=bindparam("file_notes", type_=Submission.notes.type),
    )
    .returning(
        Submission.phase_id,
        Submission.team_id,
        literal_column(_LAST_SWITCH),
    )
)


class SettledSubmission(NamedTuple):
    """A submission whose status this transaction has made final."""

    phase_id: str
    team_id: str
    last_switch: str | None
    """The last switch of the board of the phase that was done."""


def add_scores(
    session: WriteSession, key: Mapping[str, Any], scores: Mapping[str, Any], empty: Mapping[str, int] | None = None
) -> None:
    """Store the metric values of each split under the key of their task, with their ranked values.

    `empty` has the number of empty predictions by split. Their intervals are queued.
    The caller finishes the submission in the same transaction, unless its status is final, and invalidates boards.
    """
    rows = [{**key, "id": new_id(), "split": split, "metrics": scores[split]} for split in scores]
    counts = ({"empty_predictions": (empty or {}).get(split, 0)} for split in scores)
    session.connection().execute(_ADD_SCORE, [row | count for row, count in zip(rows, counts, strict=True)])
    ranked_values.add(session, [ranked_values.StoredScore(**row) for row in rows])
    analysis_tasks.add_intervals(session, key)


def first_task_key(session: ReadSession, submission_id: str) -> tuple[str, str] | None:
    """Gold and recipe of the first task of a submission, which were active when it was received."""
    query = select(ScoreTask.gold_id, ScoreTask.recipe_id).where(ScoreTask.submission_id == submission_id)
    row = session.execute(query.order_by(ScoreTask.id).limit(1)).one_or_none()
    return None if row is None else (row[0], row[1])


def has_scores(session: ReadSession, key: Mapping[str, Any]) -> bool:
    """Whether scores with this key are stored."""
    columns = (
        getattr(Score, name) == key[name] for name in ("submission_id", "gold_id", "recipe_id", "scorer_version")
    )
    return session.scalar(select(Score.id).where(*columns).limit(1)) is not None


def set_final_status(
    session: WriteSession, submission_id: str, status: str, now: datetime, findings: Mapping[str, Any]
) -> SettledSubmission | None:
    """Set the final status, with the `findings` in the file; the caller invalidates boards.

    Returns None if the status was final already. The status in the condition of the UPDATE makes the check and the
    change one step.
    """
    totals = findings["total"] | ({TOTALS_AT_LEAST: True} if findings.get("total_at_least") else {})
    parameters = {"submission": submission_id, "final": status, "now": now, "totals": totals}
    parameters |= {f"file_{name}": findings[name] for name in ("problems", "notes")}
    row = session.connection().execute(_SET_FINAL_STATUS, parameters).one_or_none()
    return None if row is None else SettledSubmission(*row)


def cancel(session: WriteSession, submission_id: str, now: datetime, reason: Mapping[str, str]) -> str | None:
    """End a submission whose status is not final, without scores; the caller invalidates boards.

    Returns the id of the phase; None if the status was final already.
    """
    unsettled = (Submission.id == submission_id) & Submission.status.in_(("queued", "running"))
    ended = update(Submission).where(unsettled).values(status="cancelled", finished_at=now, failure=dict(reason))
    return session.scalar(ended.returning(Submission.phase_id).execution_options(**NO_BOARD_CHANGE))


def last_scored_after(session: ReadSession, phase_id: str, closes_at: datetime) -> datetime | None:
    """When the last entry of a team from before the close was scored, of those that were not scored at the close."""
    own = (Submission.phase_id == phase_id) & Submission.test.is_(False) & Submission.baseline.is_(False)
    late = (Submission.submitted_at < closes_at) & (Submission.finished_at >= closes_at)
    query = select(func.max(Submission.finished_at)).where(own, late, Submission.status == "finished")
    return session.scalars(query).one()


def count_unsettled(session: ReadSession, phase_id: str, closes_at: datetime) -> int:
    """How many submissions from before the close are not settled yet.

    A submission that took quota was admitted before the close, even if organizers moved the close since. Entries by
    organizers take no quota, so their time decides.
    """
    unsettled = (Submission.phase_id == phase_id) & Submission.status.in_(("queued", "running"))
    charged = exists().where(QuotaEntry.submission_id == Submission.id, QuotaEntry.kind == "reserve")
    before = or_(Submission.submitted_at < closes_at, charged)
    # A late entry keeps its quota too, and a test entry is on no board.
    ranked = Submission.unofficial.is_(False) & Submission.test.is_(False)
    return session.scalars(select(func.count(Submission.id)).where(unsettled, before, ranked)).one()


def sent_by(session: ReadSession, user_id: str, *, after: str, limit: int) -> list[Submission]:
    """Submissions that a user sent, oldest first, after the one with the id `after`."""
    query = select(Submission).where(Submission.user_id == user_id, Submission.id > after)
    return list(session.scalars(query.order_by(Submission.id).limit(limit)))


def selected_ids(session: ReadSession, phase_id: str, team_id: str) -> list[str]:
    """The ids of the team's selected submissions that count or may still count, oldest first."""
    query = select(Submission.id).where(
        Submission.phase_id == phase_id,
        Submission.team_id == team_id,
        Submission.selected_at.is_not(None),
        Submission.status.in_(("queued", "running", "finished")),
        Submission.withdrawn_at.is_(None),
        Submission.disqualified_at.is_(None),
    )
    return list(session.scalars(query.order_by(Submission.id)))


def unsettled_ids(session: ReadSession, challenge_id: str, user_id: str) -> list[str]:
    """The ids of unsettled submissions that this user sent as a participant, whichever their teams were."""
    phases = select(Phase.id).where(Phase.challenge_id == challenge_id)
    own = (Submission.user_id == user_id) & Submission.phase_id.in_(phases)
    as_participant = ~or_(Submission.on_behalf, Submission.baseline, Submission.test)
    unsettled = own & as_participant & Submission.status.in_(("queued", "running"))
    return list(session.scalars(select(Submission.id).where(unsettled).order_by(Submission.id)))


def finished_since(session: ReadSession, phase_id: str, team_id: str, since: datetime) -> list[str]:
    """The ids of the submissions of a team in a phase that were finished after this time."""
    of_team = (Submission.phase_id == phase_id) & (Submission.team_id == team_id)
    finished = of_team & (Submission.status == "finished") & (Submission.finished_at > since)
    return list(session.scalars(select(Submission.id).where(finished)))


def count_baseline_entries(session: ReadSession, challenge_id: str) -> int:
    """The number of baseline submissions of a challenge."""
    baselines = select(Team.id).where(Team.challenge_id == challenge_id, Team.baseline)
    phases = select(Phase.id).where(Phase.challenge_id == challenge_id)
    entries = Submission.phase_id.in_(phases) & Submission.team_id.in_(baselines) & Submission.test.is_(False)
    return session.scalars(select(func.count(Submission.id)).where(entries)).one()


def phase_submissions(phase_id: str, team_id: str | None = None, stays: Sequence[Stay] = ()) -> Select[Submission]:
    """Submissions of a phase, optionally only those of one team, and of former teams during these stays in them."""
    query = select(Submission).where(Submission.phase_id == phase_id)
    if stays:
        former = sent_during(stays) & Submission.on_behalf.is_(False)
        return query.where(former if team_id is None else or_(Submission.team_id == team_id, former))
    return query if team_id is None else query.where(Submission.team_id == team_id)


@dataclass(frozen=True, slots=True)
class SubmissionFilter:
    """Which submissions to list; None does not restrict them."""

    status: str | None = None
    mark: str | None = None
    """One of MARKS."""
    team: str | None = None
    """The id or the name of a team or of a baseline."""
    text: str | None = None
    """Part of the name of the method or of the team, or the beginning of the id."""


EVERY_SUBMISSION = SubmissionFilter()
MARKS: dict[str, ColumnElement[bool]] = {
    "selected": Submission.selected_at.is_not(None),
    "withdrawn": Submission.withdrawn_at.is_not(None),
    "disqualified": Submission.disqualified_at.is_not(None),
    "unofficial": Submission.unofficial.is_(True),
    "baseline": Submission.baseline.is_(True),
    "test": Submission.test.is_(True),
}


def narrowed(query: Select[Submission], challenge_id: str, wanted: SubmissionFilter) -> Select[Submission]:
    """Those of these submissions to phases of one challenge that match the filter."""
    if wanted.status is not None:
        query = query.where(Submission.status == wanted.status)
    if wanted.mark is not None:
        query = query.where(MARKS[wanted.mark])
    if wanted.team is not None:
        named = or_(Team.id == wanted.team, Team.name_key == name_key(wanted.team))
        query = query.where(Submission.team_id.in_(select(Team.id).where(Team.challenge_id == challenge_id, named)))
    if wanted.text is not None:
        called = Team.name.icontains(wanted.text, autoescape=True)
        teams = select(Team.id).where(Team.challenge_id == challenge_id, called)
        method = Submission.method.icontains(wanted.text, autoescape=True)
        same_id = Submission.id.startswith(wanted.text.lower(), autoescape=True)
        query = query.where(or_(method, Submission.team_id.in_(teams), same_id))
    return query


def lock_task(session: WriteSession, submission_id: str, provenance: ScoreProvenance) -> ScoreTask | None:
    """The submission's task with this provenance, locked and read again; waits for a worker that settles it."""
    query = select(ScoreTask).where(ScoreTask.submission_id == submission_id, provenance.task_condition())
    locked = query.order_by(ScoreTask.id.desc()).limit(1).with_for_update()
    return session.scalar(locked.execution_options(populate_existing=True))


def last_id(session: ReadSession, phase_ids: Iterable[str]) -> str:
    """The id of the newest submission to these phases; empty if there is none."""
    return session.scalar(select(func.max(Submission.id)).where(Submission.phase_id.in_(list(phase_ids)))) or ""


def page_for_export(session: ReadSession, phase_id: str, *, after: str, last: str, limit: int) -> list[Submission]:
    """Submissions of a phase except for tests, in the order of their ids, from behind `after` up to `last`."""
    query = select(Submission).where(
        Submission.phase_id == phase_id, Submission.id > after, Submission.id <= last, Submission.test.is_(False)
    )
    return list(session.scalars(query.order_by(Submission.id).limit(limit)))
