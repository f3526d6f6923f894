"""Reading a leaderboard over HTTP, compared with a trivial route, a bare function and a page built from rows (W6)."""

from pathlib import Path

import httpx

from benchmarks import records
from benchmarks.figures import Measured
from benchmarks.large_store import fill
from benchmarks.load import request
from benchmarks.served import RECIPE, Address, Cost, costs, peers, pin
from benchmarks.sizes import Sizes
from tests.faults.inspection import pid_of
from tests.live_service import MAX_WAIT_SECONDS, Live, open_challenge
from tests.settle import settle

BOARD = "/api/v1/challenges/bench/phases/main/leaderboard"
CONNECTIONS = 32
TRIVIAL, PAGE, WHOLE = "FastAPI, a dictionary of one entry", "SQLAlchemy ORM and pydantic, the same rows", "assay"
KNOWN, PACKED = "assay, 304 for a known ETag", "assay, gzip asked for"


def prepared(folder: Path, rows: int) -> Live:
    """A stopped service whose board has this many teams."""
    service = Live(folder / "data").with_analyses().start()
    of = records.drawn(100, 5)
    gold = [{"id": f"doc-{row:08d}", "label": of.names[code]} for row, code in enumerate(of.truth.tolist())]
    open_challenge(service.admin(), "bench", gold, recipe=RECIPE)
    sent = {f"doc-{row:08d}": of.names[code] for row, code in enumerate(of.predicted.tolist())}
    answer = service.admin().submit("bench", sent, team="First", method="first of many")
    assert answer.json()["status"] == "finished", answer.text
    settle(service)
    service.stop()
    fill(f"sqlite:///{service.data_dir}/assay.sqlite3", "bench", rows - 1, first=100_000, teams=rows - 1)
    return service


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure every address in turn; ratios compare CPU time of the server, which other load disturbs least."""
    service = prepared(folder, sizes.board).start()
    try:
        first = httpx.get(
            service.url + BOARD, headers={"Accept-Encoding": "identity"}, timeout=MAX_WAIT_SECONDS
        ).raise_for_status()
        assert len(first.json()["rows"]) == sizes.board
        pin(pid_of(service))
        with peers(folder / "peers", first.content) as (port, pid):
            own = (service.port, pid_of(service))
            addresses = {
                WHOLE: Address(*own, [request("GET", BOARD)], 200),
                KNOWN: Address(*own, [request("GET", BOARD, If_None_Match=first.headers["etag"])], 304),
                PACKED: Address(*own, [request("GET", BOARD, Accept_Encoding="gzip")], 200),
                TRIVIAL: Address(port, pid, [request("GET", "/trivial")], 200),
                "bare ASGI function, a few bytes": Address(port, pid, [request("GET", "/bare")], 200),
                "bare ASGI function, the board's bytes": Address(port, pid, [request("GET", "/bare-board")], 200),
                PAGE: Address(port, pid, [request("GET", "/page")], 200),
            }
            spent = costs(addresses, turns=sizes.repetitions, seconds=sizes.seconds, connections=CONNECTIONS)
    finally:
        service.stop()
    return _figures(spent, f"board of {sizes.board} rows, {len(first.content) / 1000:.0f} kB")


def _figures(spent: dict[str, Cost], work: str) -> Measured:
    found = Measured()
    found.ways(f"{work}, {CONNECTIONS} connections", {name: cost.rate for name, cost in spent.items()}, "per second")
    processor = {name: cost.milliseconds for name, cost in spent.items()}
    found.ways(f"{work}, processor of the server", processor, "ms each")
    found.at_least("board, 200, over a trivial FastAPI route", 0.8, processor[TRIVIAL] / processor[WHOLE])
    found.at_least("board, 304, over a trivial FastAPI route", 0.95, processor[TRIVIAL] / processor[KNOWN])
    found.at_least("board, 200, over ORM and pydantic", 20, processor[PAGE] / processor[WHOLE])
    return found
