"""Queries for the switches of boards: the pending one of a phase, and which were done when."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement, func, or_, select

from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession
from app.store.tables import BoardSwitch, Challenge, Phase, Recipe, Score, ScoreTask, Submission
from app.task_priorities import RESCORING_PRIORITY

UNSETTLED = ("queued", "running")
_CORRECTS = (BoardSwitch.status == "done") & BoardSwitch.from_gold_id.is_not(None) & BoardSwitch.errata.is_not(None)


def all_pending(session: ReadSession) -> list[tuple[str, str]]:
    """The ids of the pending switches of all phases with the slugs of their challenges, the oldest first."""
    query = select(BoardSwitch.id, Challenge.slug).join(Phase, Phase.id == BoardSwitch.phase_id)
    query = query.join(Challenge, Challenge.id == Phase.challenge_id).where(BoardSwitch.status == "pending")
    return [(row[0], row[1]) for row in session.execute(query.order_by(BoardSwitch.id))]


def changed_since(session: ReadSession, moment: datetime | None) -> list[tuple[str, str]]:
    """The phases whose board switched or was released since then, or ever, with the slugs of their challenges."""
    switched = select(BoardSwitch.phase_id).where(BoardSwitch.status == "done")
    released: ColumnElement[bool] = Phase.released_at.is_not(None)
    if moment is not None:
        switched, released = switched.where(BoardSwitch.switched_at >= moment), Phase.released_at >= moment
    query = select(Phase.id, Challenge.slug).join(Challenge, Challenge.id == Phase.challenge_id)
    return [(row[0], row[1]) for row in session.execute(query.where(or_(released, Phase.id.in_(switched))))]


def pending(session: ReadSession, phase_id: str) -> BoardSwitch | None:
    """The pending switch of a phase."""
    query = select(BoardSwitch).where(BoardSwitch.phase_id == phase_id, BoardSwitch.status == "pending")
    return session.scalar(query)


def pending_to_recipe(session: ReadSession, recipe_id: str) -> list[BoardSwitch]:
    """The pending switches of all phases to this recipe."""
    query = select(BoardSwitch).where(BoardSwitch.to_recipe_id == recipe_id, BoardSwitch.status == "pending")
    return list(session.scalars(query.order_by(BoardSwitch.id)))


def of_phase(session: ReadSession, phase_id: str) -> list[BoardSwitch]:
    """All switches of a phase, the newest first."""
    query = select(BoardSwitch).where(BoardSwitch.phase_id == phase_id)
    return list(session.scalars(query.order_by(BoardSwitch.number.desc())))


def corrections(session: ReadSession, phase_ids: Collection[str]) -> list[BoardSwitch]:
    """The switches of these phases from other versions, newest first, without the comparisons of the boards."""
    query = select(BoardSwitch).where(BoardSwitch.phase_id.in_(phase_ids), _CORRECTS)
    return list(session.scalars(query.order_by(BoardSwitch.switched_at.desc(), BoardSwitch.id.desc())))


def by_number(session: ReadSession, phase_id: str, number: int) -> BoardSwitch | None:
    """The switch with this number."""
    return session.scalar(select(BoardSwitch).where(BoardSwitch.phase_id == phase_id, BoardSwitch.number == number))


def next_number(session: ReadSession, phase_id: str) -> int:
    """The number of the next switch of a phase."""
    query = select(func.max(BoardSwitch.number)).where(BoardSwitch.phase_id == phase_id)
    return (session.scalar(query) or 0) + 1


def has_open_rescoring(session: ReadSession, provenance: ScoreProvenance) -> bool:
    """Whether rescoring tasks of this provenance are queued or running; answered by an index, however many there are."""
    unfinished = ScoreTask.status.in_(UNSETTLED) & (ScoreTask.priority >= RESCORING_PRIORITY)
    query = select(ScoreTask.id).where(unfinished, provenance.task_condition())
    return session.scalar(query.limit(1)) is not None


def has_first_scoring_without_target(
    session: ReadSession, phase_id: str, provenance: ScoreProvenance, requested_at: datetime
) -> bool:
    """Whether a first scoring is running that was claimed before the request, and so does not score by the target."""
    earlier = or_(ScoreTask.started_at < requested_at, ScoreTask.scorer_version < provenance.scorer_version)
    lacks = (ScoreTask.status == "running") & earlier & ~provenance.task_condition()
    query = select(ScoreTask.id).join(Submission, Submission.id == ScoreTask.submission_id)
    query = query.where(Submission.phase_id == phase_id, Submission.status.in_(UNSETTLED), lacks)
    return session.scalar(query.limit(1)) is not None


def has_unaccepted(
    session: ReadSession, phase_id: str, provenance: ScoreProvenance, confirmed_at: datetime | None
) -> bool:
    """Whether a finished submission lacks scores, other than those that failed before an organizer accepted it."""
    scored = select(Score.id).where(Score.submission_id == Submission.id, provenance.score_condition()).exists()
    lacking = (Submission.phase_id == phase_id) & (Submission.status == "finished") & ~scored
    query = select(Submission.id).where(lacking)
    if confirmed_at is not None:
        accepted = (ScoreTask.status == "failed") & (ScoreTask.finished_at <= confirmed_at)
        failed = select(ScoreTask.id).where(ScoreTask.submission_id == Submission.id, accepted)
        query = query.where(~failed.where(provenance.task_condition()).exists())
    return session.scalar(query.limit(1)) is not None


def count_scored_since(session: ReadSession, phase_id: str, provenance: ScoreProvenance, since: datetime) -> int:
    """How many rescoring tasks of this provenance of a phase ended since then."""
    ended = (ScoreTask.finished_at >= since) & ScoreTask.status.in_(("done", "failed"))
    of_phase = select(Submission.id).where(Submission.phase_id == phase_id)
    query = select(func.count()).select_from(ScoreTask)
    return session.scalars(query.where(ended, provenance.task_condition(), ScoreTask.submission_id.in_(of_phase))).one()


def recipe_by_version(session: ReadSession, challenge_id: str, version: int) -> Recipe | None:
    """The recipe of a challenge, or of one of its phases, with this version number."""
    return session.scalar(select(Recipe).where(Recipe.challenge_id == challenge_id, Recipe.version == version))


def last_correction(session: ReadSession, phase_id: str) -> datetime | None:
    """When the board of a phase last switched from other versions while it had rows; None if it never did."""
    query = select(BoardSwitch.switched_at).where(BoardSwitch.phase_id == phase_id, _CORRECTS)
    return session.scalar(query.order_by(BoardSwitch.number.desc()).limit(1))
