"""Corrections of the gold of a phase with many submissions: a preview, and a switch of the board."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from benchmarks import records
from benchmarks.figures import Measured
from benchmarks.load import loaded, request
from benchmarks.measure import processor_seconds, processor_seconds_of_children
from benchmarks.served import RECIPE
from benchmarks.sizes import Sizes
from tests.faults.inspection import pid_of
from tests.live_service import Caller, Live, eventually, open_challenge

RECORDS, CLASSES, WORKERS, SENDERS = 3500, 20, 2, 4
RELABELLED = 35
LONGEST_SECONDS = 600.0
PHASE = "/challenges/corrected/phases/main"


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Measure seconds from the upload to the end, and the CPU seconds of all processes of the service."""
    of = records.drawn(RECORDS, CLASSES)
    source = records.as_records(folder / "sent.json", of)
    gold = orjson.loads(records.as_columns(folder / "gold.json", of, gold=True).path.read_bytes())
    found = Measured()
    service = Live(folder / "data", workers=str(WORKERS)).with_analyses().start()
    try:
        admin = service.admin()
        open_challenge(admin, "corrected", gold, recipe=RECIPE)
        _send(service, source.path.read_bytes(), sizes.corrected)
        eventually(lambda: _finished(admin) == sizes.corrected, "all are scored", LONGEST_SECONDS)
        preview = _timed(service, lambda: _preview(admin, _draft(admin, gold, RELABELLED)))
        switch = _timed(service, lambda: _correct(admin, _draft(admin, gold, 2 * RELABELLED)))
    finally:
        service.kill()
    of_all = f"{sizes.corrected:,} submissions of {RECORDS:,} records, {WORKERS} workers"
    for work, end, spent in (
        (f"preview of a correction of {of_all}", "until the boards are compared", preview),
        (f"correction of {of_all}", "until the board has switched", switch),
    ):
        found.ways(work, {end: spent[0], "processor of all processes": spent[1]}, "s")
        found.at_most(f"{work}: seconds {end}", 60.0, spent[0], "s")
    return found


def _timed(service: Live, work: Callable[[], None]) -> tuple[float, float]:
    """Seconds that passed, and CPU seconds of all processes."""
    before, began = _processor(service), time.perf_counter()
    work()
    return time.perf_counter() - began, _processor(service) - before


def _draft(admin: Caller, gold: dict[str, Any], relabelled: int) -> int:
    """Upload gold with so many labels changed; gives its version."""
    labels = list(gold["labels"])
    labels[:relabelled] = [labels[-1 - place] for place in range(relabelled)]
    return int(admin.post(f"{PHASE}/gold", json=gold | {"labels": labels}).raise_for_status().json()["version"])


def _preview(admin: Caller, version: int) -> None:
    path = f"{PHASE}/gold/{version}/preview"
    admin.post(path).raise_for_status()
    eventually(lambda: _has(admin, path, "done"), "the boards are compared", LONGEST_SECONDS)


def _correct(admin: Caller, version: int) -> None:
    path = f"{PHASE}/gold/{version}"
    admin.post(f"{path}/activate", json={"reason": "Labels were wrong."}).raise_for_status()
    eventually(lambda: _has(admin, path, "active"), "the board has switched", LONGEST_SECONDS)


def _send(service: Live, body: bytes, count: int) -> None:
    own = {"Authorization": f"Bearer {service.admin_token}", "Content_Type": "application/json"}
    path = "/api/v1/challenges/corrected/phases/main/submissions?team=Team-"
    sent = [request("POST", f"{path}{number}", body, **own) for number in range(count)]
    accepted = loaded(service.port, sent, SENDERS, LONGEST_SECONDS, most=count)
    assert set(accepted.statuses) == {202}, accepted.statuses


def _finished(admin: Caller) -> int:
    time.sleep(0.2)
    return int(admin.get(f"{PHASE}/leaderboard", params={"limit": 1}).json()["total"])


def _has(admin: Caller, path: str, status: str) -> bool:
    time.sleep(0.1)
    return bool(admin.get(path).json()["status"] == status)


def _processor(service: Live) -> float:
    """CPU seconds of a service and its scoring processes so far, without those of intervals."""
    return processor_seconds(pid_of(service)) + processor_seconds_of_children(pid_of(service))
