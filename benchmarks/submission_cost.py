"""CPU time per submission of all processes of the service, by process, on both databases, beside another program.

`python -m benchmarks.submission_cost [--against CHECKOUT] [--databases SQLite,PostgreSQL] [--turns 4] [--count 80]`.
The programs take turns under the same load in one run, so that their ratio holds on a busy machine too. Without
`--against`, the other program is the one that the target names, taken from the history of the repository.
"""

import argparse
import json
import os
import secrets
import sqlite3
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from io import BytesIO
from itertools import cycle
from pathlib import Path

from benchmarks.apart import Failed
from benchmarks.figures import Measured
from benchmarks.load import loaded, request
from benchmarks.measure import processor_seconds, processor_seconds_of_children
from benchmarks.served import RECIPE
from benchmarks.sizes import Sizes
from tests.cluster import ServiceProcess
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD, ROOT, Caller, eventually, open_challenge
from tests.postgres import OwnPostgresServer
from tests.preloaded_service import SERVICE_COMMAND, start_service

RECORDS, CLASSES, SENDERS = 3500, 20, 8
WARM_UP = 2 * SENDERS
DATABASES = ("SQLite", "PostgreSQL")
TARGETS = {"SQLite": 0.7, "PostgreSQL": 0.6}
STARTING_COMMIT = "e1c3277"
OURS, OTHER, ALL = "assay", f"assay at {STARTING_COMMIT}", "all processes"
TOKEN = "a-token-of-the-administrator-for-benchmarks"  # noqa: S105 - of a service on loopback that ends with the run
WAITING = "SELECT count(*) FROM score_tasks WHERE status IN ('queued', 'running')"
GOLD = [{"id": f"instance-{number:06d}", "label": f"c{number % CLASSES:02d}"} for number in range(RECORDS)]
SENT = json.dumps(
    {"predictions": [{"id": row["id"], "label": f"c{number * 7 % CLASSES:02d}"} for number, row in enumerate(GOLD)]}
).encode()
LOADS = {"burst": 202, "waiting": 201}
"""The status of a reply by load: sent without waiting for the scores, or with `Prefer: wait`."""

Spent = dict[str, float]
"""CPU seconds by process."""


class Program:
    """The service of one checkout with its own database; on PostgreSQL an API, a worker and a database server.

    Without a checkout it is this program as tests start it: quickly, and with cheap password hashes.
    """

    def __init__(self, checkout: Path | None, folder: Path, server: OwnPostgresServer | None) -> None:
        self._folder, self._server = folder, server
        from_nothing = ["env", "-C", str(checkout), sys.executable, "-m", "app.cli"]
        self._command = SERVICE_COMMAND if checkout is None else from_nothing
        self.database_url = server.url(server.create()) if server else f"sqlite:///{folder}/assay.sqlite3"
        self._settings = {
            "ASSAY_DATA_DIR": str(folder / "data"),
            "ASSAY_DATABASE_URL": self.database_url,
            "ASSAY_FILES_SHARED": "true",
            "ASSAY_RATE_LIMITS": "off",
            "ASSAY_MIN_FREE": "0",
            "ASSAY_WORKERS": "1",
            "ASSAY_LOG_FORMAT": "json",
            "ASSAY_ADMIN_TOKEN": TOKEN,
        }
        self._parts: list[ServiceProcess] = []
        self._unfinished: Callable[[], int] = lambda: 0
        self._own_backend = 0
        self.close = ExitStack()

    def start(self) -> None:
        """Migrate the database, start all processes, and open a challenge with participants."""
        self._folder.mkdir()
        if self._server:
            keep = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
            with (self._folder / "migrate.log").open("wb") as log:
                migration = start_service(self._command, ["migrate"], env=keep | self._settings, log=log)
            assert migration.wait(timeout=MAX_WAIT_SECONDS) == 0, (self._folder / "migrate.log").read_text()
        for role in ("api", "worker") if self._server else ("serve",):
            part = ServiceProcess(role, self._folder, self._settings, analyses=True)
            part.program = self._command
            self._parts.append(part)
            self.close.callback(part.kill, group=True)
            part.start().wait_ready()
        self._watch()
        phases = [{"name": "main", "quota": {"per_day": 1_000_000, "concurrent": 1_000_000}}]
        url = self._parts[0].url
        with Caller(url, TOKEN) as admin:
            open_challenge(admin, "bench", GOLD, recipe=RECIPE, phases=phases)
            self._tokens = [_participant(admin, url, f"person-{number}") for number in range(SENDERS)]

    def load(self, kind: str, count: int) -> Spent:
        """CPU seconds of each process for this many submissions, from the first request to the last score."""
        headers = {"Prefer": "wait=60"} if kind == "waiting" else {}
        path = "/api/v1/challenges/bench/phases/main/submissions?method=Bench"
        own = [{"Authorization": f"Bearer {token}", "Content_Type": "application/json"} for token in self._tokens]
        # As `assay submit` does, each request has a key of its own.
        keys = [{"Idempotency_Key": secrets.token_hex(16)} for _ in range(count)]
        requests = [
            request("POST", path, SENT, **each, **key, **headers) for key, each in zip(keys, cycle(own), strict=False)
        ]
        before = self._spent()
        counts = loaded(self._parts[0].port, requests, SENDERS, 300, most=count)
        assert set(counts.statuses) == {LOADS[kind]}, counts.statuses
        eventually(lambda: not self._unfinished(), "all is scored", 600)
        return {name: seconds - before[name] for name, seconds in self._spent().items()}

    def _watch(self) -> None:
        """Open the connection that asks how many submissions are unfinished; its own cost does not count."""
        if self._server:
            connection = self.close.enter_context(self._server.connect(self.database_url.rpartition("/")[2]))
            self._own_backend = connection.info.backend_pid
            self._unfinished = lambda: int(connection.execute(WAITING).fetchone()[0])  # type: ignore[index]
            return
        path = self.database_url.removeprefix("sqlite:///")
        opened = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
        read = self.close.enter_context(closing(opened))
        self._unfinished = lambda: int(read.execute(WAITING).fetchone()[0])

    def _spent(self) -> Spent:
        """CPU seconds so far of each kind of process."""
        own = {part.role: processor_seconds(part.pid) for part in self._parts}
        children = sum(processor_seconds_of_children(part.pid) for part in self._parts)
        if not self._server:
            return {"API and worker": own["serve"], "scoring process": children}
        server = processor_seconds(self._server.pid) + processor_seconds_of_children(self._server.pid)
        server -= processor_seconds(self._own_backend)
        return {"API": own["api"], "worker": own["worker"], "scoring process": children, "PostgreSQL": server}


def _participant(admin: Caller, url: str, name: str) -> str:
    """The token of a new account with a team of its own."""
    body = {"email": f"{name}@example.org", "name": name, "password": PASSWORD}
    admin.post("/users", json=body).raise_for_status()
    answer = admin.post("/tokens", json={"email": body["email"], "password": PASSWORD})
    token = str(answer.raise_for_status().json()["token"])
    with Caller(url, token) as person:
        person.join("bench", f"Team {name}")
    return token


@contextmanager
def commit_of(name: str) -> Iterator[Path]:
    """The files of a commit. Raises Failed where the history lacks it, as in a shallow clone."""
    command = ["git", "archive", name]
    archive = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    if archive.returncode:
        raise Failed(f"the history has no commit {name}; fetch it with `git fetch --unshallow`")
    with tempfile.TemporaryDirectory(prefix="assay-start-") as folder:
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)


def own_checkout(sizes: Sizes) -> Path | None:
    """The checkout of this program, which starts as an earlier one does; None if it is only compared with itself."""
    return ROOT if sizes.from_history else None


def compare(
    checkouts: Mapping[str, Path | None], folder: Path, database: str, *, turns: int, count: int
) -> dict[tuple[str, str], list[Spent]]:
    """By load and program, the CPU milliseconds per submission of each turn."""
    with ExitStack() as running:
        programs = {
            name: started(running, checkout, folder / f"{database}-{number}", database, min(count, WARM_UP))
            for number, (name, checkout) in enumerate(checkouts.items())
        }
        return in_turns(programs, turns=turns, count=count)


def started(running: ExitStack, checkout: Path | None, folder: Path, database: str, count: int = WARM_UP) -> Program:
    """A running program that has computed everything that is computed once for the first `count` submissions.

    It ends with the stack.
    """
    server = running.enter_context(closing(OwnPostgresServer())) if database == "PostgreSQL" else None
    program = Program(checkout, folder, server)
    running.enter_context(program.close)
    program.start()
    for kind in LOADS:
        program.load(kind, count)
    return program


def in_turns(programs: dict[str, Program], *, turns: int, count: int) -> dict[tuple[str, str], list[Spent]]:
    """By load and program, the CPU milliseconds per submission of each turn."""
    found: dict[tuple[str, str], list[Spent]] = {}
    for turn in range(turns):
        order = list(programs.items())[:: -1 if turn % 2 else 1]
        for kind in LOADS:
            for name, program in order:
                spent = program.load(kind, count)
                found.setdefault((kind, name), []).append(
                    {each: 1000 * max(seconds, 1e-4) / count for each, seconds in spent.items()}
                )
    return found


def measure_programs(
    checkouts: Mapping[str, Path | None],
    folder: Path,
    databases: Sequence[str],
    *,
    turns: int,
    count: int,
    limits: Mapping[str, float] = TARGETS,
) -> Measured:
    """The figures of the programs; with two of them also the targets: the most by database, relative to the first."""
    figures, first = Measured(), next(iter(checkouts))
    for database in databases:
        found = compare(checkouts, folder, database, turns=turns, count=count)
        for kind in LOADS:
            of_each = {name: found[kind, name] for name in checkouts}
            for process in next(iter(of_each.values()))[0]:
                medians = {name: statistics.median(each[process] for each in runs) for name, runs in of_each.items()}
                figures.ways(f"{database}, {kind}: {process}", medians, "ms each")
            totals = {name: statistics.median(sum(each.values()) for each in runs) for name, runs in of_each.items()}
            figures.ways(f"{database}, {kind}: {ALL}", totals, "ms each")
            if len(totals) > 1:
                what = f"processor per submission, {database}, {kind}, over {first}"
                figures.at_most(what, limits[database], totals[OURS] / totals[first])
    return figures


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure this program beside the starting commit on both databases."""
    with commit_of(STARTING_COMMIT) if sizes.from_history else nullcontext() as before:
        checkouts = {OTHER: before, OURS: own_checkout(sizes)}
        databases = DATABASES if sizes.from_history else DATABASES[:1]  # tests run large_phase on the other one
        return measure_programs(checkouts, folder, databases, turns=sizes.repetitions, count=max(1, sizes.waits // 4))


def main() -> None:
    """Measure and print the table."""
    from benchmarks.run import report  # noqa: PLC0415 - which imports this module by name

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="a checkout to compare with, instead of the starting commit")
    parser.add_argument("--databases", default=",".join(DATABASES))
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--count", type=int, default=80, help="submissions per turn, load and program")
    given = parser.parse_args()
    with ExitStack() as kept:
        before = given.against or kept.enter_context(commit_of(STARTING_COMMIT))
        folder = Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="assay-cost-")))
        other = OTHER if given.against is None else f"assay in {given.against}"
        checkouts = {other: before.resolve(), OURS: ROOT}
        databases = given.databases.split(",")
        figures = measure_programs(checkouts, folder, databases, turns=given.turns, count=given.count)
    print(report({"submission": {"rows": [vars(row) for row in figures.rows],
                                 "targets": [vars(each) | {"met": each.met} for each in figures.targets]}}))  # fmt: skip


if __name__ == "__main__":
    main()
