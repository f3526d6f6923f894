"""A submission that hits a limit again and again fails with a reason, costs nothing, and leaves the worker alive."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.support import GOOD, alive, frozen, prepared, rows
from tests.live import Caller, Live

MIB = 1024 * 1024


@pytest.fixture
def limited(tmp_path: Path, limits: dict[str, str]) -> Iterator[Live]:
    service = Live(tmp_path / "data", **limits).start()
    yield service
    service.kill()


def assert_the_next_one_finishes(who: Caller) -> None:
    answer = who.submit("pets", GOOD)
    assert answer.status_code == 201, answer.text
    assert answer.json()["status"] == "finished"


@pytest.mark.parametrize("limits", [{"scoring_memory": str(256 * MIB), "crash_cap": "2"}])
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


@pytest.mark.parametrize("limits", [{"scoring_seconds": "4", "crash_cap": "1"}])
def test_a_scoring_that_takes_too_long_is_killed_and_fails_at_the_cap(limited: Live) -> None:
    blue = prepared(limited, quota={"per_day": 1})
    with frozen(limited) as children:
        answer = blue.submit("pets", GOOD, wait=60)
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert body["status"] == "failed"
    assert body["failure"]["code"] == "time_limit"
    assert rows(limited, "SELECT crashes, attempt, status FROM score_tasks") == [(1, 1, "failed")]
    assert len([child for child in children if alive(child)]) == 2  # the readers
    assert_the_next_one_finishes(blue)
