"""A correction of the gold of a phase with many submissions: from the activation until its board has switched."""

import time
from pathlib import Path

import orjson

from benchmarks import records
from benchmarks.figures import Measured
from benchmarks.load import loaded, request
from benchmarks.measure import processor_seconds
from benchmarks.served import RECIPE
from benchmarks.sizes import Sizes
from tests.faults.inspection import children_of, pid_of
from tests.live_service import Caller, Live, eventually, open_challenge

RECORDS, CLASSES, WORKERS, SENDERS = 3500, 20, 2, 4
RELABELLED = 35
LONGEST_SECONDS = 600.0
PHASE = "/challenges/corrected/phases/main"


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure seconds from the request to the switch, and the CPU seconds of all processes of the service."""
    of = records.drawn(RECORDS, CLASSES)
    source = records.as_records(folder / "sent.json", of)
    gold = orjson.loads(records.as_columns(folder / "gold.json", of, gold=True).path.read_bytes())
    found = Measured()
    service = Live(folder / "data", workers=str(WORKERS)).start()
    try:
        admin = service.admin()
        open_challenge(admin, "corrected", gold, recipe=RECIPE)
        _send(service, source.path.read_bytes(), sizes.corrected)
        eventually(lambda: _finished(admin) == sizes.corrected, "all are scored", LONGEST_SECONDS)
        labels = gold["labels"]
        labels[:RELABELLED] = [labels[-1 - place] for place in range(RELABELLED)]
        version = admin.post(f"{PHASE}/gold", json=gold).raise_for_status().json()["version"]
        before, began = _processor(service), time.perf_counter()
        admin.post(f"{PHASE}/gold/{version}/activate", json={"reason": "Labels were wrong."}).raise_for_status()
        eventually(lambda: _is_active(admin, version), "the board has switched", LONGEST_SECONDS)
        seconds, spent = time.perf_counter() - began, _processor(service) - before
    finally:
        service.kill()
    work = f"correction of {sizes.corrected:,} submissions of {RECORDS:,} records, {WORKERS} workers"
    found.ways(work, {"until the board has switched": seconds, "processor of all processes": spent}, "s")
    found.at_most(f"{work}: seconds until the board has switched", 60.0, seconds, "s")
    return found


def _send(service: Live, body: bytes, count: int) -> None:
    own = {"Authorization": f"Bearer {service.admin_token}", "Content_Type": "application/json"}
    path = "/api/v1/challenges/corrected/phases/main/submissions?team=Team-"
    sent = [request("POST", f"{path}{number}", body, **own) for number in range(count)]
    accepted = loaded(service.port, sent, SENDERS, LONGEST_SECONDS, most=count)
    assert set(accepted.statuses) == {202}, accepted.statuses


def _finished(admin: Caller) -> int:
    time.sleep(0.2)
    return int(admin.get(f"{PHASE}/leaderboard", params={"limit": 1}).json()["total"])


def _is_active(admin: Caller, version: int) -> bool:
    time.sleep(0.1)
    return bool(admin.get(f"{PHASE}/gold/{version}").json()["status"] == "active")


def _processor(service: Live) -> float:
    """CPU seconds of a service and its scoring processes so far, without those of intervals."""
    return sum(map(processor_seconds, [pid_of(service), *children_of(pid_of(service))]))
