"""From a POST with `Prefer: wait` to the scores, many in flight, beside scoring the file without a service (W6)."""

from pathlib import Path

import orjson

from benchmarks import records
from benchmarks.figures import Measured
from benchmarks.labels import ours
from benchmarks.load import loaded, request
from benchmarks.measure import processor_seconds, timed
from benchmarks.served import RECIPE, quantile
from benchmarks.sizes import Sizes
from tests.faults.support import children_of, frozen, pid_of
from tests.live import Live, open_challenge

RECORDS, CLASSES, WORKERS = 3500, 20, 2
PATH = "/api/v1/challenges/bench/phases/main/submissions"
SENDERS = 8


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Waits of all, and acceptance alone while nothing is scored; everything shares the cores with the sender."""
    of = records.drawn(RECORDS, CLASSES)
    source = records.as_records(folder / "sent.json", of)
    gold = records.as_columns(folder / "gold.json", of, gold=True)
    bare = timed(
        {"": ours(records.loaded(gold, of.names), source, *RECIPE["metrics"])}, repetitions=4 * sizes.repetitions
    )
    alone = bare[""]
    service = Live(folder / "data", workers=str(WORKERS), scoring_seconds="3600").start()
    try:
        admin = service.admin()
        open_challenge(admin, "bench", orjson.loads(gold.path.read_bytes()), recipe=RECIPE)
        headers = {"Authorization": f"Bearer {service.admin_token}", "Content_Type": "application/json"}
        body = source.path.read_bytes()
        waiting = [
            request("POST", f"{PATH}?team=Team-{number}", body, Prefer="wait=60", **headers)
            for number in range(sizes.waiting)
        ]
        loaded(service.port, waiting, WORKERS, 60, most=4 * WORKERS)  # each child has read the gold
        before = _processor(service)
        counts = loaded(service.port, waiting, sizes.waiting, 120, most=sizes.waits)
        spent = (_processor(service) - before) * 1000 / counts.replies
        assert set(counts.statuses) == {201}, counts.statuses
        with frozen(service):
            sent = [request("POST", f"{PATH}?team=Bench", body, **headers)]
            accepted = loaded(service.port, sent, SENDERS, 120, most=sizes.waits)
        assert set(accepted.statuses) == {202}, accepted.statuses
    finally:
        service.kill()
    half, most = quantile(counts, 0.5), quantile(counts, 0.95)
    fair = alone * sizes.waiting / WORKERS
    found = Measured()
    work = f"{RECORDS:,} records, POST to scores, {sizes.waiting} in flight, {WORKERS} workers"
    found.ways(
        work,
        {
            f"scoring alone, times {sizes.waiting} / {WORKERS}": fair,
            "scoring alone, in process": alone,
            "over HTTP, median": half,
            "over HTTP, 95th percentile": most,
        },
        "ms",
    )
    found.ways(
        f"{work}: processor of all processes", {"scoring alone, in process": alone, "over HTTP": spent}, "ms each"
    )
    found.ways(f"{work}: rate", {"scored": counts.rate}, "per second")
    found.ways(f"{RECORDS:,} records accepted, durable, {SENDERS} senders", {"assay": accepted.rate}, "per second")
    found.at_most(f"median wait, over scoring alone times {sizes.waiting} / {WORKERS}", 5, half / fair)
    found.at_most(
        f"95th percentile of the waits, over scoring alone times {sizes.waiting} / {WORKERS}", 15, most / fair
    )
    return found


def _processor(service: Live) -> float:
    """Processor seconds of a service and its children so far."""
    return sum(map(processor_seconds, [pid_of(service), *children_of(pid_of(service))]))
