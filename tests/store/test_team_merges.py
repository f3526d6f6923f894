"""What a merge reads of the submissions of a team, which may be very many."""

from sqlalchemy import inspect

from app.store.queries import team_merges
from app.store.session import Database
from tests.store.sample_rows import add_row, fill_tables, submission


def test_a_merge_reads_no_problems_and_looks_for_selections_only_where_there_are_any(db: Database) -> None:
    """Problems are 26 KB for each of a team's rejected files, of which it may send thousands."""
    with db.write() as session:
        ids = fill_tables(session)
        rejected = add_row(session, submission(ids.phase, ids.team, ids.user, status="rejected", problems=[{}] * 100))
    with db.write() as session:
        rows = {row.id: row for row in team_merges.lock_submissions_of(session, ids.team)}
        assert {"problems", "problem_totals", "notes"} <= inspect(rows[rejected]).unloaded
        assert rejected not in {row.id for row in team_merges.lock_submissions_of(session, ids.team, selected=True)}
