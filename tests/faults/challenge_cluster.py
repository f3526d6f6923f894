"""A service of several processes under faults: one challenge, its teams, and what must hold when all is over."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from tests.cluster import Cluster, ServiceProcess
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, children_of, freeze_children, has_unread_request, thaw
from tests.live_service import MAX_WAIT_SECONDS, Caller, eventually, open_challenge

SUBMISSIONS = "/challenges/pets/phases/main/submissions"
SHORT_TIMEOUTS = {
    "heartbeat_seconds": "0.5",
    "lease_seconds": "8",
    "database_wait": "20",
    "drain_seconds": "3",
    "scoring_seconds": "600",  # children are frozen for as long as a test needs
}
CLIENT_TIMEOUT_SECONDS = 55.0  # of a client; less than a Prefer: wait that nobody ends


class ChallengeCluster:
    """A cluster with a challenge `pets` on it, watched from outside."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        open_challenge(cluster.admin(), "pets", GOLD, phases=[{"name": "main", "quota": {"total": 100_000}}])
        member = cluster.person("Blue").join("pets", "Blue")
        self._token = member.headers["Authorization"].removeprefix("Bearer ")
        self._frozen: list[int] = []

    def member(self, api: int = 0) -> Caller:
        """Somebody of the team Blue, who talks to one of the APIs."""
        return self.cluster.caller(self._token, api)

    def send(self, method: str, *, api: int = 0) -> str:
        """Submit; returns the id that was acknowledged."""
        answer = self.member(api).submit("pets", CORRECT_PREDICTIONS, method=method, wait=0)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def waiting(self, method: str, *, api: int = 0) -> "WaitingSubmission":
        """Submit in a thread, and wait there for the scores."""
        return WaitingSubmission(self.member(api), method)

    def status(self, submission: str) -> str:
        """The status of a submission, as the database has it."""
        return str(self.cluster.rows(f"SELECT status FROM submissions WHERE id = '{submission}'")[0][0])

    def counts(self, submission: str) -> tuple[object, ...]:
        """Attempts, crashes and interruptions of its task."""
        query = f"SELECT attempt, crashes, interruptions FROM score_tasks WHERE submission_id = '{submission}'"
        return self.cluster.rows(query)[0]

    def hold(self, *parts: ServiceProcess) -> None:
        """Freeze the children of workers: what they are asked stays unanswered."""
        eventually(lambda: self._complete(parts), "each worker has its child")
        self._frozen += freeze_children(*(part.pid for part in parts))

    def _complete(self, parts: Sequence[ServiceProcess]) -> bool:
        """Whether all have a child; one that died is started again for the next submission."""
        if all(children_of(part.pid) for part in parts):
            return True
        self.wait_until_finished(*[self.send("Start") for _ in range(4)])
        return False

    def release(self, *parts: ServiceProcess) -> None:
        """Thaw the children of these workers, or all."""
        children = [child for part in parts for child in children_of(part.pid)] if parts else self._frozen
        for child in list(children):
            thaw(child)
        self._frozen = [child for child in self._frozen if child not in children]

    def holder(self, workers: Sequence[ServiceProcess]) -> ServiceProcess:
        """The worker whose frozen child has been asked to score."""
        holders: list[ServiceProcess] = []

        def look() -> bool:
            holders[:] = [part for part in workers if any(map(has_unread_request, children_of(part.pid)))]
            return bool(holders)

        eventually(look, "a child has been asked to score")
        return holders[0]

    def wait_until_finished(self, *submissions: str) -> None:
        """Wait until all are finished; then each was scored once and paid for once."""
        ids = f"({', '.join(repr(each) for each in submissions)})"
        query = f"SELECT count(*) FROM submissions WHERE status = 'finished' AND id IN {ids}"
        eventually(lambda: self.cluster.rows(query) == [(len(submissions),)], f"{len(submissions)} are finished")
        self.assert_settled_once()

    def assert_settled_once(self) -> None:
        """What holds of every submission that has its final status."""
        rows = self.cluster.rows
        assert rows("SELECT 1 FROM scores GROUP BY submission_id, split, scorer_version HAVING count(*) > 1") == []
        assert (
            rows(
                "SELECT id FROM submissions WHERE status = 'finished' AND id NOT IN (SELECT submission_id FROM scores)"
            )
            == []
        )
        ledger = rows(
            "SELECT status, string_agg(kind, ',' ORDER BY kind) FROM quota_entries JOIN submissions s "
            "ON s.id = submission_id GROUP BY s.id, status"
        )
        closing = {
            "finished": "charge,reserve",
            "failed": "refund,reserve",
            "rejected": "refund,reserve",
            "queued": "reserve",
            "running": "reserve",
        }
        assert [entry for entry in ledger if closing[str(entry[0])] != entry[1]] == []
        assert rows("SELECT id FROM submissions WHERE id NOT IN (SELECT submission_id FROM quota_entries)") == []

    def wait_until_queue_empty(self) -> None:
        """Wait until the queue is empty: of finished tasks, and of workers that were killed, it keeps nothing."""
        eventually(lambda: not self.cluster.rows("SELECT 1 FROM procrastinate_jobs"), "finished jobs are gone")


class WaitingSubmission:
    """A request that waits for its scores in a thread; `answer` gives what came, or raises what went wrong."""

    def __init__(self, caller: Caller, method: str) -> None:
        caller.timeout = httpx.Timeout(CLIENT_TIMEOUT_SECONDS)
        self._caller = caller
        self._method = method
        self._result: Any = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._caller.submit("pets", CORRECT_PREDICTIONS, method=self._method, wait=60)
        except httpx.HTTPError as fault:
            self._result = fault

    def answer(self) -> httpx.Response:
        """What the service said."""
        self._thread.join(2 * CLIENT_TIMEOUT_SECONDS)
        if isinstance(self._result, Exception):
            raise self._result
        assert isinstance(self._result, httpx.Response)
        return self._result


class SubmittingThreads:
    """Threads that submit again and again while a test breaks things."""

    def __init__(self, site: ChallengeCluster, count: int, *, api: int = 0) -> None:
        self.acknowledged: list[str] = []
        self.answers: list[httpx.Response] = []
        self._site = site
        self._stop = threading.Event()
        self._callers = [site.member(api) for _ in range(count)]
        self._threads = [threading.Thread(target=self._run, args=(caller,)) for caller in self._callers]
        for thread in self._threads:
            thread.start()

    def _run(self, caller: Caller) -> None:
        while not self._stop.wait(0.02):
            try:
                answer = caller.submit("pets", CORRECT_PREDICTIONS, method="Many", wait=0)
            except httpx.HTTPError:
                continue  # nothing was acknowledged
            self.answers.append(answer)
            if answer.status_code == 202:
                self.acknowledged.append(str(answer.json()["id"]))

    def reach(self, more: int, what: str) -> None:
        """Wait until so many more have been acknowledged."""
        target = len(self.acknowledged) + more
        eventually(lambda: len(self.acknowledged) >= target, what)

    def end(self) -> list[str]:
        """Stop; gives the ids that were acknowledged."""
        self._stop.set()
        for thread in self._threads:
            thread.join(MAX_WAIT_SECONDS)
        return self.acknowledged


def exit_status_after(part: ServiceProcess, ask_to_end: Callable[[], None]) -> int:
    """The status with which a process ends once it is asked to."""
    process = part.process
    assert process is not None
    ask_to_end()
    return process.wait(timeout=MAX_WAIT_SECONDS)
