"""kill -9 of the service and of its scoring children loses nothing that was acknowledged."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.faults.inspection import (
    CORRECT_PREDICTIONS,
    GOLD,
    children_of,
    frozen_scoring,
    has_unread_request,
    is_alive,
    open_pets_challenge,
    pid_of,
    query_rows,
    stored_uploads,
    submission_status,
)
from tests.live_service import MAX_WAIT_SECONDS, Live, eventually, open_challenge
from tests.settle import settle

SUBMISSIONS = "/challenges/pets/phases/main/submissions"
LETTERS = "/challenges/letters/phases/main/submissions"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    service = Live(tmp_path_factory.mktemp("kill") / "data")
    service.preloads_scoring = False  # its own children are killed
    service.start()
    yield service
    service.kill()


def test_every_acknowledged_submission_survives_the_kill_of_the_service(own: Live) -> None:
    blue = open_pets_challenge(own, quota={"total": 1000})
    acknowledged: list[str] = []
    enough = threading.Event()

    def send(number: int) -> None:
        try:
            answer = blue.post(SUBMISSIONS, json=CORRECT_PREDICTIONS, params={"method": f"m{number}"})
        except httpx.HTTPError:
            return  # the service died first: nothing was acknowledged
        assert answer.status_code == 202, answer.text
        acknowledged.append(answer.json()["id"])
        if len(acknowledged) >= 12:
            enough.set()

    # With frozen children everything is still queued or running when the service dies.
    with frozen_scoring(own) as before, ThreadPoolExecutor(8) as senders:
        requests = [senders.submit(send, number) for number in range(30)]
        assert enough.wait(MAX_WAIT_SECONDS)
        eventually(lambda: any(map(has_unread_request, before)), "a child has been asked to score one of them")
        assert own.process is not None
        own.process.kill()
        for each in requests:
            each.result(timeout=MAX_WAIT_SECONDS)
    own.kill()
    eventually(lambda: not any(map(is_alive, before)), "the children of the dead service are gone")
    stored = {str(row[0]) for row in query_rows(own, "SELECT id FROM submissions")}
    assert set(acknowledged) <= stored
    assert {row[0] for row in query_rows(own, "SELECT status FROM submissions")} <= {"queued", "running"}

    own.start()
    again = own.caller(blue.headers["Authorization"].removeprefix("Bearer "))
    settle(own)
    assert query_rows(own, "SELECT 1 FROM submissions WHERE status != 'finished'") == []
    assert query_rows(own, "SELECT max(n) FROM (SELECT count(*) AS n FROM scores GROUP BY submission_id)") == [(1,)]
    assert query_rows(own, "SELECT count(*) FROM scores") == [(len(stored),)]
    ledger = query_rows(own, "SELECT submission_id, group_concat(kind) FROM quota_entries GROUP BY submission_id")
    assert {row[0] for row in ledger} == stored
    assert {frozenset(str(row[1]).split(",")) for row in ledger} == {frozenset({"reserve", "charge"})}
    # One worker: exactly the task that was running when the service died was interrupted.
    assert query_rows(own, "SELECT sum(interruptions), sum(crashes) FROM score_tasks") == [(1, 0)]
    assert not [name for name in stored_uploads(own) if name.endswith(".part")]
    assert again.board("pets").json()["rows"][0]["entries"] == len(stored)


def test_the_kill_of_a_child_while_it_scores_is_counted_and_harms_nobody_else(own: Live) -> None:
    open_challenge(own.admin(), "letters", GOLD)
    blue = own.person("Blue").join("letters", "Blue")
    red = own.person("Red").join("letters", "Red")
    # Frozen, the child that got the first submission holds it until it is killed.
    with frozen_scoring(own) as children:
        victim = blue.post(LETTERS, json=CORRECT_PREDICTIONS).json()["id"]
        innocent = red.post(LETTERS, json=CORRECT_PREDICTIONS).json()["id"]
        eventually(
            lambda: any(map(has_unread_request, children)), "a child has been asked to score the first submission"
        )
        for child in children:
            os.kill(child, signal.SIGKILL)
    eventually(lambda: submission_status(blue, victim) == "finished", "the submission is finished all the same")
    eventually(lambda: submission_status(red, innocent) == "finished", "the other one is finished")
    counts = dict(query_rows(own, "SELECT submission_id, crashes FROM score_tasks"))
    assert counts.pop(victim) == 1
    assert counts.pop(innocent) == 0
    assert set(counts.values()) <= {0}
    assert query_rows(own, f"SELECT count(*) FROM scores WHERE submission_id IN ('{victim}', '{innocent}')") == [(2,)]
    assert blue.get(f"/submissions/{victim}").json()["scores"]["accuracy"]["value"] == 1.0
    assert not set(children) & set(children_of(pid_of(own)))


def test_no_child_outlives_a_service_that_was_killed(own: Live) -> None:
    if own.process is None:
        own.start()
    children = children_of(pid_of(own))
    assert children
    own.kill()
    eventually(lambda: not any(map(is_alive, children)), "all children are gone")
