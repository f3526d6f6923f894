"""What was computed against a draft of the gold, for a preview of what it would change."""

from sqlalchemy import delete

from app.store import board_invalidation
from app.store.queries import ranked_values
from app.store.session import WriteSession
from app.store.tables import AnalysisTask, BoardPreview, Receipt, ScoreInterval, ScoreTask


def delete_of_gold(session: WriteSession, gold_id: str) -> None:
    """Delete previews, score tasks, scores and intervals of a draft.

    Scores are never edited: after a change of the draft they would be those of other gold. A worker that is scoring one
    of these tasks finds no row to settle.
    """
    unseen = board_invalidation.NO_BOARD_CHANGE
    session.execute(delete(BoardPreview).where(BoardPreview.to_gold_id == gold_id), execution_options=unseen)
    for table in (ScoreTask, ScoreInterval, AnalysisTask, Receipt):
        session.execute(delete(table).where(table.gold_id == gold_id), execution_options=unseen)
    ranked_values.delete_scores_of_gold(session, gold_id)
