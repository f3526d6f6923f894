"""A submission that hits a limit again and again fails with a reason, costs nothing, and leaves the worker alive."""

import gzip
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.support import GOOD, children_of, pid_of, prepared, rows
from tests.live import Caller, Live

MIB = 1024 * 1024


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Live]:
    service = Live(tmp_path / "data", scoring_seconds="4", scoring_memory=str(256 * MIB), crash_cap="2").start()
    yield service
    service.kill()


def assert_the_next_one_finishes(who: Caller) -> None:
    answer = who.submit("pets", GOOD)
    assert answer.status_code == 201, answer.text
    assert answer.json()["status"] == "finished"


def test_a_file_that_needs_too_much_memory_fails_and_is_refunded(limited: Live) -> None:
    blue = prepared(limited, quota={"per_day": 2})
    poison = gzip.compress(b'{"t1": "' + b"a" * (300 * MIB) + b'"}', compresslevel=1)
    answer = blue.post(
        "/challenges/pets/phases/main/submissions",
        content=poison,
        headers={"Content-Type": "application/json", "Content-Encoding": "gzip", "Prefer": "wait=60"},
    )
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert body["status"] == "failed"
    assert body["failure"]["code"] == "memory_limit"
    assert "2 times" in body["failure"]["detail"]
    assert body["scores"] == {}
    assert rows(limited, "SELECT crashes, status FROM score_tasks") == [(2, "failed")]
    assert rows(limited, "SELECT kind, reason FROM quota_entries ORDER BY id") == [
        ("reserve", "admitted"),
        ("refund", "failed"),
    ]
    # Two a day: a failed one is not among them.
    assert_the_next_one_finishes(blue)
    assert_the_next_one_finishes(blue)
    assert blue.submit("pets", GOOD).json()["code"] == "quota_exceeded"


def test_a_child_that_takes_too_long_is_killed_and_the_submission_fails_at_the_cap(limited: Live) -> None:
    blue = prepared(limited, quota={"per_day": 1})
    pending = blue.post("/challenges/pets/phases/main/submissions", json=GOOD)
    assert pending.status_code == 202
    blue.get(pending.headers["Location"].removeprefix("/api/v1"))
    frozen: set[int] = set()

    def failed() -> bool:
        # Every child that comes up is frozen, so that the time limit is the only way out.
        for child in set(children_of(pid_of(limited))) - frozen:
            os.kill(child, signal.SIGSTOP)
            frozen.add(child)
        return bool(rows(limited, "SELECT 1 FROM submissions WHERE status = 'failed'"))

    assert not failed()
