"""What an order to score a phase again says of its submissions is what it found itself."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete

from app.actions.versions.perform_switch import switch_state
from app.actions.versions.raise_scorer import raise_scorer_version
from app.actions.versions.request_switch import pending_switches
from app.scoring import SCORER_VERSION
from app.store.queries import rescoring_tasks, tasks
from app.store.queries.rescoring_tasks import RescoringResult
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import Database, WriteSession
from app.store.tables import BoardSwitch, Phase, Rerun, ScoreTask, Submission
from app.store.types import utcnow
from tests.store.sample_rows import fill_tables

FOUND = {"count": 1, "values": [], "refused": {}}


def ordered(session: WriteSession) -> tuple[Rerun, ScoreTask]:
    """An order for one submission that differed when it was last scored again."""
    ids = fill_tables(session)
    session.get_one(Submission, ids.submission).status = "finished"
    task = session.query(ScoreTask).one()
    task.status, task.compared_at, task.difference = "done", utcnow(), FOUND
    order = Rerun(phase_id=ids.phase, user_id=ids.user, scorer_version=SCORER_VERSION, total=1)
    session.add(order)
    session.flush()
    assert rescoring_tasks.queue_order(session, order, ScoreProvenance(ids.gold, [ids.recipe], SCORER_VERSION)) == 1
    return order, task


def test_a_difference_is_shown_by_the_order_that_found_it(db: Database) -> None:
    with db.write() as session:
        order, task = ordered(session)
        assert rescoring_tasks.different(session, order.id, 10) == []
        session.refresh(task)
        assert (task.status, task.difference) == ("queued", FOUND)
        task.status = "done"
        session.flush()
        assert [found.id for found, _ in rescoring_tasks.different(session, order.id, 10)] == [task.id]


def test_what_an_order_did_not_come_to_is_as_it_was(db: Database) -> None:
    with db.write() as session:
        order, task = ordered(session)
        rescoring_tasks.withdraw_order(session, order.id, utcnow())
        session.refresh(task)
        assert (task.status, task.difference) == ("done", FOUND)
        assert rescoring_tasks.different(session, order.id, 10) == []


def test_a_withdrawn_order_leaves_a_failed_task_failed(db: Database) -> None:
    with db.write() as session:
        order, task = ordered(session)
        task.failure = {"code": "crashed", "detail": ""}
        session.flush()
        rescoring_tasks.withdraw_order(session, order.id, utcnow())
        session.refresh(task)
        assert (task.status, task.rerun_id) == ("failed", None)


def test_a_cancelled_order_counts_no_task_that_ends_later(db: Database) -> None:
    with db.write() as session:
        order, _ = ordered(session)
        cancelled_at = utcnow() - timedelta(hours=1)
        order.cancelled_at = order.finished_at = cancelled_at
        session.flush()
        rescoring_tasks.add_to_progress(session, [RescoringResult(order.id, different=True)], utcnow())
        session.refresh(order)
        assert (order.done, order.different, order.finished_at) == (0, 0, cancelled_at)


@pytest.mark.both_databases
def test_a_file_beyond_the_size_of_a_group_is_claimed_alone_and_settled_by_its_attempt_only(db: Database) -> None:
    with db.write() as session:
        _, task = ordered(session)
        attempt, limits = task.attempt, {"max_tasks": 9, "max_bytes": 0}
        ((claimed, _),) = rescoring_tasks.claim(session, SCORER_VERSION, **limits, lease=None)
        assert (claimed.id, claimed.attempt) == (task.id, attempt + 1)
    with db.write() as session:
        assert rescoring_tasks.lock_owned(session, [(claimed.id, attempt)]) == {}
        assert list(rescoring_tasks.lock_owned(session, [(claimed.id, attempt + 1)])) == [claimed.id]


def test_a_new_scorer_version_waits_for_a_first_scoring_by_the_old_one(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = SCORER_VERSION + 1
    monkeypatch.setattr("app.actions.versions.raise_scorer.SCORER_VERSION", newer)
    with db.write() as session:
        ids = fill_tables(session)
        session.execute(delete(BoardSwitch))
        session.query(ScoreTask).one().status = "running"
        session.get_one(Submission, ids.submission).status = "running"
        phase = session.get_one(Phase, ids.phase)
        raise_scorer_version(session, phase.id, phase.challenge.slug)
        (switch,) = pending_switches(session)
        assert switch_state(session, switch.id) == "tasks are missing"
        added: dict[str, Any] = {"submission_id": ids.submission, "gold_id": ids.gold, "recipe_id": ids.recipe}
        assert tasks.add(session, **added, scorer_version=newer) is not None
        assert switch_state(session, switch.id) == "waiting"
        session.query(ScoreTask).filter_by(scorer_version=SCORER_VERSION).one().status = "failed"
        assert switch_state(session, switch.id) == "ready"
        session.query(ScoreTask).filter_by(scorer_version=newer).one().status = "running"
        assert switch_state(session, switch.id) == "ready"  # its scores are those of the new version
