"""Large predictions accepted over HTTP, durable before the reply, compared with routes that do less; memory (W6)."""

from dataclasses import replace
from pathlib import Path

from benchmarks.figures import Measured
from benchmarks.load import loaded, request
from benchmarks.measure import MIB, forget_peak, resident
from benchmarks.served import Address, Cost, costs, peers, pin
from benchmarks.sizes import Sizes
from tests.faults.inspection import frozen_scoring, pid_of
from tests.live_service import Live, open_challenge

PATH = "/api/v1/challenges/bench/phases/main/submissions?team=Bench"
BOARD = b'{"rows": []}'
CONNECTIONS = 4
LARGER = 4  # times the size of the other bodies
LARGER_POSTS = 4  # per turn
_INSTANCES = 60_000
OURS, BODY, MODEL = "assay, accepted and durable", "FastAPI, request.body() alone", "FastAPI, pydantic body"
DURABLE = "FastAPI, stream to a file, SHA-256, fsync"
PEERS = {
    BODY: "/body",
    "FastAPI, stream to a file": "/file",
    DURABLE: "/durable",
    "FastAPI, msgspec typed body": "/msgspec",
    MODEL: "/pydantic",
}


def records_of(size: int) -> bytes:
    """Records of this many bytes, or a few less."""
    record = '{"id":"doc-%07d","label":"label-0001"}'
    count = (size - len('{"predictions":[]}')) // (len(record % 0) + 1)
    return f'{{"predictions":[{",".join(record % row for row in range(count))}]}}'.encode()


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure the memory of a new API during the largest upload, then every address, while nothing is scored."""
    service = Live(folder / "data", scoring_seconds="3600")  # or frozen scoring processes would be replaced
    service.with_analyses().start()
    try:
        gold = {f"doc-{row:07d}": f"label-{row % 2:04d}" for row in range(_INSTANCES)}  # that such files are of use
        open_challenge(service.admin(), "bench", gold)
        assert service.admin().submit("bench", gold, team="Bench").json()["status"] == "finished"
        token = {"Authorization": f"Bearer {service.admin_token}", "Content_Type": "application/json"}
        extra = _upload(service, sizes.upload_mebibytes, token)
        body = records_of(sizes.post_bytes)
        with peers(folder / "peers", BOARD) as (port, pid), frozen_scoring(service):
            pin(pid_of(service))
            mine = Address(service.port, pid_of(service), [request("POST", PATH, body, **token)], 202, sizes.posts)
            theirs = {
                name: Address(port, pid, [request("POST", path, body, Content_Type="application/json")], 202,
                              min(sizes.posts, 2) if name == MODEL else sizes.posts)
                for name, path in PEERS.items()
            }  # fmt: skip
            spent = costs({OURS: mine} | theirs, turns=sizes.repetitions, seconds=60, connections=CONNECTIONS)
            larger = _larger(mine, theirs[DURABLE], records_of(LARGER * sizes.post_bytes), token, sizes)
    finally:
        service.kill()
    found = _figures(spent, f"POST of {len(body) / 1e6:.3g} MB, {CONNECTIONS} connections")
    ratio = larger[OURS].milliseconds / larger[DURABLE].milliseconds
    what = f"POST of {LARGER * len(body) / 1e6:.3g} MB, processor, over a route that hashes, writes and syncs"
    found.at_most(what, 1.3, ratio)
    found.at_most(f"extra peak of the API during an upload of {sizes.upload_mebibytes} MiB", 8, extra, "MiB")
    return found


def _larger(mine: Address, bare: Address, body: bytes, token: dict[str, str], sizes: Sizes) -> dict[str, Cost]:
    """The costs of a larger body here and at the route that only hashes, writes and syncs it."""
    both = {
        OURS: replace(mine, requests=[request("POST", PATH, body, **token)], most=LARGER_POSTS),
        DURABLE: replace(
            bare,
            requests=[request("POST", PEERS[DURABLE], body, Content_Type="application/json")],
            most=LARGER_POSTS,
        ),
    }
    return costs(both, turns=sizes.repetitions, seconds=60, connections=1)


def _upload(service: Live, mebibytes: int, token: dict[str, str]) -> float:
    """The peak memory of the API process during one upload, above the memory before it, in MiB."""
    pid = pid_of(service)
    forget_peak(pid)
    before = resident(pid, "VmRSS")
    counts = loaded(service.port, [request("POST", PATH, records_of(mebibytes * MIB), **token)], 1, 60, most=1)
    assert set(counts.statuses) == {202}, counts.statuses
    return (resident(pid, "VmHWM") - before) / MIB


def _figures(spent: dict[str, Cost], work: str) -> Measured:
    found = Measured()
    found.ways(work, {name: cost.rate for name, cost in spent.items()}, "per second")
    found.ways(f"{work}, processor of the server", {name: cost.milliseconds for name, cost in spent.items()}, "ms each")
    found.at_least("POST accepted, over request.body() alone", 0.7, spent[OURS].rate / spent[BODY].rate)
    processor = spent[OURS].milliseconds / spent[DURABLE].milliseconds
    found.at_most(f"{work}, processor, over a route that hashes, writes and syncs", 1.3, processor)
    return found
