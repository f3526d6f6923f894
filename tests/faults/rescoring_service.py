"""A service on either database with submissions that are scored again, watched from outside."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.scoring import SCORER_VERSION
from tests.cluster import Cluster, ServiceProcess, cluster
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.live_service import MAX_WAIT_SECONDS, Caller, eventually, open_challenge
from tests.preloaded_service import NEWER_SCORER_COMMAND, SERVICE_COMMAND

RERUN = "/challenges/pets/phases/main/rerun"
BOARD = "/challenges/pets/phases/main/leaderboard"


class RescoringService:
    """One service, a challenge `pets`, and teams that have sent something."""

    def __init__(self, parts: Cluster) -> None:
        self.cluster = parts
        self.service = parts.part("serve")

    def start(self, version: int = SCORER_VERSION) -> "RescoringService":
        """Start it as a version of Assay whose scorer has this number."""
        self.service.program = command_of_version(version)
        self.service.start().wait_ready()
        return self

    def start_filled(self, count: int) -> list[str]:
        """Start it for the first time, with so many teams' finished submissions; gives their ids."""
        admin = self.start().cluster.admin()
        open_challenge(admin, "pets", GOLD)
        ids = [
            admin.submit("pets", predictions_of_team(number), team=f"T{number}", wait=0).json()["id"]
            for number in range(count)
        ]
        self.until("SELECT count(*) FROM submissions WHERE status = 'finished'", count)
        return [str(each) for each in ids]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query, read beside the service."""
        if self.cluster.database_url.startswith("postgresql"):
            return self.cluster.rows(query)
        path = self.cluster.database_url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path, timeout=MAX_WAIT_SECONDS)) as connection, connection:
            return connection.execute(query).fetchall()

    def until(self, query: str, value: object) -> None:
        """Wait until a query gives this one value."""
        eventually(lambda: self.rows(query) == [(value,)], f"{query}: {value}")

    def upload(self, submission: str) -> Path:
        """The stored file of a submission."""
        ((key,),) = self.rows(f"SELECT file_key FROM submissions WHERE id = '{submission}'")
        return Path(self.cluster.settings["ASSAY_DATA_DIR"]) / "files" / str(key)

    def wait_until_rerun_ended(self) -> dict[str, Any]:
        """The order of the phase, once it has ended."""
        admin = self.cluster.admin()
        eventually(
            lambda: not self.rows("SELECT 1 FROM reruns WHERE finished_at IS NULL AND cancelled_at IS NULL"),
            "nothing is left of the order",
        )
        eventually(lambda: admin.get(RERUN).json()["status"] != "running", "the order has ended")
        found: dict[str, Any] = admin.get(RERUN).json()
        return found

    def stored(self) -> tuple[object, ...]:
        """All that scoring again must leave as it is."""
        queries = (
            "SELECT id, submission_id, scorer_version, split, CAST(metrics AS TEXT), created_at FROM scores ORDER BY id",
            "SELECT id, status, finished_at, problem_totals IS NULL FROM submissions ORDER BY id",
            "SELECT id, submission_id, kind FROM quota_entries ORDER BY id",
        )
        return tuple(tuple(self.rows(query)) for query in queries)


@contextmanager
def rescoring_service(request: pytest.FixtureRequest, folder: Path, **settings: str) -> Iterator[RescoringService]:
    """A bed on the database that the parameter names, not yet started."""
    url = f"sqlite:///{folder / 'data' / 'assay.sqlite3'}"
    if request.param == "postgresql":
        database: Callable[[], str] = request.getfixturevalue("postgres_database")
        url = database()
    with cluster(folder, url, **settings) as parts:
        yield RescoringService(parts)


def command_of_version(version: int) -> list[str]:
    """The command of such a version of Assay."""
    if version == SCORER_VERSION:
        return SERVICE_COMMAND
    return [*NEWER_SCORER_COMMAND, str(version)]


def predictions_of_team(number: int) -> dict[str, str]:
    """Predictions that differ from team to team."""
    wrong = dict.fromkeys(list(CORRECT_PREDICTIONS)[: number % 7], "dog")
    return CORRECT_PREDICTIONS | wrong


class BoardWatcher:
    """Somebody who reads the board again and again, and keeps every state of it that there was."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stop = threading.Event()
        self.states: list[tuple[int, int]] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.01):  # or it would use all of a processor
            try:
                answer = self._caller.get(BOARD)
            except httpx.HTTPError:
                continue  # the service is being started again
            board = answer.json()
            state = (answer.status_code, 0)
            if answer.status_code == 200:
                state = (board["scorer_version"], sum(row["rank"] is not None for row in board["rows"]))
            if self.states[-1:] != [state]:
                self.states.append(state)

    def end(self) -> list[tuple[int, int]]:
        """Stop; gives the states, scorer version and number of ranked rows, in their order."""
        self._stop.set()
        self._thread.join(MAX_WAIT_SECONDS)
        return self.states


def tasks_done_by(worker: ServiceProcess) -> set[str]:
    """The tasks that a worker has worked at, by its log."""
    return {line.partition('"task": "')[2][:32] for line in worker.log().splitlines() if '"task_done"' in line}
