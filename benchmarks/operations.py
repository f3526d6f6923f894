"""Measures the service as a whole: acceptance, scoring, recovery and large stores, on both databases.

`python -m benchmarks.operations [--stored 1000000] [--json FILE]`. Wall times of real processes on this machine:
each rate comes from one run, and compared figures were measured in turn.
"""

import argparse
import json
import os
import signal
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from app.api.caching.board_cache import MIN_BUILD_INTERVAL_SECONDS
from benchmarks.large_store import fill
from benchmarks.machine import machine
from tests.cluster import Cluster, ServiceProcess
from tests.faults.inspection import children_of, freeze
from tests.live_service import Caller, eventually, open_challenge
from tests.postgres import PostgresServer, server

RECORDS = 3500
SENDERS = 8
ACCEPTED = 300
BACKLOG = 200
IN_BOARD = 1000  # finished submissions in the phase whose board is read
TURNS = 30
GOLD = [{"id": f"instance-{number:06d}", "label": f"c{number % 20:02d}"} for number in range(RECORDS)]
SENT = json.dumps({row["id"]: f"c{(number * 7) % 20:02d}" for number, row in enumerate(GOLD)}).encode()


@dataclass(frozen=True)
class Figure:
    """One measured figure."""

    database: str
    what: str
    value: float
    unit: str


class Installation:
    """A service of real processes on one of the databases, with the operations that benchmarks need."""

    def __init__(self, folder: Path, database: str, url: str, **settings: str) -> None:
        self.database = database
        self.cluster = Cluster(folder, url, **settings).with_analyses()
        self.role = "serve" if database == "SQLite" else "api"

    def start(self, *, workers: int = 0) -> "Installation":
        """Start the API and this many workers; on SQLite the service scores by itself."""
        self.cluster.part(self.role, workers=str(max(workers, 1))).start().wait_ready()
        if self.role == "api":
            for _ in range(workers):
                self.cluster.part("worker").start().wait_ready()
        return self

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query, read without the service."""
        if self.role == "api":
            return self.cluster.rows(query)
        path = self.cluster.database_url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as connection:
            return connection.execute(query).fetchall()

    def post(self, caller: Caller, *, wait: int = 0) -> dict[str, Any]:
        """Send the predictions; returns the submission."""
        headers = {"Content-Type": "application/json"} | ({"Prefer": f"wait={wait}"} if wait else {})
        path = "/challenges/bench/phases/main/submissions"
        answer = caller.post(path, params={"team": "Bench"}, content=SENT, headers=headers)
        assert answer.status_code in {201, 202}, answer.text
        sent: dict[str, Any] = answer.json()
        return sent

    def send(self, count: int) -> float:
        """Submissions acknowledged per second, with several concurrent senders."""
        callers = [self.cluster.admin() for _ in range(SENDERS)]

        def run(caller: Caller) -> None:
            for _ in range(count // SENDERS):
                self.post(caller)

        began = time.perf_counter()
        with ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(run, callers))
        return count / (time.perf_counter() - began)

    def drained(self) -> None:
        """Wait until everything has been scored."""
        waiting = "SELECT 1 FROM score_tasks WHERE status IN ('queued', 'running') LIMIT 1"
        eventually(lambda: not self.rows(waiting), "all is scored", 600)

    def rate(self, since: set[str]) -> float:
        """Tasks scored per second, from the first to the last end of those that are not in `since`."""
        ends = sorted(
            _moment(row[1]) for row in self.rows("SELECT id, finished_at FROM score_tasks") if row[0] not in since
        )
        return (len(ends) - 1) / (ends[-1] - ends[0])

    def done(self) -> set[str]:
        """The tasks that are done."""
        return {str(row[0]) for row in self.rows("SELECT id FROM score_tasks WHERE status = 'done'")}


@contextmanager
def installation(database: str, postgres: PostgresServer, **settings: str) -> Iterator[Installation]:
    """An empty installation with its schema, stopped and removed at the end of the block."""
    with ExitStack() as kept:
        folder = Path(kept.enter_context(tempfile.TemporaryDirectory()))
        url = f"sqlite:///{folder}/assay.sqlite3" if database == "SQLite" else kept.enter_context(postgres.database())
        made = Installation(folder, database, url, **settings)
        kept.callback(made.cluster.close)
        yield made


def accepted(database: str, postgres: PostgresServer) -> list[Figure]:
    """Acceptance alone: nothing is scored meanwhile."""
    with installation(database, postgres) as made:
        made.start()
        open_challenge(made.cluster.admin(), "bench", GOLD)
        with _frozen(made):
            rate = made.send(ACCEPTED)
    return [Figure(database, f"{RECORDS:,} records accepted, durable, {SENDERS} senders", round(rate), "per second")]


def scored(database: str, postgres: PostgresServer) -> list[Figure]:
    """The rate for a backlog with one worker and with two, and the delay before scoring on an idle system."""
    figures = []
    for workers in (1, 2):
        with installation(database, postgres) as made:
            made.start(workers=workers)
            admin = made.cluster.admin()
            open_challenge(admin, "bench", GOLD)
            for _ in range(2 * workers):
                made.post(admin, wait=30)  # every scoring process has read the gold
            before = made.done()
            with _frozen(made):
                made.send(BACKLOG)
            made.drained()
            figures.append(
                Figure(
                    database,
                    f"scored with {workers} worker{'s' * (workers > 1)}",
                    round(made.rate(before), 1),
                    "per second",
                )
            )
            if workers == 1:
                waits = [made.post(admin, wait=30)["timings"]["seconds_queued"] for _ in range(TURNS)]
                figures.append(
                    Figure(
                        database,
                        "stored to start of scoring, idle, median",
                        round(1000 * statistics.median(waits), 1),
                        "ms",
                    )
                )
    return figures


def recovered(database: str, postgres: PostgresServer) -> list[Figure]:
    """The time from kill -9 of the scoring process, and of the worker or service, until the task runs again."""
    with installation(database, postgres) as made:
        made.start(workers=1)
        open_challenge(made.cluster.admin(), "bench", GOLD)
        part, admin = made.cluster.parts[-1], made.cluster.admin()
        made.post(admin, wait=30)  # the scoring process has read the gold
        scoring = _at_work(made, part, admin)
        began = time.perf_counter()
        for child in scoring:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        eventually(lambda: made.rows(ATTEMPTS) == [(2,)], "it runs again")
        figures = [Figure(database, "killed child to its task running again", _since(began), "s")]
        made.drained()
        _at_work(made, part, admin)
        if database == "PostgreSQL":
            made.cluster.part("worker").start().wait_ready()
        part.kill(group=True)
        began = time.perf_counter()
        if database == "SQLite":
            part.start()
        eventually(lambda: made.rows(ATTEMPTS) == [(2,)], "it runs again")
        what = (
            "killed service, started again at once, to its task running again"
            if database == "SQLite"
            else "killed worker to its task running again"
        )
        return [*figures, Figure(database, what, _since(began), "s")]


ATTEMPTS = "SELECT attempt FROM score_tasks ORDER BY id DESC LIMIT 1"


def _at_work(made: Installation, part: ServiceProcess, admin: Caller) -> list[int]:
    """Have a submission scored by scoring processes that do not answer; returns their pids."""
    children = children_of(part.pid)
    for child in children:
        freeze(child)
    sent = made.post(admin)["id"]
    eventually(lambda: admin.get(f"/submissions/{sent}").json()["status"] == "running", "it is being scored")
    return children


def _since(began: float) -> float:
    return round(time.perf_counter() - began, 1)


def large(database: str, postgres: PostgresServer, stored: int) -> list[Figure]:
    """The time to submit, claim and read a board, with few and with many stored submissions, in turn."""
    spent: dict[int, dict[str, list[float]]] = {}
    with ExitStack() as kept:
        installations = {}
        for size in (IN_BOARD, stored):
            made = kept.enter_context(installation(database, postgres))
            made.start(workers=1)
            for slug in ("bench", "archive"):
                open_challenge(made.cluster.admin(), slug, GOLD)
            admin = made.cluster.admin()
            made.post(admin, wait=30)
            admin.submit("archive", json.loads(SENT), team="Bench")
            fill(made.cluster.database_url, "bench", IN_BOARD, first=1_000_000_000)
            if size > IN_BOARD:
                fill(made.cluster.database_url, "archive", size - IN_BOARD, first=10)
            installations[size] = (made, admin)
            spent[size] = {"submit": [], "claim": [], "board": []}
        for _ in range(TURNS):
            for size, (made, admin) in installations.items():
                began = time.perf_counter()
                sent = made.post(admin)
                spent[size]["submit"].append(time.perf_counter() - began)
                made.drained()
                timings = admin.get(f"/submissions/{sent['id']}").json()["timings"]
                spent[size]["claim"].append(timings["seconds_queued"])
                time.sleep(MIN_BUILD_INTERVAL_SECONDS)  # a reader who must see the new score would wait until then
                began = time.perf_counter()
                assert admin.board("bench").status_code == 200
                spent[size]["board"].append(time.perf_counter() - began)
    figures = []
    for what in ("submit", "claim", "board"):
        small, many = (1000 * statistics.median(spent[size][what]) for size in (IN_BOARD, stored))
        figures.append(Figure(database, f"{what}, {stored:,} stored", round(many, 1), "ms"))
        figures.append(
            Figure(database, f"{what}, {stored:,} stored against {IN_BOARD:,}", round(many / small, 2), "times")
        )
    return figures


@contextmanager
def _frozen(made: Installation) -> Iterator[None]:
    """Suspend scoring during the block: on SQLite the scoring processes, on PostgreSQL the workers too."""
    parts: list[ServiceProcess] = made.cluster.workers if made.role == "api" else made.cluster.parts
    pids = [pid for part in parts for pid in children_of(part.pid)]
    pids += [part.pid for part in parts if made.role == "api"]
    for pid in pids:
        freeze(pid)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _moment(value: Any) -> float:
    """A time as either database returns it, in seconds."""
    return (datetime.fromisoformat(value) if isinstance(value, str) else value).timestamp()


def table(figures: list[Figure]) -> str:
    """The figures as a Markdown table with one column per database."""
    names = list(dict.fromkeys(figure.database for figure in figures))
    lines = ["| what | " + " | ".join(names) + " | |", "|---|" + "---:|" * len(names) + "---|"]
    for what, unit in dict.fromkeys((figure.what, figure.unit) for figure in figures):
        cells = [next((f"{f.value:,g}" for f in figures if (f.database, f.what) == (name, what)), "") for name in names]
        lines.append(f"| {what} | {' | '.join(cells)} | {unit} |")
    return "\n".join(lines)


def main() -> None:
    """Measure everything on both databases and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stored", type=int, default=1_000_000, help="finished submissions of the large store")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    postgres = server()
    work: list[Callable[[str, PostgresServer], list[Figure]]] = [
        accepted, scored, recovered, lambda database, at: large(database, at, given.stored)
    ]  # fmt: skip
    try:
        figures = [
            figure
            for measure in work
            for database in ("SQLite", "PostgreSQL")
            for figure in measure(database, postgres)
        ]
        with postgres.connect() as connection:
            version = str(connection.execute("SHOW server_version").fetchone()[0])  # type: ignore[index]
    finally:
        postgres.close()
    facts = machine() | {"postgresql": version}
    print(", ".join(f"{key} {value}" for key, value in facts.items()))
    print()
    print(table(figures))
    if given.json:
        given.json.write_text(
            json.dumps({"machine": facts, "figures": [asdict(each) for each in figures]}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
