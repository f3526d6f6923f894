"""A transaction that does not commit is never acknowledged: 503, no row, and the way back is a repetition."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, frozen_scoring, pid_of, query_rows, submission_status
from tests.live_service import PASSWORD, Live, eventually, open_challenge
from tests.store.test_fault_commit import assert_unavailable

SUBMISSIONS = "/challenges/pets/phases/main/submissions"


@contextmanager
def no_room_for_the_log_of_writes(service: Live) -> Iterator[None]:
    """The operating system refuses to let any file of the service grow beyond the write-ahead log as it is now."""
    size = (service.data_dir / "assay.sqlite3-wal").stat().st_size
    before = resource.prlimit(pid_of(service), resource.RLIMIT_FSIZE)
    resource.prlimit(pid_of(service), resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid_of(service), resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    service = Live(tmp_path_factory.mktemp("commit") / "data").start()
    open_challenge(service.admin(), "pets", GOLD)
    yield service
    service.kill()


def test_a_submission_whose_commit_fails_is_refused_and_leaves_no_row(own: Live) -> None:
    blue = own.person("Blue").join("pets", "Blue")
    with no_room_for_the_log_of_writes(own):
        assert_unavailable(blue.post(SUBMISSIONS, json=CORRECT_PREDICTIONS))
        assert_unavailable(blue.post(SUBMISSIONS, json=CORRECT_PREDICTIONS, headers={"Idempotency-Key": "k"}))
        assert_unavailable(own.caller().post("/users", json={"email": "a@b", "name": "A", "password": PASSWORD}))
        assert blue.get("/challenges/pets").status_code == 200  # reading goes on
    for table in ("submissions", "score_tasks", "quota_entries", "idempotency_keys"):
        assert query_rows(own, f"SELECT count(*) FROM {table}") == [(0,)]
    again = blue.submit("pets", CORRECT_PREDICTIONS)
    assert again.status_code == 201, again.text
    assert again.json()["status"] == "finished"


def test_a_score_whose_commit_fails_is_computed_again_once_the_database_is_back(own: Live) -> None:
    red = own.person("Red").join("pets", "Red")
    with frozen_scoring(own):
        pending = red.post(SUBMISSIONS, json=CORRECT_PREDICTIONS).json()["id"]
        eventually(lambda: submission_status(red, pending) == "running", "the submission is being scored")
        before = own.log().count("task_failed")
        full = no_room_for_the_log_of_writes(own)
        full.__enter__()
    try:
        eventually(lambda: own.log().count("task_failed") > before, "settling has failed")
        assert submission_status(red, pending) == "running"
    finally:
        full.__exit__(None, None, None)
    eventually(lambda: submission_status(red, pending) == "finished", "the submission is finished without a restart")
    of_it = f"WHERE submission_id = '{pending}'"
    assert query_rows(own, f"SELECT interruptions, crashes FROM score_tasks {of_it}") == [(1, 0)]
    assert query_rows(own, f"SELECT count(*) FROM scores {of_it}") == [(1,)]
