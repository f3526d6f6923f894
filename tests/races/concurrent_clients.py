"""A service with its doors: one on SQLite, two replicas of the API and a worker on PostgreSQL; and many who come at once."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx
import psycopg

from tests.cluster import Cluster
from tests.faults import inspection
from tests.faults.inspection import frozen_children
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD, Caller, Live, open_challenge

GOLD, CORRECT_PREDICTIONS = inspection.GOLD, inspection.CORRECT_PREDICTIONS
INVALID_PREDICTIONS = {"t1": "zebra"}
FINAL_STATUSES = {"finished", "rejected", "failed", "cancelled"}
CONCURRENT_THREADS = 40  # who come at once


class RaceTarget(Protocol):
    """What the tests of races ask of a service, whatever its database is."""

    folder: Path

    def api_urls(self) -> list[str]:
        """Where its APIs answer."""

    def token(self) -> str:
        """The administrator's."""

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query, read beside it."""

    def log(self) -> str:
        """What all its processes have written."""

    def scoring_process_ids(self) -> list[int]:
        """The process that has the scoring children."""


class OnSqlite:
    """One process, one door."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.folder = live.data_dir

    def api_urls(self) -> list[str]:
        """Where its API answers."""
        return [self.live.url]

    def token(self) -> str:
        """The administrator's."""
        return self.live.admin_token

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return inspection.query_rows(self.live, query)

    def log(self) -> str:
        """What it has written."""
        return self.live.log()

    def scoring_process_ids(self) -> list[int]:
        """Itself."""
        return [inspection.pid_of(self.live)]


class OnPostgresql:
    """Two replicas of the API and a worker, or more of them."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.folder = cluster.folder / "data"

    def api_urls(self) -> list[str]:
        """Where its first two APIs answer; others are for tests that end them."""
        return [part.url for part in self.cluster.apis[:2]]

    def token(self) -> str:
        """The administrator's."""
        return self.cluster.admin_token

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self.cluster.rows(query)

    def log(self) -> str:
        """What all have written."""
        return "".join(part.log() for part in self.cluster.parts)

    def scoring_process_ids(self) -> list[int]:
        """Its workers."""
        return [part.pid for part in self.cluster.workers]


class ConcurrentClients:
    """People at the doors of a service."""

    def __init__(self, service: RaceTarget) -> None:
        self.service = service
        self._open = ExitStack()
        self._people: dict[str, list[Caller]] = {}
        self._admins = [self._caller(door, service.token()) for door in service.api_urls()]

    def close(self) -> None:
        """Hang up."""
        self._open.close()

    def admin(self, door: int = 0) -> Caller:
        """The administrator at one of the doors."""
        return self._admins[door % len(self._admins)]

    def person(self, name: str) -> list[Caller]:
        """Someone at each door; accounts cost time, so that a name has one for all tests."""
        if name not in self._people:
            email = f"{name}@example.org".lower()
            body = {"email": email, "name": name, "password": PASSWORD}
            self.admin().post("/users", json=body).raise_for_status()
            answer = self.admin().post("/tokens", json={"email": email, "password": PASSWORD})
            token = answer.raise_for_status().json()["token"]
            self._people[name] = [self._caller(door, token, email) for door in self.service.api_urls()]
        return self._people[name]

    def challenge(self, slug: str, **phase: Any) -> str:
        """A challenge with gold; returns the address of its submissions."""
        open_challenge(self.admin(), slug, GOLD, phases=[{"name": "main", **phase}])
        return f"/challenges/{slug}/phases/main/submissions"

    def member(self, slug: str, team: str = "Blue") -> list[Caller]:
        """The only member of a new team, at each door."""
        person = self.person(team)
        person[0].join(slug, team)
        return person

    def stored(self) -> int:
        """How many files are stored, whole or in part."""
        return len(list((self.service.folder / "files" / "uploads").iterdir()))

    def count(self, table: str, slug: str) -> int:
        """How many rows of a challenge there are: of submissions, or of a table that names one."""
        mine = f"""SELECT submissions.id FROM submissions JOIN phases ON phases.id = submissions.phase_id
            JOIN challenges ON challenges.id = phases.challenge_id WHERE challenges.slug = '{slug}'"""
        column = "id" if table == "submissions" else "submission_id"
        return int(self.service.rows(f"SELECT count(*) FROM {table} WHERE {column} IN ({mine})")[0][0])

    def ledger(self, slug: str) -> Counter[str]:
        """How many entries of each kind the ledgers of a challenge have."""
        return Counter(
            str(kind)
            for (kind,) in self.service.rows(
                f"""SELECT kind FROM quota_entries JOIN phases ON phases.id = quota_entries.phase_id
                JOIN challenges ON challenges.id = phases.challenge_id WHERE challenges.slug = '{slug}'"""
            )
        )

    def statuses(self, slug: str) -> Counter[str]:
        """How many submissions of each status a challenge has."""
        return Counter(
            str(status)
            for (status,) in self.service.rows(
                f"""SELECT submissions.status FROM submissions JOIN phases ON phases.id = submissions.phase_id
                JOIN challenges ON challenges.id = phases.challenge_id WHERE challenges.slug = '{slug}'"""
            )
        )

    @contextmanager
    def scoring_paused(self) -> Iterator[None]:
        """Hold up all scoring for a while."""
        with frozen_children(*self.service.scoring_process_ids()):
            yield

    def _caller(self, door: str, token: str, email: str = "") -> Caller:
        caller = Caller(door, token, email=email)
        self._open.callback(caller.close)
        return caller


def call_concurrently(
    calls: Sequence[Callable[[], httpx.Response]], threads: int = CONCURRENT_THREADS
) -> list[httpx.Response]:
    """Make all calls, each thread beginning when all are ready; none may be answered with a fault of ours."""
    count = min(threads, len(calls))
    ready = threading.Barrier(count)

    def make(number: int) -> httpx.Response:
        if number < count:
            ready.wait(MAX_WAIT_SECONDS)
        return calls[number]()

    with ThreadPoolExecutor(count) as pool:
        answers = list(pool.map(make, range(len(calls))))
    assert [each.text for each in answers if each.status_code == 500] == []
    return answers


def count_statuses(answers: Sequence[httpx.Response]) -> Counter[int]:
    """How often each status was answered."""
    return Counter(each.status_code for each in answers)


@contextmanager
def database_connection(crowd: ConcurrentClients) -> Iterator[psycopg.Connection]:
    """The database, beside the service."""
    service = crowd.service
    assert isinstance(service, OnPostgresql)
    with psycopg.connect(service.cluster.database_url.replace("+psycopg", ""), autocommit=True) as connection:
        yield connection
