"""Scoring again steps back for new submissions."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, cast

from sqlalchemy import select

from app.actions.scoring_tasks.score_submission import Bench, Caps
from app.errors import DatabaseAway
from app.files.folder import FolderFiles
from app.queue import Claim
from app.queue.local import LocalQueue
from app.scoring_processes import Children
from app.settings import Settings
from app.store.migrate import upgrade
from app.store.session import Database
from app.store.tables import ScoreTask, Submission
from app.task_priorities import RESCORING
from app.worker.rescorer import SHARE, Places, Rescorer
from tests.live import LONG, eventually
from tests.store.rows import fill


def test_a_free_place_is_one_that_no_submission_needs() -> None:
    places = Places(2)
    with ThreadPoolExecutor(1) as pool:
        assert places.take_free()
        with places.submitted():
            waiting = pool.submit(places.take_free)
            with places.submitted():  # taken at once, though both children are at work
                places.give_free()
                assert not threading.Event().wait(0.1)
                assert not waiting.done()
        assert waiting.result(LONG)
        assert places.take_free()
        last = pool.submit(places.take_free)
        places.end()
        assert last.result(LONG) is False


class Away(Database):
    """A database that is away when it is written for the second time."""

    writes = 0

    def write(self, *, promised: bool = True) -> Any:
        """A session, as ever but for that."""
        self.writes += 1
        if self.writes == 2:
            raise DatabaseAway
        return super().write(promised=promised)


class Refusing:
    """Children that refuse every file."""

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to whatever is to be scored."""
        assert request["kind"] == "score"
        return {"valid": False, "total": {"unknown_id": 1}, "problems": [], "notes": []}

    def close(self) -> None:
        """There is nothing to end."""


def test_what_was_claimed_before_the_database_went_away_is_worked_on(given: Settings) -> None:
    upgrade(given)
    files, db, stop = FolderFiles(given), Away(given), threading.Event()
    upload = files.begin()
    upload.write(b"[]")
    key = upload.finish().key
    with closing(Database(given)) as beside:
        with beside.write() as session:
            session.get_one(Submission, fill(session).submission).file_key = key
            session.scalars(select(ScoreTask)).one().priority = RESCORING
        bench = Bench(db, files, cast("Children", Refusing()), LocalQueue(lambda _: [], 1), Caps(2, 2))
        lost: list[Claim] = []
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
            running.result(LONG)
        assert (lost, rescorer.held()) == ([], [])
    db.close()


def test_scoring_again_steps_back_for_new_submissions_and_yet_never_starves() -> None:
    places, began = Places(2), threading.Semaphore(0)

    def again() -> None:
        while places.take_free():
            began.release()
            places.give_free()

    with ThreadPoolExecutor(1) as pool:
        with places.submitted(), places.submitted():  # no child is free, and none will be
            running = pool.submit(again)
            for _ in range(SHARE - 3):
                with places.submitted():
                    pass
            assert not began.acquire(timeout=0.2)
            for _ in range(2):
                with places.submitted():
                    pass
            assert began.acquire(timeout=LONG)
            assert not began.acquire(timeout=0.2), "one, and no more than that"
        assert began.acquire(timeout=LONG)
        places.end()
        running.result(LONG)
