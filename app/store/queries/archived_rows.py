"""Queries for the archive of a phase: its rows page by page, up to the newest submission at the beginning."""

from collections.abc import Sequence
from typing import TypeVar

from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import undefer

from app.store.session import ReadSession
from app.store.tables import (
    BoardSwitch,
    FrozenBoard,
    GoldVersion,
    Receipt,
    Recipe,
    Score,
    ScoreInterval,
    ScoreTask,
    Submission,
    Team,
)

OfSubmission = TypeVar("OfSubmission", Score, ScoreInterval, Receipt)


def last_id(session: ReadSession, phase_id: str) -> str:
    """The id of the newest submission to this phase; empty if there is none."""
    return session.scalar(select(func.max(Submission.id)).where(Submission.phase_id == phase_id)) or ""


def page_of_submissions(session: ReadSession, phase_id: str, *, after: str, last: str, limit: int) -> list[Submission]:
    """Submissions of a phase in the order of their ids, which is that of acceptance, from behind `after` to `last`."""
    query = select(Submission).where(Submission.phase_id == phase_id, Submission.id > after, Submission.id <= last)
    return list(session.scalars(query.order_by(Submission.id).limit(limit)))


def first_tasks(session: ReadSession, submission_ids: Sequence[str]) -> dict[str, ScoreTask]:
    """The first task of each submission, which decided whether its file is valid."""
    first = select(func.min(ScoreTask.id)).where(ScoreTask.submission_id.in_(submission_ids))
    query = select(ScoreTask).where(ScoreTask.id.in_(first.group_by(ScoreTask.submission_id)))
    return {task.submission_id: task for task in session.scalars(query)}


def of_submissions(
    session: ReadSession, table: type[OfSubmission], submission_ids: Sequence[str]
) -> list[OfSubmission]:
    """The scores, intervals or receipts of these submissions, in one order on every database."""
    query: Select[OfSubmission] = select(table).where(table.submission_id.in_(submission_ids))
    rows = list(session.scalars(query.options(undefer(Receipt.envelope)) if table is Receipt else query))
    return sorted(rows, key=lambda row: (row.submission_id, row.gold_id, row.recipe_id, row.scorer_version, row.split))


def teams_of_phase(session: ReadSession, phase_id: str, last: str) -> list[Team]:
    """The teams that submissions of a phase belong to, or were sent by, oldest first."""
    of_phase = (Submission.phase_id == phase_id) & (Submission.id <= last)
    owners, senders = (
        select(column).where(of_phase, column.is_not(None)) for column in (Submission.team_id, Submission.sent_team_id)
    )
    return list(session.scalars(select(Team).where(or_(Team.id.in_(owners), Team.id.in_(senders))).order_by(Team.id)))


def gold_ids(session: ReadSession, phase_id: str) -> dict[str, int]:
    """The version numbers of the gold of a phase by id, oldest first."""
    query = select(GoldVersion.id, GoldVersion.version).where(GoldVersion.phase_id == phase_id)
    return {row.id: row.version for row in session.execute(query.order_by(GoldVersion.version))}


def recipes_of_phase(session: ReadSession, challenge_id: str, phase_id: str) -> list[Recipe]:
    """The versions of the recipe of a phase, and of that of the challenge, oldest first."""
    of_phase = or_(Recipe.phase_id.is_(None), Recipe.phase_id == phase_id)
    return list(
        session.scalars(select(Recipe).where(Recipe.challenge_id == challenge_id, of_phase).order_by(Recipe.version))
    )


def switches_of(session: ReadSession, phase_id: str) -> list[BoardSwitch]:
    """The switches of the boards of a phase, oldest first, with what they changed."""
    query = select(BoardSwitch).where(BoardSwitch.phase_id == phase_id).options(undefer(BoardSwitch.errata))
    return list(session.scalars(query.order_by(BoardSwitch.number)))


def frozen_boards_of(session: ReadSession, phase_id: str) -> list[FrozenBoard]:
    """The frozen boards of a phase with their content, oldest first."""
    query = select(FrozenBoard).where(FrozenBoard.phase_id == phase_id).options(undefer(FrozenBoard.content))
    return list(session.scalars(query.order_by(FrozenBoard.number)))
