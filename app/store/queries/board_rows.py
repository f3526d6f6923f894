"""The query of the rows of a leaderboard that are shown, by the ids of their submissions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pydantic_core import from_json
from sqlalchemy import Text, cast, select

from app.store.queries import board_analyses
from app.store.queries.entry_choice import BoardScores
from app.store.queries.id_lists import is_among
from app.store.session import ReadSession
from app.store.tables import Score, Submission

MetricValues = Mapping[str, Mapping[str, Any]]  # of one score, by the canonical string of the metric


class BoardRow(NamedTuple):
    """What a board shows of an entry besides its rank and team."""

    method: str
    submitted_at: datetime
    on_behalf: bool
    metrics: MetricValues
    intervals: MetricValues


def load_rows(
    session: ReadSession, board: BoardScores, submissions: Sequence[str], *, intervals: bool
) -> dict[str, BoardRow]:
    """What the board shows of these submissions, by id, with intervals if wanted.

    The only query of a board that reads the JSON of scores.

    Two queries by id: a join might scan all scores while PostgreSQL has no statistics. The JSON is read as text, which
    both databases store as written, because the decoder of the column takes several times as long.
    """
    scores = select(Score.submission_id, cast(Score.metrics, Text)).where(
        is_among(session, Score.submission_id, submissions),
        board.provenance.score_condition(),
        Score.split == board.shown,
    )
    metrics = {submission: from_json(text) for submission, text in session.connection().execute(scores).all()}
    columns = (Submission.id, Submission.method, Submission.submitted_at, Submission.on_behalf)
    query = select(*columns).where(is_among(session, Submission.id, submissions))
    rows: Sequence[Any] = session.connection().execute(query).all()
    known = board_analyses.intervals_of(session, submissions, board.provenance) if intervals else {}
    return {
        row[0]: BoardRow(row[1], row[2], row[3], metrics[row[0]], known.get(row[0], {}).get(board.shown, {}))
        for row in rows
    }
