"""From a POST with `Prefer: wait` to the scores, with many in flight, compared with scoring without a service (W6)."""

from pathlib import Path

import orjson

from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_parser import applicable_metrics
from app.scoring.declaration.requirements import needs_met
from benchmarks import records
from benchmarks.figures import Measured
from benchmarks.labels import ours
from benchmarks.load import Counts, loaded, request
from benchmarks.measure import processor_seconds, processor_seconds_of_children, timed
from benchmarks.served import RECIPE, quantile
from benchmarks.sizes import Sizes
from tests.faults.inspection import frozen_scoring, pid_of
from tests.live_service import Live, open_challenge

RECORDS, CLASSES, WORKERS = 3500, 20, 2
SENDERS = 8


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure waits under two recipes, and acceptance alone without scoring; all share the cores with the sender."""
    of = records.drawn(RECORDS, CLASSES)
    source = records.as_records(folder / "sent.json", of)
    gold = records.as_columns(folder / "gold.json", of, gold=True)
    loaded_gold = records.loaded(gold, of.names)
    fitting = [
        call.text for call in applicable_metrics("multiclass", None, needs_met(loaded_gold.spec)) if _ranks(call)
    ]
    recipes = {"few": RECIPE["metrics"], "all": fitting}
    ways = {name: ours(loaded_gold, source, *metrics) for name, metrics in recipes.items()}
    bare = timed(ways, repetitions=4 * sizes.repetitions)
    found = Measured()
    service = Live(folder / "data", workers=str(WORKERS), scoring_seconds="3600").with_analyses().start()
    try:
        for name, metrics in recipes.items():
            recipe = {"primary": "f1_macro", "metrics": metrics}
            open_challenge(service.admin(), name, orjson.loads(gold.path.read_bytes()), recipe=recipe)
            seen = _waits(service, name, source.path.read_bytes(), sizes)
            _tell(found, f"{len(metrics)} metrics", sizes.waiting, bare[name], seen)
        with frozen_scoring(service):
            sent = [_request(service, "few", source.path.read_bytes(), "Bench")]
            accepted = loaded(service.port, sent, SENDERS, 120, most=sizes.waits)
        assert set(accepted.statuses) == {202}, accepted.statuses
    finally:
        service.kill()
    found.ways(f"{RECORDS:,} records accepted, durable, {SENDERS} senders", {"assay": accepted.rate}, "per second")
    return found


def _ranks(call: MetricCall) -> bool:
    """Whether a recipe accepts this metric: one without a direction cannot rank."""
    return call.metric.direction in {"higher", "lower"}


def _request(service: Live, slug: str, body: bytes, team: str, **headers: str) -> bytes:
    path = f"/api/v1/challenges/{slug}/phases/main/submissions?team={team}"
    own = {"Authorization": f"Bearer {service.admin_token}", "Content_Type": "application/json"}
    return request("POST", path, body, **own, **headers)


def _waits(service: Live, slug: str, body: bytes, sizes: Sizes) -> tuple[Counts, float]:
    """The replies, and CPU milliseconds per submission of all processes of the service."""
    waiting = [_request(service, slug, body, f"Team-{number}", Prefer="wait=60") for number in range(sizes.waiting)]
    loaded(service.port, waiting, WORKERS, 60, most=4 * WORKERS)  # each scoring process has read the gold
    before = _processor(service)
    counts = loaded(service.port, waiting, sizes.waiting, 120, most=sizes.waits)
    assert set(counts.statuses) == {201}, counts.statuses
    return counts, (_processor(service) - before) * 1000 / counts.replies


def _tell(found: Measured, recipe: str, in_flight: int, alone: float, seen: tuple[Counts, float]) -> None:
    counts, spent = seen
    half, most = quantile(counts, 0.5), quantile(counts, 0.95)
    fair = alone * in_flight / WORKERS
    share = f"times {in_flight} / {WORKERS}"
    work = f"{RECORDS:,} records, {recipe}, POST to scores, {in_flight} in flight, {WORKERS} workers"
    ways = {
        f"scoring alone, {share}": fair,
        "scoring alone, in process": alone,
        "over HTTP, median": half,
        "over HTTP, 95th percentile": most,
    }
    found.ways(work, ways, "ms")
    of_all = {"scoring alone, in process": alone, "over HTTP": spent}
    found.ways(f"{work}: processor of all processes", of_all, "ms each")
    found.ways(f"{work}: rate", {"scored": counts.rate}, "per second")
    found.at_most(f"median wait, {recipe}, over scoring alone {share}", 5, half / fair)
    found.at_most(f"95th percentile of the waits, {recipe}, over scoring alone {share}", 15, most / fair)


def _processor(service: Live) -> float:
    """CPU seconds of a service and its scoring processes so far."""
    return processor_seconds(pid_of(service)) + processor_seconds_of_children(pid_of(service))
