"""Rebuild what is derived from scores for leaderboards, where it does not follow from them."""

from dataclasses import dataclass

from app.actions.audit.record import OPERATOR, created_fields, record
from app.store import board_invalidation
from app.store.queries import ranked_values
from app.store.session import Database

BATCH_SUBMISSIONS = 500  # of one transaction, so that a running service waits for moments only


@dataclass(frozen=True, slots=True)
class RebuiltRankedValues:
    """How many submissions had ranked values that did not follow from their scores, and how many counts were wrong."""

    submissions: int
    counts: int


def repair(db: Database) -> RebuiltRankedValues:
    """Do so for an operator, which the audit trail shows."""
    rebuilt = rebuild_ranked_values(db)
    with db.write() as session:
        changes = created_fields({"submissions": rebuilt.submissions, "counts": rebuilt.counts})
        record(session, OPERATOR, "service.repair", challenge=None, of=None, changes=changes)
    return rebuilt


def rebuild_ranked_values(db: Database) -> RebuiltRankedValues:
    """Correct ranked values and numbers of entries, in steps; the service may be running meanwhile."""
    corrected, before = 0, None
    while True:
        with db.write() as session:
            ids = ranked_values.submission_ids(session, before=before, limit=BATCH_SUBMISSIONS)
            outdated = ranked_values.outdated_submissions(session, ids)
            if outdated:
                ranked_values.lock_submissions(session, outdated)
                ranked_values.rewrite(session, outdated)
                board_invalidation.invalidate(session, board_invalidation.ALL_BOARDS)
        corrected += len(outdated)
        if not ids:
            break
        before = ids[-1]
    with db.write() as session:
        counts = ranked_values.correct_counts(session)
        if counts:
            board_invalidation.invalidate(session, board_invalidation.ALL_BOARDS)
    return RebuiltRankedValues(corrected, counts)
