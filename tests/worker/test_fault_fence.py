"""A worker that lost its task changes nothing, and crashes and interruptions count up to their caps."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, text

from app.actions.scoring_tasks.claim_tasks import ClaimedTask, claim_tasks
from app.actions.scoring_tasks.rescore_group import claim_rescoring_group, rescore_group
from app.actions.scoring_tasks.score_submission import release_task, requeue_expired_leases
from app.queue.local import LocalQueue
from app.scoring import SCORER_VERSION
from app.scoring_processes import ScoringProcessCrashed
from app.settings import Settings
from app.store import clock
from app.store.queries import tasks
from app.store.tables import QuotaEntry, ScoreTask, Submission
from app.task_priorities import RESCORING_PRIORITY, SUBMISSION_PRIORITY
from app.worker.process_pool import ScoringProcessPool
from app.worker.process_settings import create_process_pool
from tests import preloaded_scoring
from tests.worker.fault_store import CAPS, Dying, Interrupted, Store, score_submission


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScoringProcessPool]:
    made = create_process_pool(Settings(data_dir=tmp_path_factory.mktemp("pool")), 1)
    with preloaded_scoring.use_preloaded_scoring(preloaded_scoring.loader()):
        yield made
    made.close()


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    made = Store(settings)
    yield made
    made.db.close()


@pytest.mark.both_databases
def test_a_worker_that_lost_its_task_to_another_one_writes_nothing(store: Store, pool: ScoringProcessPool) -> None:
    old = store.claim()
    newer: list[ClaimedTask] = []

    def taken_over() -> None:
        assert store.requeue() == 1
        newer.append(store.claim())

    assert score_submission(store.bench(Interrupted(pool, taken_over)), old) is None
    assert store.state() == ("running", "running", ["reserve"], 0)
    assert newer[0].attempt == old.attempt + 1
    with store.db.read() as session:
        submission = session.scalars(select(Submission)).one().id
    assert score_submission(store.bench(pool), newer[0]) == submission
    settled = ("done", "finished", ["reserve", "charge"], 1)
    assert store.state() == settled
    # Late ones of either attempt find nothing to do.
    for claim in (old, *newer):
        assert score_submission(store.bench(pool), claim) is None
    assert store.state() == settled


def test_a_crash_of_a_lost_attempt_is_not_counted(store: Store, pool: ScoringProcessPool) -> None:
    old = store.claim()
    store.requeue()
    newer = store.claim()

    def died() -> None:
        raise ScoringProcessCrashed("late")

    assert score_submission(store.bench(Interrupted(pool, died)), old) is None
    assert store.task().crashes == 0
    with store.db.write() as session:
        assert release_task(session, store.bench(pool), old) is None
    assert (store.task().status, store.task().attempt) == ("running", newer.attempt)


def test_crashes_fail_a_task_at_their_cap_with_a_reason_and_a_refund(store: Store) -> None:
    assert score_submission(store.bench(Dying()), store.claim()) is None
    assert store.state() == ("queued", "queued", ["reserve"], 0)
    assert score_submission(store.bench(Dying()), store.claim()) is not None
    assert store.state() == ("failed", "failed", ["reserve", "refund"], 0)
    with store.db.read() as session:
        failure = session.scalars(select(Submission)).one().failure
    assert failure == {"code": "crashed", "detail": "Scoring ended 2 times: it ended with status -9"}


def test_a_retry_takes_another_turn_after_a_crash_but_not_after_an_interruption(store: Store) -> None:
    first = store.task().turn
    store.claim()
    assert store.requeue() == 1
    assert store.task().turn == first
    assert score_submission(store.bench(Dying()), store.claim()) is None
    assert store.task().turn == first + 1


@pytest.mark.both_databases
def test_interruptions_requeue_a_task_until_their_cap_and_then_fail_it(store: Store) -> None:
    for number in (1, 2):
        store.claim()
        assert store.requeue() == 1
        assert store.state() == ("queued", "queued", ["reserve"], 0)
        assert store.task().interruptions == number
        assert store.task().crashes == 0
    store.claim()
    assert store.requeue() == 1
    assert store.state() == ("failed", "failed", ["reserve", "refund"], 0)
    assert store.task().failure == {"code": "interrupted", "detail": "Scoring was interrupted 3 times."}
    assert store.requeue() == 0


@pytest.mark.both_databases
def test_each_interruption_waits_longer_than_the_one_before(store: Store) -> None:
    store.claim()
    store.requeue()
    assert store.task().not_before is None
    store.claim()
    with store.db.read() as session:
        before = clock.steady(session)
    store.requeue()
    until = store.task().not_before
    with store.db.read() as session:
        after = clock.steady(session)
    assert until is not None
    assert before <= until - timedelta(seconds=1) <= after


@pytest.mark.both_databases
@pytest.mark.parametrize(("priority", "jobs"), [(SUBMISSION_PRIORITY, 1), (RESCORING_PRIORITY, 0)])
def test_a_requeued_task_wakes_the_queue_unless_it_is_a_rescoring(store: Store, priority: int, jobs: int) -> None:
    with store.db.write() as session:
        task = session.scalars(select(ScoreTask)).one()
        task.priority, task.status = priority, "running"
    assert store.requeue() == 1
    assert store.task().status == "queued"
    if isinstance(store.queue, LocalQueue):
        assert store.queue._wake_event.is_set() == bool(jobs)
        return
    with store.db.read() as session:
        assert session.scalar(text("SELECT count(*) FROM procrastinate_jobs")) == jobs


@pytest.mark.both_databases
def test_a_task_whose_lease_ran_out_is_given_back_as_an_interruption(store: Store, pool: ScoringProcessPool) -> None:
    lost = store.claim()
    with store.db.write() as session:
        assert (
            requeue_expired_leases(session, store.bench(pool)) == []
        )  # an embedded claim has no lease that could run out
        tasks.renew_leases(session, [(lost.task_id, lost.attempt)], timedelta(seconds=-1))
    with store.db.write() as session:
        assert requeue_expired_leases(session, store.bench(pool)) == [lost.task_id]
    claimed = store.claim()
    assert claimed.attempt == lost.attempt + 1
    assert store.task().interruptions == 1
    assert score_submission(store.bench(pool), lost) is None
    assert score_submission(store.bench(pool), claimed) is not None
    assert store.state() == ("done", "finished", ["reserve", "charge"], 1)


def test_leases_that_run_out_again_and_again_fail_the_task_at_the_cap_and_give_back_the_quota(
    store: Store, pool: ScoringProcessPool
) -> None:
    for _ in range(CAPS.interruptions + 1):
        claim = store.claim()
        with store.db.write() as session:
            tasks.renew_leases(session, [(claim.task_id, claim.attempt)], timedelta(seconds=-1))
        with store.db.write() as session:
            requeue_expired_leases(session, store.bench(pool))
    assert store.state() == ("failed", "failed", ["reserve", "refund"], 0)
    assert store.task().interruptions == CAPS.interruptions + 1


def test_a_file_that_comes_back_is_scored_as_if_nothing_had_been(store: Store, pool: ScoringProcessPool) -> None:
    folder = store.files.root / "uploads"
    away = folder.rename(folder.with_name("away"))
    assert score_submission(store.bench(pool), store.claim()) is None
    assert store.state()[:2] == ("queued", "queued")
    away.rename(folder)
    assert score_submission(store.bench(pool), store.claim()) is not None
    assert store.state() == ("done", "finished", ["reserve", "charge"], 1)


def test_a_lost_file_fails_the_submission_with_a_reason_once_all_retries_are_used(
    store: Store, pool: ScoringProcessPool
) -> None:
    with store.db.read() as session:
        store.files.delete(session.scalars(select(Submission)).one().file_key)
    caps = replace(CAPS, interruptions=0)
    assert score_submission(store.bench(pool, caps), store.claim()) is not None
    assert store.state() == ("failed", "failed", ["reserve", "refund"], 0)
    failure = store.task().failure
    assert failure is not None
    assert failure["code"] == "file_lost"
    assert "uploads" not in failure["detail"]


def test_a_scoring_program_that_cannot_start_is_an_interruption_and_no_crash(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.worker.process_pool.SCORING_PROCESS_MODULE", "app.no_such_program")
    children = create_process_pool(Settings(workers=1), 1)
    try:
        assert score_submission(store.bench(children), store.claim()) is None
    finally:
        children.close()
    task = store.task()
    assert (task.status, task.interruptions, task.crashes) == ("queued", 1, 0)


def test_a_newer_scorer_that_comes_second_leaves_the_status_and_the_ledger_as_they_are(
    store: Store, pool: ScoringProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert score_submission(store.bench(pool), store.claim()) is not None
    with store.db.write() as session:
        task = session.scalars(select(ScoreTask)).one()
        task.status, task.scorer_version = "queued", SCORER_VERSION + 1
        assert claim_tasks(session, store.queue, 1) == []  # it is no work of this version
    monkeypatch.setattr("app.actions.scoring_tasks.claim_tasks.SCORER_VERSION", SCORER_VERSION + 1)
    assert score_submission(store.bench(pool), store.claim()) is None
    assert store.state() == ("done", "finished", ["reserve", "charge"], 2)


def replace_predictions(store: Store, content: Any, *, scorer_version: int, priority: int) -> None:
    """Queue the task again, for other predictions and perhaps another scorer version."""
    with store.db.write() as session:
        session.scalars(select(Submission)).one().file_key = store.keep(content)
        task = session.scalars(select(ScoreTask)).one()
        task.status, task.scorer_version, task.priority = "queued", scorer_version, priority


def test_a_newer_scorer_that_refuses_a_scored_file_fails_its_task_and_changes_nothing_else(
    store: Store, pool: ScoringProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert score_submission(store.bench(pool), store.claim()) is not None
    newer = SCORER_VERSION + 1
    replace_predictions(store, {"t1": "zebra"}, scorer_version=newer, priority=SUBMISSION_PRIORITY)
    monkeypatch.setattr("app.actions.scoring_tasks.claim_tasks.SCORER_VERSION", newer)
    assert score_submission(store.bench(pool), store.claim()) is None
    assert store.state() == ("failed", "finished", ["reserve", "charge"], 1)
    failure = store.task().failure
    assert failure is not None
    assert failure["code"] == "refused_again"
    assert "unknown_label: 1" in failure["detail"]


@pytest.mark.both_databases
@pytest.mark.parametrize(("newer", "status"), [(0, "done"), (1, "failed")])
def test_a_rescoring_that_refuses_a_scored_file_leaves_the_stored_scores(
    store: Store, pool: ScoringProcessPool, monkeypatch: pytest.MonkeyPatch, newer: int, status: str
) -> None:
    assert score_submission(store.bench(pool), store.claim()) is not None
    version = SCORER_VERSION + newer
    replace_predictions(store, [1, 2], scorer_version=version, priority=RESCORING_PRIORITY)
    monkeypatch.setattr("app.actions.scoring_tasks.rescore_group.SCORER_VERSION", version)
    with store.db.write() as session:
        group = claim_rescoring_group(session, None)
    assert group is not None
    rescore_group(store.bench(pool), group, lambda: True, lambda _: None)
    assert store.state() == (status, "finished", ["reserve", "charge"], 1)
    task = store.task()
    if newer:
        assert (task.difference, (task.failure or {})["code"]) == (None, "refused_again")
    else:
        assert task.failure is None
        assert (task.difference or {})["refused"]["wrong_shape"] >= 1


def test_an_older_scorer_that_gives_up_leaves_the_submission_to_a_newer_one(
    store: Store, pool: ScoringProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.db.write() as session:
        of = session.scalars(select(ScoreTask)).one()
        names = ("submission_id", "gold_id", "recipe_id")
        key = {name: getattr(of, name) for name in names} | {"scorer_version": SCORER_VERSION + 1}
        newer = tasks.add(session, **key)
    assert score_submission(store.bench(Dying(), replace(CAPS, crashes=1)), store.claim()) is None
    with store.db.read() as session:
        statuses = list(session.scalars(select(ScoreTask.status).order_by(ScoreTask.scorer_version)))
        assert (statuses, session.scalars(select(Submission)).one().failure) == (["failed", "queued"], None)
    monkeypatch.setattr("app.actions.scoring_tasks.claim_tasks.SCORER_VERSION", SCORER_VERSION + 1)
    claim = store.claim()
    assert claim.task_id == newer
    assert score_submission(store.bench(pool), claim) is not None
    with store.db.read() as session:
        assert session.scalars(select(Submission)).one().status == "finished"
        assert list(session.scalars(select(QuotaEntry.kind).order_by(QuotaEntry.id))) == ["reserve", "charge"]
