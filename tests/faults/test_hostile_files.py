"""Two hundred files that mean harm, one after the other: nothing of them is left but what was to be kept."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.formats import FORMATS
from tests.faults.hostile import MIB, hostile_files
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, children_of, pid_of, query_rows, stored_uploads
from tests.live_service import Caller, Live, open_challenge

MAIN = "/challenges/pets/phases/main"
MEMORY = 768 * MIB
COUNT = 200
WAYS: tuple[tuple[str, dict[str, str], dict[str, str]], ...] = (
    (f"{MAIN}/submissions", {"team": "Blue", "dry_run": "true"}, {}),
    (f"{MAIN}/submissions", {"team": "Blue"}, {"Prefer": "wait=60"}),
    (f"{MAIN}/gold", {}, {}),
)


@pytest.fixture(scope="module")
def strong(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    service = Live(tmp_path_factory.mktemp("hostile") / "data", scoring_memory=str(MEMORY), crash_cap="1")
    service.preloads_scoring = False  # the limit is that of the program
    service.start()
    open_challenge(service.admin(), "pets", GOLD, recipe={"primary": "accuracy", "metrics": ["accuracy"]})
    yield service
    service.kill()


def expected_uploads(service: Live) -> list[str]:
    """The names of the files that rows point to."""
    keys = query_rows(service, "SELECT file_key FROM submissions UNION SELECT file_key FROM gold_versions")
    return sorted(str(key).removeprefix("uploads/") for (key,) in keys)


def resident(pid: int) -> int:
    """The memory that a process holds now, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def send(caller: Caller, number: int, form: str, encoding: str, body: bytes) -> httpx.Response:
    path, query, headers = WAYS[number % len(WAYS)]
    media = {"Content-Type": FORMATS[form].media_types[0], **headers}
    return caller.post(
        path, content=body, params=query, headers=media | ({"Content-Encoding": encoding} if encoding else {})
    )


def check(answer: httpx.Response, what: str) -> None:
    """Nothing is our fault, and whoever sent it is told what is wrong."""
    assert answer.status_code in {200, 201, 413, 422}, (what, answer.status_code, answer.text[:500])
    body = answer.json()
    if answer.status_code >= 400:
        assert body["remedy"], what
        assert body["code"] in {"invalid_gold", "too_large"}, (what, body)
    elif "valid" in body:
        assert body["valid"] == (not body["problems"]), what
    elif "team" in body:
        assert body["status"] in {"finished", "rejected", "failed"}, (what, body)
        assert body["failure"] is None or body["failure"]["code"] in {"memory_limit", "time_limit"}, (what, body)
        assert (body["status"] == "rejected") == bool(body["problems"]), what


@pytest.mark.ci
def test_two_hundred_hostile_files_leave_nothing_behind(strong: Live) -> None:
    admin, pid = strong.admin(), pid_of(strong)
    dry, stored, gold = 0, 0, 0
    before: tuple[int, int] | None = None
    for number, (form, encoding, body) in enumerate(hostile_files(COUNT, seed=7)):
        shift = number + number // 22  # so that each kind of bomb meets one way, and the rest all of them
        answer = send(admin, shift, form, encoding, body)
        check(answer, f"{number}: {form} {encoding} {body[:60]!r}")
        dry += shift % 3 == 0
        stored += shift % 3 == 1 and answer.status_code == 201
        gold += shift % 3 == 2 and answer.status_code == 201
        if number == COUNT // 2:
            before = resident(pid), open_files(pid)
    assert min(dry, stored) > 5
    assert gold > 0
    assert query_rows(strong, "SELECT count(*) FROM submissions") == [(stored,)]
    assert query_rows(strong, "SELECT count(*) FROM gold_versions") == [(1 + gold,)]
    assert stored_uploads(strong) == expected_uploads(strong)
    assert before is not None
    assert resident(pid) - before[0] < 32 * MIB
    assert open_files(pid) - before[1] <= 4
    children = children_of(pid)
    assert len(children) == 3  # one that scores and two that read
    for child in children:
        limit = next(line for line in Path(f"/proc/{child}/limits").read_text().splitlines() if "data size" in line)
        assert int(limit.split()[3]) == MEMORY
    answer = admin.submit("pets", CORRECT_PREDICTIONS, team="Green")
    assert answer.json()["scores"]["accuracy"]["value"] == 1.0, answer.text
