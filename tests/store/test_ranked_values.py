"""Ranked values are proved equal to the scores, rebuilt where they are not, and found by an index."""

from contextlib import nullcontext
from typing import Any

import pytest
from sqlalchemy import delete, event, insert, select, update

from app.actions.operations.rebuild_ranked_values import rebuild_ranked_values
from app.actions.submissions.read_leaderboard import BoardAudience, BoardPage, build_board
from app.store import board_invalidation
from app.store.queries import ranked_values
from app.store.session import Database, ReadSession
from app.store.tables import EntryCount, Phase, RankedValue, Score
from app.store.types import new_id
from benchmarks.board_store import fill
from tests.store.database_marks import only_postgresql

TEAMS, ENTRIES = 5, 4
SCORES = 1500  # of one submission: more than a statement may have parameters
MAX_PARAMETERS = 1000  # PostgreSQL takes 65535; however many a statement has, scores must not add to them


@pytest.fixture
def filled(db: Database) -> Database:
    fill(db, TEAMS, ENTRIES)
    return db


def outdated(session: ReadSession) -> tuple[int, int]:
    """How many submissions and counts do not follow from the scores."""
    ids = ranked_values.submission_ids(session, before=None, limit=1000)
    assert len(ids) == TEAMS * ENTRIES
    return len(ranked_values.outdated_submissions(session, ids)), len(ranked_values.wrong_counts(session))


def board(session: ReadSession, page: BoardPage | None = None) -> dict[str, Any]:
    found, rows, _ = build_board(
        session, BoardAudience(session.query(Phase).one(), organizer=True), split=None, metric=None, page=page
    )
    return found | {"rows": list(rows.load(lambda: nullcontext(session)))}


DAMAGES = {
    "a key": (update(RankedValue).values(ranking_key=RankedValue.ranking_key * 0.5), (20, 0)),
    "lost values": (delete(RankedValue), (20, 5)),
    "a team": (update(RankedValue).where(RankedValue.team_id.is_not(None)).values(provenance="0" * 32), (20, 10)),
    "lost counts": (delete(EntryCount), (0, 5)),
    "counts": (update(EntryCount).values(entries=7), (0, 5)),
}


@pytest.mark.both_databases
@pytest.mark.parametrize("name", DAMAGES)
def test_every_difference_is_found_and_repaired(filled: Database, name: str) -> None:
    with filled.read() as session:
        before = board(session)
        assert outdated(session) == (0, 0)
    damage, seen = DAMAGES[name]
    with filled.write() as session:
        session.execute(damage)
    with filled.read() as session:
        assert outdated(session) == seen
        board(session)  # may be wrong, but is no error
    invalidations: list[frozenset[str]] = []
    filled.on_invalidation(invalidations.append)
    assert rebuild_ranked_values(filled).submissions == seen[0]
    assert {board_invalidation.ALL_BOARDS} in invalidations
    with filled.read() as session:
        assert outdated(session) == (0, 0)
        assert board(session) == before


@pytest.mark.ci
@only_postgresql
def test_submissions_with_many_scores_are_checked_and_repaired(filled: Database) -> None:
    """A store that was rescored often has more scores of the submissions of a batch than a statement has parameters."""
    counts: list[int] = []

    def record(_connection: Any, _cursor: Any, _statement: str, parameters: Any, *_more: Any) -> None:
        sets = parameters if isinstance(parameters, list) else [parameters]  # a statement that runs many times has many
        counts.extend(len(each) for each in sets)

    with filled.write() as session:
        columns = ("submission_id", "gold_id", "recipe_id", "split")
        known = session.execute(select(*(getattr(Score, name) for name in columns)).limit(1)).mappings().one()
        rows = [{**known, "id": new_id(), "scorer_version": 100 + number} for number in range(SCORES)]
        session.connection().execute(insert(Score.__table__), [row | {"metrics": {}} for row in rows])
    for engine in (filled._read, filled._write):
        event.listen(engine, "before_cursor_execute", record)
    assert rebuild_ranked_values(filled).submissions == 1
    with filled.read() as reader:
        assert outdated(reader) == (0, 0)
    assert max(counts) <= MAX_PARAMETERS


@pytest.mark.both_databases
def test_a_board_reads_its_entries_by_the_indexes(filled: Database) -> None:
    """Neither database scans ranked values or submissions; both would do so for a condition that fits no index."""
    statements: list[tuple[str, Any]] = []
    engine = filled._read

    def record(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        statements.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", record)
    with filled.read() as session:
        board(session)
        board(session, BoardPage(1))
    event.remove(engine, "before_cursor_execute", record)
    explain = "EXPLAIN QUERY PLAN " if filled.sqlite else "EXPLAIN "
    with engine.connect() as connection:
        if not filled.sqlite:  # or it would scan tables of so few rows
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        plans = [
            "\n".join(str(row[-1]) for row in connection.exec_driver_sql(explain + statement, parameters))
            for statement, parameters in statements
            if any(words in statement for words in ("ranked_values", "_at IS NOT NULL", "ORDER BY submissions"))
        ]
    assert any("ix_ranked_values_entries" in plan for plan in plans)
    assert any("ix_submissions_off_board" in plan for plan in plans)
    assert any("ix_submissions_baseline" in plan for plan in plans)
    assert any("ix_submissions_submitted_at" in plan for plan in plans)
    if filled.sqlite:  # of so few rows PostgreSQL may read any index
        assert any("ix_teams_marked" in plan and "ix_registrations_barred" in plan for plan in plans)
    scanned = ("SCAN ranked_values", "SCAN best", "SCAN submissions", "SCAN scores", "Seq Scan on")
    assert not [plan for plan in plans if any(words in plan for words in scanned)]
