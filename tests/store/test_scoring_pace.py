"""When a waiting submission will be scored, from the durations of the newest scorings."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import event, text

from app.actions.operations.read_backlog import BacklogCollector
from app.settings import Settings
from app.store import clock
from app.store.queries import scoring_pace, workers
from app.store.queries.scoring_pace import CACHE_SECONDS, SAMPLE_SIZE, ScoringPace
from app.store.session import SHARED_CACHE, Database
from app.task_priorities import RESCORING_PRIORITY, SUBMISSION_PRIORITY
from tests.store.sample_rows import RowIds, add_row, fill_tables, submission, task


@pytest.fixture
def row_ids(db: Database) -> RowIds:
    with db.write() as session:
        found = fill_tables(session)
        workers.remove_all(session)
        return found


def score_tasks(db: Database, row_ids: RowIds, *seconds: float, priority: int = 0) -> None:
    """Store a scored task for each duration, the newest last."""
    with db.write() as session:
        now = clock.now(session)
        for duration in seconds:
            sent = add_row(session, submission(row_ids.phase, row_ids.team, row_ids.user, status="finished"))
            times = {"started_at": now - timedelta(seconds=duration), "finished_at": now}
            add_row(session, task(sent, row_ids.gold, row_ids.recipe, status="done", priority=priority, **times))


def read_pace(db: Database) -> ScoringPace | None:
    with db.read() as session:
        session.info[SHARED_CACHE].clear()
        return scoring_pace.recent(session)


def register_workers(db: Database, *slots: int) -> None:
    with db.write() as session:
        now = clock.steady(session)
        for number, count in enumerate(slots):
            workers.record_heartbeat(session, f"w{number}", name="w", slots=count, now=now, claimed_at=None)


def test_a_worker_that_is_heard_again_stays_one_worker(db: Database, row_ids: RowIds) -> None:
    register_workers(db, 2, 3)
    with db.write() as session:
        later = clock.steady(session) + timedelta(seconds=1)
        workers.record_heartbeat(session, "w1", name="w", slots=3, now=later, claimed_at=later)
    with db.read() as session:
        assert [(row.id, row.slots) for row in workers.all_workers(session)] == [("w0", 2), ("w1", 3)]
        assert [row.claimed_at for row in workers.all_workers(session)] == [None, later]


@pytest.mark.both_databases
def test_the_pace_is_the_mean_of_the_newest_first_scorings_and_all_slots(
    db: Database, row_ids: RowIds, settings: Settings
) -> None:
    assert read_pace(db) is None  # nothing was scored yet
    score_tasks(db, row_ids, 1000.0, *[2.0] * (SAMPLE_SIZE // 2), *[4.0] * (SAMPLE_SIZE // 2))
    score_tasks(db, row_ids, 500.0, priority=RESCORING_PRIORITY)  # only compares values
    if not db.sqlite:
        assert read_pace(db) is None  # no worker
        register_workers(db, 2, 3)
    pace = read_pace(db)
    assert pace is not None
    assert pace.mean_seconds == pytest.approx(3.0)
    assert pace.slots == (settings.workers if db.sqlite else 5)
    assert replace(pace, mean_seconds=3.0, slots=5).seconds_until_scored(10) == 3.0 * 10 / 5 + 3.0


@pytest.mark.parametrize(
    ("durations", "mean"),
    [((0.4271, 0.4288), 0.4), ((0.041,), 0.04), ((17.0, 18.0, 17.5), 20.0), ((0.0,), 0.0)],
)
def test_the_pace_does_not_tell_exact_durations(
    db: Database, row_ids: RowIds, durations: tuple[float, ...], mean: float
) -> None:
    """They depend on the gold, and participants can find out exactly when their `eta` changes."""
    score_tasks(db, row_ids, *durations)
    register_workers(db, 1)
    pace = read_pace(db)
    assert pace is not None
    assert pace.mean_seconds == mean
    assert pace.seconds_until_scored(1000) == mean * (1000 / pace.slots + 1)


def estimated_seconds(db: Database) -> float | None:
    """The value of `assay_queue_eta_seconds`; None if the metric is absent."""
    with db.read() as session:
        session.info[SHARED_CACHE].clear()
    with pytest.MonkeyPatch.context() as patch:  # a slow machine is not a database that does not answer
        patch.setattr("app.actions.operations.read_backlog.MAX_WAIT_SECONDS", 60.0)
        metrics = {metric.name: metric for metric in BacklogCollector(db, timedelta(minutes=1)).collect()}
    assert metrics["assay_database_up"].samples[0].value == 1.0
    found = metrics.get("assay_queue_eta_seconds")
    return None if found is None else float(found.samples[0].value)


@pytest.mark.both_databases
def test_the_queue_is_expected_to_be_scored_at_the_pace_without_rescoring(
    db: Database, row_ids: RowIds, settings: Settings
) -> None:
    with db.write() as session:
        session.execute(text("UPDATE score_tasks SET status = 'cancelled'"))
    assert estimated_seconds(db) == 0.0  # nothing waits
    with db.write() as session:
        for priority in (SUBMISSION_PRIORITY, SUBMISSION_PRIORITY, RESCORING_PRIORITY):
            sent = add_row(session, submission(row_ids.phase, row_ids.team, row_ids.user))
            add_row(session, task(sent, row_ids.gold, row_ids.recipe, status="queued", priority=priority))
    assert estimated_seconds(db) is None  # nothing was scored yet
    score_tasks(db, row_ids, 3.0)
    if not db.sqlite:
        assert estimated_seconds(db) is None  # no worker
        register_workers(db, 2, 3)
    assert estimated_seconds(db) == pytest.approx(3.0 * (2 / (settings.workers if db.sqlite else 5) + 1))


@pytest.mark.both_databases
def test_an_eta_follows_the_clock_of_the_database_without_asking_it_again(
    db: Database, row_ids: RowIds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.store.queries.scoring_pace.time.monotonic", lambda: 1000.0)
    score_tasks(db, row_ids, 2.0)
    register_workers(db, 1)
    with db.read() as session:
        before = clock.now(session)
    pace = read_pace(db)
    with db.read() as session:
        after = clock.now(session)
    assert pace is not None
    soon, wait = pace.eta(1), timedelta(seconds=pace.seconds_until_scored(1))
    assert before + wait <= soon <= after + wait
    monkeypatch.setattr("app.store.queries.scoring_pace.time.monotonic", lambda: 1003.0)
    assert pace.eta(1) == soon + timedelta(seconds=3)


def test_the_pace_is_read_now_and_then_for_all_replies(
    db: Database, row_ids: RowIds, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("app.store.queries.scoring_pace.time.monotonic", lambda: now[0])
    score_tasks(db, row_ids, 1.0)
    register_workers(db, 1)
    sent: list[str] = []
    event.listen(db._read, "before_cursor_execute", lambda *given: sent.append(given[2]))
    for seconds, expected in ((0.0, 1), (0.9 * CACHE_SECONDS, 1), (0.2 * CACHE_SECONDS, 2)):
        now[0] += seconds
        with db.read() as session:
            assert scoring_pace.recent(session) is not None
        assert sum("finished_at" in statement for statement in sent) == expected


@pytest.mark.both_databases
def test_the_newest_scorings_are_found_by_an_index(db: Database, row_ids: RowIds) -> None:
    score_tasks(db, row_ids, *[1.0] * 5)
    statement = str(scoring_pace._NEWEST.compile(db._read, compile_kwargs={"literal_binds": True}))
    with db.read() as session:
        if not db.sqlite:  # so few rows would not be worth an index
            session.execute(text("SET LOCAL enable_seqscan = off"))
        explain = "EXPLAIN QUERY PLAN " if db.sqlite else "EXPLAIN "
        plan = "\n".join(map(str, session.execute(text(explain + statement))))
    assert "ix_score_tasks_claim" in plan
    assert "Sort" not in plan
    assert "TEMP B-TREE" not in plan
