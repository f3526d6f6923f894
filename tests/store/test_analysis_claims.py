"""Which analysis a worker claims: boards in the order of their phases' turns, or the intervals that wait longest."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete

from app.scoring import SCORER_VERSION
from app.store.analysis_tables import SIGNIFICANCE
from app.store.queries import analysis_tasks
from app.store.session import Database
from app.store.tables import AnalysisTask, Phase
from app.store.types import utcnow
from tests.store.sample_rows import add_row, fill_tables

SETTINGS: dict[str, Any] = {"lease": None, "interval": timedelta(seconds=30)}


@pytest.fixture
def phases(db: Database) -> tuple[str, str]:
    """Two phases; three metrics of the first one wait to be compared, then one of the second one, and intervals."""
    with db.write() as session:
        ids = fill_tables(session)
        session.execute(delete(AnalysisTask))
        window = {"position": 1, "opens_at": utcnow(), "quota": {}, "leaderboard": "public", "reports": ["scores"]}
        second = add_row(session, Phase(challenge_id=ids.challenge, slug="second", name="second", **window))
        session.get_one(Phase, ids.phase).scorer_version = SCORER_VERSION
        session.get_one(Phase, second).scorer_version = SCORER_VERSION
        for phase, metric in ((ids.phase, "f1_macro"), (ids.phase, "accuracy"), (ids.phase, "mcc"), (second, "mcc")):
            analysis_tasks.request_board(session, phase, SIGNIFICANCE, "all", metric)
        of = {"submission_id": ids.submission, "gold_id": ids.gold, "recipe_id": ids.recipe}
        analysis_tasks.add_intervals(session, of | {"scorer_version": SCORER_VERSION})
        return ids.phase, second


def claims(db: Database, phases: list[str], *, boards_first: bool, count: int) -> list[str | None]:
    """The metrics of the next claims; None for intervals."""
    found: list[str | None] = []
    for _ in range(count):
        with db.write() as session:
            task = analysis_tasks.claim(session, SCORER_VERSION, phases, boards_first=boards_first, **SETTINGS)
            found.append(None if task is None or task.phase_id is None else task.metric)
            assert task is None or task.status == "running"
    return found


@pytest.mark.both_databases
def test_boards_are_claimed_by_the_order_of_phases_and_then_by_how_long_they_waited(
    db: Database, phases: tuple[str, str]
) -> None:
    first, second = phases
    with db.read() as session:
        assert analysis_tasks.phases_with_due_boards(session, SCORER_VERSION) == [first, second]
        assert analysis_tasks.phases_with_due_boards(session, SCORER_VERSION + 1) == []
    assert claims(db, [second, first], boards_first=True, count=3) == ["mcc", "f1_macro", "accuracy"]
    with db.read() as session:
        assert analysis_tasks.phases_with_due_boards(session, SCORER_VERSION) == [first]
    assert claims(db, [first], boards_first=True, count=2) == ["mcc", None]


def test_intervals_come_first_when_it_is_their_turn(db: Database, phases: tuple[str, str]) -> None:
    assert claims(db, list(phases), boards_first=False, count=2) == [None, "f1_macro"]
