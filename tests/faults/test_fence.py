"""A worker that lost its task changes nothing, and interruptions are counted up to their cap."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from app.actions.score_submission import Caps, claim_tasks, give_back, requeue_interrupted, score_submission
from app.children.pool import ChildPool
from app.files.folder import FolderFiles
from app.queue import Claim
from app.store.session import Database
from app.store.tables import QuotaEntry, Score, ScoreTask, Submission
from app.worker import child_pool
from tests.api.served import served, settings
from tests.faults.support import GOLD, GOOD
from tests.live import PASSWORD, open_challenge

CAPS = Caps(crashes=3, interruptions=2)
LEASE = timedelta(minutes=1)


class Store:
    """The store of a service that has ended, with one submission of a team that pays for it still in the queue."""

    def __init__(self, folder: Path, pool: ChildPool) -> None:
        given = settings(folder)
        self.db = Database(given)
        self.files = FolderFiles(given)
        self.pool = pool

    def claim(self) -> Claim:
        with self.db.write() as session:
            for task in session.scalars(select(ScoreTask)):
                task.not_before = None
            session.flush()
            (claim,) = claim_tasks(session, 1, lease=LEASE, caps=CAPS)
        return claim

    def requeue(self) -> int:
        with self.db.write() as session:
            return requeue_interrupted(session, CAPS)

    def task(self) -> ScoreTask:
        with self.db.read() as session:
            return session.scalars(select(ScoreTask)).one()

    def submission(self) -> Submission:
        with self.db.read() as session:
            return session.scalars(select(Submission)).one()

    def ledger(self) -> list[str]:
        with self.db.read() as session:
            return list(session.scalars(select(QuotaEntry.kind).order_by(QuotaEntry.id)))

    def scores(self) -> int:
        with self.db.read() as session:
            return session.scalars(select(func.count()).select_from(Score)).one()


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChildPool]:
    made = child_pool(settings(tmp_path_factory.mktemp("pool")), 1)
    yield made
    made.close()


@pytest.fixture
def store(tmp_path: Path, pool: ChildPool) -> Iterator[Store]:
    folder = tmp_path / "data"
    with served(settings(folder)) as service:
        open_challenge(service.admin(), "pets", GOLD)
        account = {"email": "blue@example.org", "password": PASSWORD}
        service.caller().post("/users", json={**account, "name": "Blue"}).raise_for_status()
        token = service.caller().post("/tokens", json=account).json()["token"]
        service.app.state.service.queue.claim_nothing = True
        made = service.caller(token).join("pets", "Blue").submit("pets", GOOD)
        assert made.json()["status"] == "finished"
    found = Store(folder, pool)
    yield found
    found.db.close()
