"""An Idempotency-Key stands for one submission, whichever replica is asked and whatever became of the first answer."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

import httpx
import pytest

from tests.cluster import ServiceProcess
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD, Caller, eventually
from tests.races.concurrent_clients import (
    CORRECT_PREDICTIONS,
    INVALID_PREDICTIONS,
    ConcurrentClients,
    OnPostgresql,
    call_concurrently,
    count_statuses,
    database_connection,
)

TIMES = 10
TABLES = ("submissions", "score_tasks", "quota_entries", "idempotency_keys")
REFUSING = """
CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'refused by the test' USING ERRCODE = '{code}'; END $$;
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON submissions DEFERRABLE INITIALLY {when}
    FOR EACH ROW EXECUTE FUNCTION refuse();
"""


def test_one_key_sent_by_many_at_once_is_one_submission(crowd: ConcurrentClients) -> None:
    address = crowd.challenge("one-key", quota={"total": 3})
    blue, files = crowd.member("one-key"), crowd.stored()
    key = {"Idempotency-Key": "the same"}
    doors = [blue[number % len(blue)] for number in range(TIMES)]
    with crowd.scoring_paused():
        answers = call_concurrently(
            [partial(door.post, address, json=CORRECT_PREDICTIONS, headers=key) for door in doors]
        )
        assert set(count_statuses(answers)) <= {200, 202, 409}
        assert count_statuses(answers)[202] == 1
        assert {each.json()["code"] for each in answers if each.status_code == 409} <= {"request_in_flight"}
        assert len({each.json()["id"] for each in answers if each.status_code < 300}) == 1
        for table in TABLES:
            assert crowd.count(table, "one-key") == 1
        assert crowd.stored() == files + 1  # what repetitions sent is gone
        for door in blue:
            assert door.post(address, json=CORRECT_PREDICTIONS, headers=key).status_code == 200
            other = door.post(address, json=INVALID_PREDICTIONS, headers=key)
            assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
            other = door.post(address, json=CORRECT_PREDICTIONS, headers=key, params={"method": "another"})
            assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
        assert crowd.stored() == files + 1


def test_many_keys_at_once_beside_a_crowd_of_expired_ones(on_postgresql: ConcurrentClients) -> None:
    crowd = on_postgresql
    address = crowd.challenge("many-keys")
    blue = crowd.member("many-keys")

    def rush(first: int) -> list[httpx.Response]:
        sent = [(blue[number % 2], {"Idempotency-Key": f"key {number}"}) for number in range(first, first + 2 * TIMES)]
        return call_concurrently(
            [partial(one.post, address, json=CORRECT_PREDICTIONS, headers=headers) for one, headers in sent]
        )

    assert count_statuses(rush(0)) == {202: 2 * TIMES}
    with database_connection(crowd) as connection:
        connection.execute("UPDATE idempotency_keys SET created_at = created_at - interval '25 hours'")
    assert count_statuses(rush(TIMES)) == {202: 2 * TIMES}  # half of them under a key that has expired
    assert crowd.count("submissions", "many-keys") == 4 * TIMES
    assert crowd.count("idempotency_keys", "many-keys") == 3 * TIMES  # an expired one lives again or is left for later


def change_rows(crowd: ConcurrentClients, statement: str) -> None:
    """Change rows beside the service."""
    if isinstance(crowd.service, OnPostgresql):
        with database_connection(crowd) as connection:
            connection.execute(statement.encode())
        return
    path = crowd.service.folder / "assay.sqlite3"
    with closing(sqlite3.connect(path, timeout=MAX_WAIT_SECONDS)) as beside, beside:
        beside.execute(statement)


def test_an_expired_key_stores_a_new_submission(crowd: ConcurrentClients) -> None:
    slug = "old-keys"
    address = crowd.challenge(slug)
    blue = crowd.member(slug)
    key = {"Idempotency-Key": slug}
    first = blue[0].post(address, json=CORRECT_PREDICTIONS, headers=key)
    assert first.status_code == 202
    change_rows(crowd, f"UPDATE idempotency_keys SET created_at = '2020-01-01 00:00:00' WHERE key = '{slug}'")
    second = blue[-1].post(address, json=INVALID_PREDICTIONS, headers=key)  # under a key that lives it would be 422
    assert second.status_code == 202, second.text
    again = blue[0].post(address, json=INVALID_PREDICTIONS, headers=key)
    assert (again.status_code, again.json()["id"]) == (200, second.json()["id"])
    assert crowd.count("submissions", slug) == 2
    assert crowd.count("idempotency_keys", slug) == 1


@contextmanager
def refusing(crowd: ConcurrentClients, code: str, when: str) -> Iterator[None]:
    """Every transaction that stores a submission fails: at once, or when it commits."""
    with database_connection(crowd) as connection:
        connection.execute(REFUSING.format(code=code, when=when).encode())
        try:
            yield
        finally:
            connection.execute("DROP TRIGGER refuse ON submissions")


@pytest.mark.parametrize("code", ["53100", "P0001"])  # the disk is full, a trigger raises
def test_a_commit_that_fails_leaves_nothing_but_the_file(on_postgresql: ConcurrentClients, code: str) -> None:
    """What became of a commit cannot always be known: its file stays until it is certain that no row names it."""
    crowd, slug = on_postgresql, f"no-commit-{code.lower()}"
    address = crowd.challenge(slug, quota={"total": 1})
    blue, files = crowd.member(slug), crowd.stored()
    eventually(lambda: crowd.service.rows("SELECT id FROM procrastinate_jobs") == [], "no job is left of other tests")
    with refusing(crowd, code, "DEFERRED"):
        answer = blue[0].post(address, json=CORRECT_PREDICTIONS, headers={"Idempotency-Key": slug})
        assert (answer.status_code, answer.json()["code"]) == (503, "commit_uncertain"), answer.text
        assert int(answer.headers["retry-after"]) >= 1
        for table in TABLES:
            assert crowd.count(table, slug) == 0
        assert crowd.service.rows("SELECT id FROM procrastinate_jobs") == []
        assert crowd.stored() == files + 1
    again = blue[1].post(address, json=CORRECT_PREDICTIONS, headers={"Idempotency-Key": slug, "Prefer": "wait=60"})
    assert again.status_code == 201, again.text
    assert crowd.ledger(slug) == {"reserve": 1, "charge": 1}


def test_a_transaction_that_fails_before_its_commit_leaves_nothing_at_all(on_postgresql: ConcurrentClients) -> None:
    crowd = on_postgresql
    address = crowd.challenge("no-row", quota={"total": 1})
    blue, files = crowd.member("no-row"), crowd.stored()
    with refusing(crowd, "53100", "IMMEDIATE"):
        answer = blue[0].post(address, json=CORRECT_PREDICTIONS)
        assert (answer.status_code, answer.json()["code"]) == (503, "database_away"), answer.text
    assert [crowd.count(table, "no-row") for table in TABLES] == [0, 0, 0, 0]
    assert crowd.stored() == files
    assert blue[1].post(address, json=CORRECT_PREDICTIONS).status_code == 202


@pytest.fixture(scope="module")
def hasty(on_postgresql: ConcurrentClients) -> ServiceProcess:
    """A third replica, which does not wait long for locks; it is killed by the last test that uses it."""
    service = on_postgresql.service
    assert isinstance(service, OnPostgresql)
    return service.cluster.part("api", database_wait="3").start().wait_ready()


def test_a_lock_that_is_not_to_be_had_in_time_is_503_and_nothing_happened(
    on_postgresql: ConcurrentClients, hasty: ServiceProcess
) -> None:
    crowd = on_postgresql
    address = crowd.challenge("locked")
    blue, files = crowd.member("locked"), crowd.stored()
    sent = blue[0].post(address, json=CORRECT_PREDICTIONS, headers={"Prefer": "wait=60"}).json()["id"]
    there = Caller(hasty.url, blue[0].headers["authorization"].removeprefix("Bearer "))
    with there, database_connection(crowd) as connection:
        with connection.transaction():
            connection.execute("SELECT id FROM submissions WHERE id = %s FOR UPDATE", (sent,))
            answer = there.post(f"/submissions/{sent}/select")
            assert (answer.status_code, answer.json()["code"]) == (503, "database_away"), answer.text
            assert int(answer.headers["retry-after"]) >= 1
        with connection.transaction():
            connection.execute("LOCK TABLE submissions IN EXCLUSIVE MODE")  # as a migration does
            answer = there.post(address, json=CORRECT_PREDICTIONS)
            assert (answer.status_code, answer.json()["code"]) == (503, "database_away"), answer.text
            assert there.get(f"/submissions/{sent}").json()["selected"] is False
        assert (crowd.count("submissions", "locked"), crowd.stored()) == (1, files + 1)
        # repeated, because on a busy machine others may hold a lock for longer than this replica waits
        eventually(lambda: there.post(f"/submissions/{sent}/select").status_code == 200, "it is selected")
        eventually(lambda: there.post(address, json=CORRECT_PREDICTIONS).status_code == 202, "it is stored")


def test_a_row_that_cannot_be_deleted_in_time_is_certain_to_be_there(
    on_postgresql: ConcurrentClients, hasty: ServiceProcess
) -> None:
    """It is deleted last of all in its transaction, but before the commit: nothing is uncertain."""
    crowd = on_postgresql
    blue = crowd.person("Blue")[0]
    made = blue.post("/tokens", json={"email": blue.email, "password": PASSWORD}).json()
    with Caller(hasty.url, made["token"]) as there, database_connection(crowd) as connection:
        with connection.transaction():
            connection.execute("SELECT 1 FROM tokens WHERE id = %s FOR UPDATE", (made["id"],))
            answer = there.delete(f"/tokens/{made['id']}")
            assert (answer.status_code, answer.json()["code"]) == (503, "database_away"), answer.text
        eventually(lambda: there.delete(f"/tokens/{made['id']}").status_code == 204, "it is deleted")


def test_a_replica_that_dies_between_commit_and_answer_is_stood_in_for(
    on_postgresql: ConcurrentClients, hasty: ServiceProcess
) -> None:
    crowd = on_postgresql
    address = crowd.challenge("killed", quota={"total": 1})
    blue = crowd.member("killed")
    key = {"Idempotency-Key": "killed", "Prefer": "wait=60"}
    got: list[httpx.Response | httpx.HTTPError] = []

    def send() -> None:
        with Caller(hasty.url, blue[0].headers["authorization"].removeprefix("Bearer ")) as there:
            try:
                got.append(there.post(address, json=CORRECT_PREDICTIONS, headers=key))
            except httpx.HTTPError as broken:
                got.append(broken)

    with crowd.scoring_paused():
        sender = threading.Thread(target=send)
        sender.start()
        eventually(
            lambda: crowd.count("submissions", "killed") == 1, "it is stored, and its answer is being waited for"
        )
        hasty.kill(group=True)
        sender.join(MAX_WAIT_SECONDS)
        assert isinstance(got[0], httpx.HTTPError)
    again = blue[1].post(address, json=CORRECT_PREDICTIONS, headers=key)
    assert again.status_code == 200, again.text
    assert crowd.count("submissions", "killed") == 1
    of_it = f"/submissions/{again.json()['id']}"
    eventually(lambda: blue[0].get(of_it).json()["status"] == "finished", "it is scored")
    assert crowd.ledger("killed") == {"reserve": 1, "charge": 1}
