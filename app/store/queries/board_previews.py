"""Queries of previews of board switches."""

import hashlib
from typing import Any, NamedTuple

from sqlalchemy import select

from app.store.queries.board_marks import SUBMISSION_MARK, marked_teams
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession
from app.store.tables import BoardPreview, Phase, Score, Submission, Team


class EmptyPredictions(NamedTuple):
    """A submission some of whose predictions count as empty: their ids were void when it was received."""

    submission: str
    team: str
    split: str
    predictions: int


def of_target(
    session: ReadSession, phase_id: str, gold_id: str, recipe_id: str, scorer_version: int
) -> BoardPreview | None:
    """The preview of a switch to these versions."""
    query = select(BoardPreview).where(BoardPreview.phase_id == phase_id, BoardPreview.to_gold_id == gold_id)
    query = query.where(BoardPreview.to_recipe_id == recipe_id, BoardPreview.to_scorer_version == scorer_version)
    return session.scalar(query)


def of_gold(session: ReadSession, gold_id: str) -> BoardPreview | None:
    """The newest preview of a switch to this gold from other gold."""
    query = select(BoardPreview).where(BoardPreview.to_gold_id == gold_id, BoardPreview.from_gold_id != gold_id)
    return session.scalar(query.order_by(BoardPreview.requested_at.desc()).limit(1))


def of_recipe(session: ReadSession, recipe_id: str, phase_id: str) -> BoardPreview | None:
    """The newest preview of a switch of this phase to this recipe from another one."""
    query = select(BoardPreview).where(BoardPreview.to_recipe_id == recipe_id, BoardPreview.phase_id == phase_id)
    query = query.where(BoardPreview.from_recipe_id != recipe_id)
    return session.scalar(query.order_by(BoardPreview.requested_at.desc()).limit(1))


def in_progress(session: ReadSession) -> list[str]:
    """The ids of all previews that are not finished, the oldest first."""
    query = select(BoardPreview.id).where(BoardPreview.status == "scoring")
    return list(session.scalars(query.order_by(BoardPreview.requested_at, BoardPreview.id)))


def board_inputs(session: ReadSession, phase: Phase) -> str:
    """A hash of everything besides scores that the boards of a phase follow from, which changes whenever they may."""
    columns = (Submission.id, Submission.team_id, Submission.baseline, SUBMISSION_MARK, Submission.selected_at)
    query = select(*columns).where(Submission.phase_id == phase.id, Submission.status == "finished")
    content = hashlib.sha256()
    for row in session.connection().execute(query.where(Submission.test.is_(False)).order_by(Submission.id)):
        content.update(repr(tuple(row)).encode())
    content.update(repr(sorted(marked_teams(session, phase.challenge_id).items())).encode())
    return content.hexdigest()


def empty_predictions(session: ReadSession, phase_id: str, provenance: ScoreProvenance) -> list[EmptyPredictions]:
    """The submissions of a phase some of whose predictions count as empty by these versions, by split."""
    query = (
        select(Submission.id, Submission.team_id, Score.split, Score.empty_predictions)
        .join(Score, Score.submission_id == Submission.id)
        .where(Submission.phase_id == phase_id, Submission.status == "finished", Submission.test.is_(False))
        .where(provenance.score_condition(), Score.empty_predictions > 0)
        .order_by(Submission.id, Score.split)
    )
    return list({(row[0], row[2]): EmptyPredictions(*row) for row in session.execute(query)}.values())


def team_names(session: ReadSession, challenge_id: str) -> dict[str, str]:
    """The names of all teams of a challenge by id."""
    rows: Any = session.execute(select(Team.id, Team.name).where(Team.challenge_id == challenge_id))
    return dict(rows.all())
