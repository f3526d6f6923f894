"""What a settlement left out that committed beside a switch of its board: its task and its log record are added."""

from datetime import timedelta

from sqlalchemy import delete, select

from app.actions.versions.complete_boards import complete_boards, phases_changed_since
from app.queue.local import LocalQueue
from app.scoring import SCORER_VERSION
from app.store.session import Database
from app.store.tables import BoardSwitch, LogRecord, Phase, Receipt, Score, ScoreTask, Submission
from app.store.types import utcnow
from tests.store.sample_rows import fill_tables

HOUR = timedelta(hours=1)


def test_a_task_and_a_log_record_are_added_once(db: Database) -> None:
    queue = LocalQueue(lambda _count, _woken: [], 1)
    with db.write() as session:
        ids = fill_tables(session)
        phase = session.get_one(Phase, ids.phase)
        slug, phase.scorer_version = phase.challenge.slug, SCORER_VERSION
        session.get_one(Submission, ids.submission).status = "finished"
        session.scalars(select(BoardSwitch)).one().switched_at = utcnow()
        session.flush()
        for table in (ScoreTask, Score):
            session.execute(delete(table))
    with db.read() as session:
        assert phases_changed_since(session, utcnow() + HOUR) == []
        assert phases_changed_since(session, None) == [(ids.phase, slug)]
        phases = phases_changed_since(session, utcnow() - HOUR)
    assert complete_boards(db, queue, phases) == 1
    assert complete_boards(db, queue, phases) == 0
    with db.read() as session:
        task = session.scalars(select(ScoreTask)).one()
        assert (task.submission_id, task.gold_id, task.status) == (ids.submission, ids.gold, "queued")
        receipt = session.scalars(select(Receipt)).one()
        logged = select(LogRecord).where(LogRecord.kind == "receipt")
        assert [row.object_id for row in session.scalars(logged)] == [receipt.id]


def test_a_released_phase_is_a_changed_one(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        session.execute(delete(BoardSwitch))
    with db.read() as session:
        assert phases_changed_since(session, None) == []
    with db.write() as session:
        session.get_one(Phase, ids.phase).released_at = utcnow()
    with db.read() as session:
        assert [phase.id for phase in phases_changed_since(session, utcnow() - HOUR)] == [ids.phase]


def test_scores_of_another_scorer_version_are_left_to_its_workers(db: Database) -> None:
    queue = LocalQueue(lambda _count, _woken: [], 1)
    with db.write() as session:
        ids = fill_tables(session)
        session.get_one(Phase, ids.phase).scorer_version = SCORER_VERSION - 1
        session.get_one(Submission, ids.submission).status = "finished"
        session.flush()
        for table in (ScoreTask, Score):
            session.execute(delete(table))
    with db.read() as session:
        phases = phases_changed_since(session, None)
    assert complete_boards(db, queue, phases) == 0
    with db.read() as session:
        assert session.scalars(select(ScoreTask)).all() == []
