"""Ranked values are proved equal to the scores, rebuilt where they are not, and found by an index."""

from typing import Any

import pytest
from sqlalchemy import delete, update

from app.actions.operations.rebuild_ranked_values import rebuild_ranked_values
from app.actions.submissions.read_leaderboard import BoardAudience, _build_board
from app.store import board_invalidation
from app.store.queries import ranked_values
from app.store.session import Database, ReadSession
from app.store.tables import EntryCount, Phase, RankedValue
from benchmarks.board_store import fill

TEAMS, ENTRIES = 5, 4


@pytest.fixture
def filled(db: Database) -> Database:
    fill(db, TEAMS, ENTRIES)
    return db


def outdated(session: ReadSession) -> tuple[int, int]:
    """How many submissions and counts do not follow from the scores."""
    ids = ranked_values.submission_ids(session, before=None, limit=1000)
    assert len(ids) == TEAMS * ENTRIES
    return len(ranked_values.outdated_submissions(session, ids)), len(ranked_values.wrong_counts(session))


def board(session: ReadSession) -> dict[str, Any]:
    found = _build_board(
        session, BoardAudience(session.query(Phase).one(), organizer=True), split=None, metric=None, page=None
    )
    return found[0] | {"rows": list(found[0]["rows"])}


DAMAGES = {
    "a key": (update(RankedValue).values(ranking_key=RankedValue.ranking_key * 0.5), (20, 0)),
    "lost values": (delete(RankedValue), (20, 5)),
    "a team": (update(RankedValue).where(RankedValue.team_id.is_not(None)).values(provenance="0" * 32), (20, 10)),
    "lost counts": (delete(EntryCount), (0, 5)),
    "counts": (update(EntryCount).values(entries=7), (0, 5)),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_whatever_differs_is_seen_and_derived_again(filled: Database, name: str) -> None:
    with filled.read() as session:
        before = board(session)
        assert outdated(session) == (0, 0)
    damage, seen = DAMAGES[name]
    with filled.write() as session:
        session.execute(damage)
    with filled.read() as session:
        assert outdated(session) == seen
    invalidations: list[frozenset[str]] = []
    filled.on_invalidation(invalidations.append)
    assert rebuild_ranked_values(filled).submissions == seen[0]
    assert {board_invalidation.ALL_BOARDS} in invalidations
    with filled.read() as session:
        assert outdated(session) == (0, 0)
        assert board(session) == before
