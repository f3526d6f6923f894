"""The scoring worker: claims tasks, has children score them, settles, repeats."""

import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from threading import Event

import structlog

from app.actions.score_submission import (
    Caps,
    claim_tasks,
    give_back,
    requeue_interrupted,
    score_submission,
    work_waits,
)
from app.children.pool import ChildPool
from app.files import Files
from app.formats import Limits
from app.queue import Claim
from app.queue.local import LocalQueue
from app.settings import Settings
from app.store.session import Database

log = structlog.get_logger()

LEASE_SLACK = 30.0  # seconds beyond the scoring limit after which a running task counts as lost
READER_CHILDREN = 2


def file_limits(settings: Settings) -> Limits:
    """How large a file may be."""
    return Limits(
        expanded_bytes=settings.max_expanded,
        records=settings.max_records,
        classes=settings.max_classes,
        text_length=settings.max_text_length,
        columns=settings.max_columns,
        nesting=settings.max_nesting,
    )


def child_pool(settings: Settings, count: int) -> ChildPool:
    """Children under the limits of the settings."""
    arguments = [
        *("--memory", str(settings.scoring_memory)),
        *("--limits", json.dumps(asdict(file_limits(settings)))),
    ]
    return ChildPool(count, arguments=arguments, seconds=settings.scoring_seconds)


class Worker:
    """The embedded worker: lives in threads of the service, its scoring in child programs."""

    def __init__(self, settings: Settings, db: Database, files: Files, settled: Callable[[str], None]) -> None:
        self._settings = settings
        self._db = db
        self._files = files
        self._settled = settled
        self._caps = Caps(crashes=settings.crash_cap, interruptions=settings.interruption_cap)
        self._stop = Event()
        self._thread: threading.Thread | None = None
        self._unsettled: deque[Claim] = deque()
        self.children = child_pool(settings, settings.workers)
        self.queue = LocalQueue(self._claim, slots=settings.workers)

    def start(self) -> None:
        """Give back what an earlier life left running, then work in the background."""
        with self._db.write() as session:
            left = requeue_interrupted(session, self._caps)
        if left:
            log.warning("interrupted_tasks_requeued", count=left)
        self.children.warm_up()
        self._thread = threading.Thread(target=self.queue.run, args=(self._work, self._stop), name="scheduler")
        self._thread.start()

    def stop(self) -> None:
        """Claim nothing more, let the work at hand finish within its time, then end the children."""
        self._stop.set()
        self.queue.wake()
        if self._thread is not None:
            self._thread.join(self._settings.drain_seconds)
        self.children.close()
        if self._thread is not None:
            self._thread.join()

    def _claim(self, count: int) -> list[Claim]:
        self._give_back_unsettled()
        lease = timedelta(seconds=self._settings.scoring_seconds + LEASE_SLACK)
        with self._db.read() as session:
            if not work_waits(session):  # an idle service writes nothing
                return []
        with self._db.write() as session:
            return claim_tasks(session, count, lease=lease, caps=self._caps)

    def _give_back_unsettled(self) -> None:
        while self._unsettled:
            with self._db.write() as session:
                failed = give_back(session, self._unsettled[0], self._caps)
            self._unsettled.popleft()
            if failed is not None:
                self._settled(failed)

    def _work(self, claim: Claim) -> None:
        try:
            submission_id = score_submission(self._db, self._files, self.children, claim, self._caps)
        except Exception:
            # The database or the disk went away: the task is given back by the first round that reaches them again.
            self._unsettled.append(claim)
            raise
        log.info("task_done", task=claim.task_id, attempt=claim.attempt, submission=submission_id)
        if submission_id is not None:
            self._settled(submission_id)
