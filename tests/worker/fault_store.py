"""A database and files with one submission in the queue, and scoring processes that die or are overtaken."""

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import func, select

from app.actions.scoring_tasks.claim_tasks import ClaimedTask, claim_tasks
from app.actions.scoring_tasks.score_submission import (
    RetryLimits,
    WorkerContext,
    compute_task_outcome,
    requeue_interrupted_tasks,
)
from app.actions.scoring_tasks.settle_in_groups import GroupSettlement
from app.files.folder import FolderFileStore
from app.prepared.gold_folder import PreparedGoldFolder
from app.queue import Queue
from app.queue.jobs import JobTable
from app.queue.local import LocalQueue
from app.scoring_processes import ScoringProcessCrashed, ScoringProcesses
from app.scoring_processes.messages import GoldFileNeeded, Reply, Request, ScorePredictions
from app.settings import Settings
from app.store.session import Database
from app.store.tables import GoldVersion, QuotaEntry, Score, ScoreTask, Submission
from app.worker.process_pool import ScoringProcessPool
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.migrated_databases import migrate_by_copy
from tests.store.sample_rows import fill_tables

CAPS = RetryLimits(crashes=2, interruptions=2)


class Store:
    """A database and files with one submission in the queue, paid for by its team."""

    def __init__(self, settings: Settings) -> None:
        migrate_by_copy(settings)
        self.db = Database(settings)
        self.files = FolderFileStore(settings)
        self.queue: Queue = LocalQueue(lambda _count, _woken: [], slots=1) if self.db.sqlite else JobTable()
        with self.db.write() as session:
            ids = fill_tables(session)
            session.get_one(GoldVersion, ids.gold).file_key = self.keep(GOLD)
            session.get_one(Submission, ids.submission).file_key = self.keep(CORRECT_PREDICTIONS)
            session.delete(session.scalars(select(Score)).one())

    def keep(self, content: Any) -> str:
        """Store this as a file; gives its key."""
        upload = self.files.begin()
        upload.write(json.dumps(content).encode())
        return upload.finish().key

    def claim(self) -> ClaimedTask:
        """Claim the task."""
        with self.db.write() as session:
            for task in session.scalars(select(ScoreTask)):
                task.not_before = None  # whatever it was made to wait for is over
            session.flush()
            (claim,) = claim_tasks(session, self.queue, 1)
        return claim

    def requeue(self) -> int:
        """Give back what is running, as a start of the service does."""
        with self.db.write() as session:
            return requeue_interrupted_tasks(session, self.bench(Dying()))

    def bench(self, children: ScoringProcesses, caps: RetryLimits = CAPS) -> WorkerContext:
        """What a worker with these scoring processes needs."""
        return WorkerContext(db=self.db, files=self.files, processes=children, queue=self.queue, retry_limits=caps)

    def state(self) -> tuple[str, str, list[str], int]:
        """Status of task and submission, the ledger, and how many scores there are."""
        with self.db.read() as session:
            task = session.scalars(select(ScoreTask)).one()
            submission = session.scalars(select(Submission)).one()
            ledger = list(session.scalars(select(QuotaEntry.kind).order_by(QuotaEntry.id)))
            scores = session.scalars(select(func.count()).select_from(Score)).one()
        return task.status, submission.status, ledger, scores

    def task(self) -> ScoreTask:
        """The row of the work list."""
        with self.db.read() as session:
            return session.scalars(select(ScoreTask)).one()


def score_submission(context: WorkerContext, claim: ClaimedTask) -> str | None:
    """Score a claimed task and settle it, as a worker does that stops after it."""
    settlement = GroupSettlement(context, lambda _session, _count, _moment: [], lambda _claim: None)
    return settlement.settle(claim, compute_task_outcome(context, claim.job), lambda: False).submission_id


class Interrupted:
    """Children whose answer, other than that they need the gold first, comes only after something else has happened."""

    def __init__(self, pool: ScoringProcessPool, meanwhile: Callable[[], object]) -> None:
        self._pool = pool
        self._meanwhile = meanwhile

    def call(self, request: Request) -> Reply:
        answer = self._pool.call(request)
        if not isinstance(answer, GoldFileNeeded):
            self._meanwhile()
        return answer

    @property
    def prepared_gold(self) -> PreparedGoldFolder | None:
        return self._pool.prepared_gold

    def close(self) -> None:
        """The pool belongs to the test."""


class Dying:
    """Children that die of every request."""

    prepared_gold = None

    def call(self, request: Request) -> Reply:
        assert isinstance(request, ScorePredictions)
        raise ScoringProcessCrashed("it ended with status -9")

    def close(self) -> None:
        """There is nothing to end."""
