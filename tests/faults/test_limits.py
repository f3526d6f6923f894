"""A submission that hits a limit fails at the cap with a reason, costs nothing, and leaves the worker alive."""

import gzip
from collections.abc import Iterator

import pytest

from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, frozen_scoring, is_alive, query_rows
from tests.live_service import Caller, Live, open_challenge

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("limits") / "data"
    service = Live(folder, scoring_memory=str(256 * MIB), scoring_seconds="20", crash_cap="1").start()
    open_challenge(service.admin(), "pets", GOLD, phases=[{"name": "main", "quota": {"per_day": 2}}])
    yield service
    service.kill()


def assert_the_next_one_finishes(caller: Caller) -> None:
    answer = caller.submit("pets", CORRECT_PREDICTIONS)
    assert answer.status_code == 201, answer.text
    assert answer.json()["status"] == "finished"


def test_a_file_that_swells_beyond_its_phase_is_rejected_at_once_and_not_charged(limited: Live) -> None:
    blue = limited.person("Blue").join("pets", "Blue")
    poison = gzip.compress(b'{"t1": "' + b"a" * (300 * MIB) + b'"}', compresslevel=1)
    answer = blue.post(
        "/challenges/pets/phases/main/submissions",
        content=poison,
        headers={"Content-Type": "application/json", "Content-Encoding": "gzip", "Prefer": "wait=60"},
    )
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert body["status"] == "rejected"
    assert body["total"] == {"too_large": 1}
    assert "can need" in body["problems"][0]["message"]
    assert body["total_at_least"] is True
    assert body["scores"] == {}
    assert query_rows(limited, "SELECT crashes, status FROM score_tasks") == [(0, "done")]
    assert query_rows(limited, "SELECT kind, reason FROM quota_entries ORDER BY id") == [
        ("reserve", "admitted"),
        ("refund", "rejected"),
    ]
    # Two a day: a rejected one is not among them.
    assert_the_next_one_finishes(blue)
    assert_the_next_one_finishes(blue)
    assert blue.submit("pets", CORRECT_PREDICTIONS).json()["code"] == "quota_exceeded"


def test_a_scoring_that_takes_too_long_is_killed_and_fails_at_the_cap(limited: Live) -> None:
    red = limited.person("Red").join("pets", "Red")
    with frozen_scoring(limited) as children:
        answer = red.submit("pets", CORRECT_PREDICTIONS, wait=60)
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert body["status"] == "failed"
    assert body["failure"]["code"] == "time_limit"
    of_it = f"WHERE submission_id = '{body['id']}'"
    assert query_rows(limited, f"SELECT crashes, attempt, status FROM score_tasks {of_it}") == [(1, 1, "failed")]
    assert len([child for child in children if is_alive(child)]) == 2  # the readers
    assert_the_next_one_finishes(red)
