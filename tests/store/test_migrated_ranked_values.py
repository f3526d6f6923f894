"""The migration that adds ranked values derives them from stored scores exactly as the program does."""

import pytest
from alembic import command
from sqlalchemy import func, select

from app.settings import Settings
from app.store import migrate
from app.store.queries import ranked_values
from app.store.session import Database
from app.store.tables import EntryCount, RankedValue
from tests.store.test_board_entries import BODY, Filled

REVISION_BEFORE = "0012"
VALUES = [0.5, -0.0, None, 1.0, 0.25]
STATUSES = ["finished", "finished", "finished", "failed", "rejected"]


def fill(db: Database) -> list[str]:
    """Submissions with every property on which ranked values depend; returns their ids."""
    with db.write() as session:
        filled = Filled(session, BODY, has_splits=True, anonymous=False)
        for number in range(40):
            value = VALUES[number % len(VALUES)]
            metrics = {"f1_macro": value, "error_rate": value} if number % 7 else {"error_rate": value}
            filled.add(
                session,
                {
                    "team": number % 4,
                    "status": STATUSES[number // 5 % len(STATUSES)],
                    "baseline": number % 6 == 0,
                    "selected": False,
                    "gone": ("withdrawn_at",) if number % 11 == 0 else (),
                    "kind": (),
                    "recipes": [(0,), (0, 1), (2,), ()][number % 4],
                    "versions": (1, 2) if number % 3 else (1,),
                    "splits": dict.fromkeys(("all", "public", "private"), metrics),
                    "age": 0,
                    "as_object": bool(number % 2),
                },
            )
    return filled.submissions


@pytest.mark.both_databases
def test_an_upgrade_derives_the_ranked_values_of_stored_scores(settings: Settings, db: Database) -> None:
    submissions = fill(db)
    counts = [select(func.count()).select_from(table) for table in (RankedValue, EntryCount)]
    entries = select(EntryCount.provenance, EntryCount.team_id, EntryCount.entries).where(EntryCount.entries > 0)
    with db.read() as session:
        rows, kept = session.scalar(counts[0]), set(session.execute(entries).all())
    assert rows
    assert kept
    db.close()
    configuration = migrate.alembic_config()
    with db.engine().begin() as connection:
        configuration.attributes["connection"] = connection
        command.downgrade(configuration, REVISION_BEFORE)
    migrate.upgrade(settings)
    with db.read() as session:
        assert session.scalar(counts[0]) == rows
        assert set(session.execute(entries).all()) == kept
        assert ranked_values.outdated_submissions(session, submissions) == []
        assert ranked_values.wrong_counts(session) == []
