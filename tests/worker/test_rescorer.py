"""Scoring again steps back for new submissions."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import select

from app.actions.scoring_tasks.score_submission import RetryLimits, WorkerContext
from app.errors import DatabaseUnavailable
from app.files.folder import FolderFileStore
from app.queue import TaskClaim
from app.queue.local import LocalQueue
from app.scoring_processes.messages import FileResult, Reply, Request, ScorePredictions
from app.settings import Settings
from app.store.session import Database
from app.store.tables import ScoreTask, Submission
from app.task_priorities import RESCORING_PRIORITY
from app.worker.rescorer import MAX_SUBMISSIONS_BEFORE_RESCORING, Rescorer, ScoringSlots
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.migrated_databases import migrate_by_copy
from tests.store.sample_rows import fill_tables


def test_a_free_place_is_one_that_no_submission_needs() -> None:
    places = ScoringSlots(2)
    with ThreadPoolExecutor(1) as pool:
        assert places.acquire_rescoring_slot()
        with places.submission_slot():
            waiting = pool.submit(places.acquire_rescoring_slot)
            with places.submission_slot():  # taken at once, though both children are at work
                places.release_rescoring_slot()
                assert not threading.Event().wait(0.1)
                assert not waiting.done()
        assert waiting.result(MAX_WAIT_SECONDS)
        assert places.acquire_rescoring_slot()
        last = pool.submit(places.acquire_rescoring_slot)
        places.end()
        assert last.result(MAX_WAIT_SECONDS) is False


class Away(Database):
    """A database that is away when it is written for the second time."""

    writes = 0

    def write(self, *, durable: bool = True) -> Any:
        """A session, as ever but for that."""
        self.writes += 1
        if self.writes == 2:
            raise DatabaseUnavailable
        return super().write(durable=durable)


class Refusing:
    """Children that refuse every file."""

    prepared_gold = None

    def call(self, request: Request) -> Reply:
        """The answer to whatever is to be scored."""
        assert isinstance(request, ScorePredictions)
        return FileResult(valid=False, total={"unknown_id": 1}, problems=[])

    def close(self) -> None:
        """There is nothing to end."""


def test_what_was_claimed_before_the_database_went_away_is_worked_on(settings: Settings) -> None:
    migrate_by_copy(settings)
    files, db, stop = FolderFileStore(settings), Away(settings), threading.Event()
    upload = files.begin()
    upload.write(b"[]")
    key = upload.finish().key
    with closing(Database(settings)) as beside:
        with beside.write() as session:
            session.get_one(Submission, fill_tables(session).submission).file_key = key
            session.scalars(select(ScoreTask)).one().priority = RESCORING_PRIORITY
        bench = WorkerContext(db, files, Refusing(), LocalQueue(lambda _count, _woken: [], 1), RetryLimits(2, 2))
        lost: list[TaskClaim] = []
        rescorer = Rescorer(bench, 2, None, lost.append)

        def done() -> bool:
            with beside.read() as session:
                return session.scalars(select(ScoreTask.status)).one() == "done"

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(rescorer.run, stop)
            try:
                eventually(done, "it is scored again")
            finally:
                stop.set()
                rescorer.end()
            running.result(MAX_WAIT_SECONDS)
        assert (lost, rescorer.active_claims()) == ([], [])
    db.close()


def test_a_group_that_cannot_be_settled_is_handed_over_for_release(settings: Settings) -> None:
    migrate_by_copy(settings)
    files, db, lost = FolderFileStore(settings), Away(settings), list[TaskClaim]()
    upload = files.begin()
    upload.write(b"[]")
    key = upload.finish().key
    with closing(Database(settings)) as other, other.write() as session:
        session.get_one(Submission, fill_tables(session).submission).file_key = key
        session.scalars(select(ScoreTask)).one().priority = RESCORING_PRIORITY
    context = WorkerContext(db, files, Refusing(), LocalQueue(lambda _count, _woken: [], 1), RetryLimits(2, 2))
    rescorer = Rescorer(context, 1, None, lost.append)
    (claim,) = rescorer._claim(1, False)
    with pytest.raises(DatabaseUnavailable):
        rescorer._work(claim, lambda: False)
    assert (lost, rescorer.active_claims()) == ([claim], [])
    db.close()


def test_scoring_again_steps_back_for_new_submissions_and_yet_never_starves() -> None:
    places, began = ScoringSlots(2), threading.Semaphore(0)

    def again() -> None:
        while places.acquire_rescoring_slot():
            began.release()
            places.release_rescoring_slot()

    with ThreadPoolExecutor(1) as pool:
        with places.submission_slot(), places.submission_slot():  # no child is free, and none will be
            running = pool.submit(again)
            for _ in range(MAX_SUBMISSIONS_BEFORE_RESCORING - 3):
                with places.submission_slot():
                    pass
            assert not began.acquire(timeout=0.2)
            for _ in range(2):
                with places.submission_slot():
                    pass
            assert began.acquire(timeout=MAX_WAIT_SECONDS)
            assert not began.acquire(timeout=0.2), "one, and no more than that"
        assert began.acquire(timeout=MAX_WAIT_SECONDS)
        places.end()
        running.result(MAX_WAIT_SECONDS)


def test_one_rescoring_at_a_time_runs_without_a_free_slot() -> None:
    slots = ScoringSlots(1)

    def score_submissions() -> None:
        for _ in range(MAX_SUBMISSIONS_BEFORE_RESCORING):
            with slots.submission_slot():
                pass

    with slots.submission_slot():
        score_submissions()
        assert slots.acquire_rescoring_slot()
        score_submissions()
        assert not slots._may_begin()
        slots.release_rescoring_slot()
        assert slots.acquire_rescoring_slot()
        slots.release_rescoring_slot()
        assert not slots._may_begin()
