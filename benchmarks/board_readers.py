"""Many live readers of a board while scores arrive: how often it is built, and what a reply costs (W6)."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import event
from sqlalchemy.pool import Pool

from app.store import board_invalidation
from app.store.session import Database
from app.store.tables import Phase, Team
from benchmarks import records
from benchmarks.boards import BOARD
from benchmarks.figures import Measured
from benchmarks.large_store import fill
from benchmarks.load import loaded, request
from benchmarks.served import RECIPE
from benchmarks.sizes import Sizes
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.live_service import open_challenge

READERS = 500
ARRIVALS_PER_SECOND = 50
QUIET, ARRIVING = "no new scores", f"{ARRIVALS_PER_SECOND} new scores a second"


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Load the board in turn without and with new scores; the load shares the process with the service."""
    spent: dict[str, list[float]] = {QUIET: [], ARRIVING: []}
    built, seconds = 0, 0.0
    with serve_app(app_settings(folder / "data"), analyses=True) as app:
        _open(app, folder, sizes.board)
        for _ in range(sizes.repetitions):
            for way, costs in spent.items():
                with new_scores(app, ARRIVALS_PER_SECOND if way == ARRIVING else 0), board_builds() as builds:
                    cost, lasted = _load(app, sizes.seconds)
                costs.append(cost)
                if way == ARRIVING:
                    built, seconds = built + len(builds), seconds + lasted
    found = Measured()
    work = f"board of {sizes.board} rows, {READERS} readers"
    medians = {way: sorted(costs)[len(costs) // 2] for way, costs in spent.items()}
    found.ways(f"{work}, processor of readers and service", medians, "ms each")
    # Each of the turns may begin and end with a build.
    found.at_most(f"{work}, {ARRIVING}, builds a second", 1, max(0, built - sizes.repetitions) / seconds, "builds")
    return found


def _open(app: ServedApp, folder: Path, rows: int) -> None:
    of = records.drawn(100, 5)
    gold = [{"id": f"doc-{row:08d}", "label": of.names[code]} for row, code in enumerate(of.truth.tolist())]
    open_challenge(app.admin(), "bench", gold, recipe=RECIPE)
    sent = {f"doc-{row:08d}": of.names[code] for row, code in enumerate(of.predicted.tolist())}
    assert app.admin().submit("bench", sent, team="First").json()["status"] == "finished"
    fill(f"sqlite:///{folder / 'data'}/assay.sqlite3", "bench", rows - 1, first=100_000, teams=rows - 1)


def _load(app: ServedApp, seconds: float) -> tuple[float, float]:
    """Milliseconds of CPU time for each reply, of the readers too, and the seconds that the load lasted."""
    port, began, cpu = urlsplit(app.url).port, time.perf_counter(), time.process_time()
    assert port is not None
    counts = loaded(port, [request("GET", BOARD)], READERS, seconds)
    assert set(counts.statuses) == {200}, counts.statuses
    return (time.process_time() - cpu) * 1000 / counts.replies, time.perf_counter() - began


@contextmanager
def new_scores(app: ServedApp, per_second: int) -> Iterator[None]:
    """Report new scores of a team meanwhile, as a worker does; 0 reports none."""
    db: Database = app.app.state.service.db
    with db.read() as session:
        phase_id, team_id = session.query(Phase).one().id, session.query(Team).first()
    assert team_id is not None
    tag, ended = board_invalidation.phase_tag(phase_id), threading.Event()

    def report() -> None:
        number = 0
        while per_second and not ended.wait(1 / per_second):
            number += 1
            with db.write(durable=False) as session:
                session.connection()
                board_invalidation.invalidate(session, board_invalidation.settled_tag(tag, team_id.id, f"s{number}"))

    thread = threading.Thread(target=report)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def board_builds() -> Iterator[list[object]]:
    """The sessions that threads of requests take meanwhile: each build takes one."""
    taken: list[object] = []

    def note(connection: object, *_: object) -> None:
        if threading.current_thread().name.startswith("AnyIO"):
            taken.append(connection)

    event.listen(Pool, "checkout", note)
    try:
        yield taken
    finally:
        event.remove(Pool, "checkout", note)
