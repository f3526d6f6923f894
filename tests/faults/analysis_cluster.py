"""Two workers on one PostgreSQL that share the analyses of a challenge: held, paused and watched from outside."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from tests.cluster import Cluster, ServiceProcess
from tests.faults.inspection import (
    CORRECT_PREDICTIONS,
    GOLD,
    analysts_of,
    freeze,
    has_unread_request,
    is_idle,
    thaw,
)
from tests.live_service import eventually, open_challenge

RECIPE = {"primary": "accuracy", "metrics": ["accuracy"]}
LEFT_TO_DO = """
    SELECT 'submission', status FROM submissions WHERE status <> 'finished'
    UNION ALL SELECT 'change', '' FROM board_changes
    UNION ALL SELECT kind, status FROM analysis_tasks WHERE status <> 'done' OR again
"""
IN_TRANSACTION = """
    SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
"""


class AnalysisCluster:
    """A challenge `pets` on a cluster of an API and two workers, of which each has a process for analyses."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.rows = cluster.rows
        self._stopped: set[int] = set()
        self._teams = itertools.count()
        open_challenge(cluster.admin(), "pets", GOLD, recipe=RECIPE)

    @property
    def workers(self) -> list[ServiceProcess]:
        """Both workers."""
        return self.cluster.workers

    # ---- what happens to the board

    def send(self, wrong: int = 0) -> str:
        """Submit for a new team, with so many wrong labels, and wait for the score; gives the id.

        The board gets another row, so both of its comparisons become due, and the intervals of the score.
        """
        answer = self.cluster.admin().submit("pets", predictions(wrong), team=f"T{next(self._teams)}")
        assert (answer.status_code, answer.json()["status"]) == (201, "finished"), answer.text
        return str(answer.json()["id"])

    def send_somehow(self, wrong: int) -> None:
        """Submit for a new team, which may be refused because the database is away."""
        self.cluster.admin().submit("pets", predictions(wrong), team=f"T{next(self._teams)}", wait=0)

    def disqualify(self, submission: str) -> None:
        """Take a row off the board, which makes comparisons due and no intervals."""
        body = {"reason": "A try"}
        self.cluster.admin().post(f"/submissions/{submission}/disqualify", json=body).raise_for_status()

    def reinstate(self, submission: str) -> None:
        """Put it back."""
        self.cluster.admin().post(f"/submissions/{submission}/reinstate").raise_for_status()

    def board(self) -> dict[str, Any]:
        """The board, as everybody reads it."""
        board: dict[str, Any] = self.cluster.admin().board("pets").raise_for_status().json()
        return board

    def ranked(self) -> list[str]:
        """The submissions that have a rank, in the order of their ids."""
        return sorted(row["submission"] for row in self.board()["rows"] if row["rank"] is not None)

    def compared(self) -> list[str]:
        """The submissions that the stored comparison of the board compares."""
        ((entries,),) = self.rows("SELECT entries FROM board_analyses WHERE kind = 'significance'")
        assert isinstance(entries, list)
        return entries

    # ---- what holds when all is over

    def wait_until_complete(self) -> None:
        """Wait until nothing is left to do; then all is there, once, and rests on the newest rows."""
        eventually(lambda: not self.rows(LEFT_TO_DO), "all is computed")
        board = self.board()
        assert board["significance"]["status"] == "current"
        ranked = [row for row in board["rows"] if row["rank"] is not None]
        assert all(row["rank_low"] is not None for row in ranked)
        assert all(row["scores"]["accuracy"]["low"] is not None for row in board["rows"])
        entries = self.rows("SELECT kind, entries FROM board_analyses ORDER BY kind")
        assert entries == [("rankings", self.ranked()), ("significance", self.ranked())]
        self.assert_each_interval_once()

    def assert_each_interval_once(self) -> None:
        """Each score has its intervals once, and each attempt at them beyond the first has a reason."""
        scored = self.rows("SELECT submission_id, split FROM scores ORDER BY 1, 2")
        assert self.rows("SELECT submission_id, split FROM score_intervals ORDER BY 1, 2") == scored
        unexplained = "SELECT * FROM analysis_tasks WHERE kind = 'intervals' AND attempt <> 1 + crashes + interruptions"
        assert self.rows(unexplained) == []

    def attempts(self) -> dict[object, Any]:
        """How often each analysis was begun."""
        return dict(self.rows("SELECT id, attempt FROM analysis_tasks"))  # type: ignore[arg-type]

    @contextmanager
    def locked(self, query: str) -> Iterator[None]:
        """Keep the rows of a query locked during the block."""
        with psycopg.connect(self.cluster.database_url.replace("+psycopg", "")) as connection:
            connection.execute(query.encode())
            yield

    # ---- workers and their processes for analyses

    def analyst(self, worker: ServiceProcess) -> int:
        """The process for analyses of a worker that has started one."""
        (found,) = analysts_of(worker.pid)
        return found

    def start_analysts(self) -> None:
        """Give each worker something to compute, so that each has its process for analyses."""
        for worker in self.workers:
            others = [child for other in self.workers if other is not worker for child in analysts_of(other.pid)]
            for child in others:
                self._stop(child)
            if not analysts_of(worker.pid):
                self.send()  # for which more is due than the other one can be asked for
            eventually(lambda worker=worker: bool(analysts_of(worker.pid)), "it computes")  # type: ignore[misc]
            self.release(*others)
        self.wait_until_complete()
        eventually(lambda: all(is_idle(self.analyst(worker)) for worker in self.workers), "both wait for requests")

    def hold(self, *workers: ServiceProcess) -> None:
        """Freeze the processes for analyses of workers: what they are asked stays unanswered."""
        for worker in workers:
            self._stop(self.analyst(worker))

    def is_asked(self, worker: ServiceProcess) -> bool:
        """Whether the frozen process of a worker has been asked for an analysis."""
        return has_unread_request(self.analyst(worker))

    def pause(self, worker: ServiceProcess) -> None:
        """Freeze a worker between two transactions: stopped within one, it would hold up all that wait for its locks."""

        def is_stopped_outside() -> bool:
            self._stop(worker.pid)
            if not self.rows(IN_TRANSACTION):  # of any worker; then it is tried again
                return True
            self.release(worker.pid)
            return False

        eventually(is_stopped_outside, "it is stopped between two transactions")

    def hold_comparison(self, holder: ServiceProcess, change: Any) -> None:
        """Have a worker claim the comparison of the board after this change, and keep it unanswered."""
        self.hold(holder)
        others = [worker for worker in self.workers if worker is not holder]
        for other in others:
            self.pause(other)
        change()
        running = "SELECT kind FROM analysis_tasks WHERE status = 'running'"
        eventually(lambda: self.is_asked(holder), "the worker is asked for an analysis")
        assert self.rows(running) == [("significance",)]
        self.release(*(other.pid for other in others))

    def _stop(self, process: int) -> None:
        self._stopped.add(process)
        freeze(process)

    def release(self, *processes: int) -> None:
        """Thaw these processes, or all."""
        for process in processes or tuple(self._stopped):
            thaw(process)
            self._stopped.discard(process)

    def restore(self) -> None:
        """Mend whatever a test did to the processes, and finish what it left."""
        self.release()
        self.cluster.restart_ended()
        self.start_analysts()

    def logged(self, since: Sequence[int] = (0, 0)) -> str:
        """What the workers have written after these lengths of their logs."""
        return "".join(worker.log()[start:] for worker, start in zip(self.workers, since, strict=True))


def predictions(wrong: int) -> dict[str, str]:
    """Predictions with so many wrong labels."""
    other = {"cat": "dog", "dog": "cat"}
    return CORRECT_PREDICTIONS | {key: other[label] for key, label in list(CORRECT_PREDICTIONS.items())[:wrong]}
