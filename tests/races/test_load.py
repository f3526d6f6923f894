"""Many kinds of requests at once while workers settle: no fault of ours, no deadlock, no board of two states."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.actions.access import VISITOR
from app.actions.submissions.read_leaderboard import read_leaderboard
from app.settings import Settings
from app.store import locks
from app.store.session import Database
from tests.faults.inspection import children_of, thaw
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.races.concurrent_clients import (
    CORRECT_PREDICTIONS,
    FINAL_STATUSES,
    GOLD,
    INVALID_PREDICTIONS,
    ConcurrentClients,
    OnPostgresql,
    count_statuses,
    database_connection,
)
from tests.settle import settle

SECONDS = 2.0
MIN_TIMES = 3  # that each is done on a machine which is too busy for that in these seconds
CLEAN = {200, 201, 202, 204, 404, 409, 429, 503}
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
Act = Callable[[int], httpx.Response]


def acts(crowd: ConcurrentClients, slug: str) -> list[Act]:
    """What people do, each again and again."""
    address = f"/challenges/{slug}/phases/main"
    blue, red = crowd.member(slug, "Blue"), crowd.member(slug, "Red")
    sent = [blue[0].post(f"{address}/submissions", json=CORRECT_PREDICTIONS).json()["id"] for _ in range(2)]
    fresh = count()

    def send(number: int) -> httpx.Response:
        who = (blue, red)[number // 2 % 2][number % 2]
        headers = {"Idempotency-Key": f"{slug} {number // 3}"} if number % 2 else {}
        return who.post(
            f"{address}/submissions",
            json=INVALID_PREDICTIONS if number % 5 == 0 else CORRECT_PREDICTIONS,
            headers=headers,
        )

    def enter(number: int) -> httpx.Response:
        entry = {"team": f"Baseline {number // 2}", "baseline": "true"}
        return crowd.admin(number).post(f"{address}/submissions", json=CORRECT_PREDICTIONS, params=entry)

    def choose(number: int) -> httpx.Response:
        return blue[number % 2].post(f"/submissions/{sent[number % 2]}/{('select', 'unselect')[number // 2 % 2]}")

    def change(number: int) -> httpx.Response:
        if number % 3 == 0:
            digits = {
                "primary": "f1_macro",
                "metrics": ["f1_macro", "accuracy"],
                "disclosure": {"digits": 3 + number % 9},
            }
            return crowd.admin(number).put(f"/challenges/{slug}/recipe", json=digits)
        if number % 3 == 1:
            return crowd.admin(number).patch(address, json={"quota": {"total": 1000 + number}})
        return crowd.admin(number).patch(f"/challenges/{slug}", json={"title": f"Title {number}"})

    def join(number: int) -> httpx.Response:
        person = (blue, red)[number % 2][number // 2 % 2]
        return person.post(f"/challenges/{slug}-draft-{number // 8}/registrations", json={"team": f"Team {number % 3}"})

    def create_and_delete_challenge(number: int) -> httpx.Response:
        """A challenge that comes, gets gold and an entry, and goes while that may be at work."""
        own = f"{slug}-draft-{next(fresh)}"
        admin, there = crowd.admin(number), f"/challenges/{own}/phases/main"
        body = {"slug": own, "title": own, "task": "multiclass", "recipe": {"primary": "accuracy"}, "draft": True}
        admin.post("/challenges", json=body).raise_for_status()
        admin.post(f"{there}/gold", json=GOLD, params={"activate": "true"}).raise_for_status()
        admin.post(f"{there}/submissions", json=CORRECT_PREDICTIONS, params={"team": "One"}).raise_for_status()
        return crowd.admin(number + 1).delete(f"/challenges/{own}")

    def look(number: int) -> httpx.Response:
        return blue[number % 2].get(f"{address}/leaderboard")

    return [send, send, enter, choose, change, join, create_and_delete_challenge, look]


def test_all_at_once_for_a_while_brings_no_fault_and_no_deadlock(on_postgresql: ConcurrentClients) -> None:
    crowd = on_postgresql
    slugs = ["load-a", "load-b"]
    addresses = [crowd.challenge(slug) for slug in slugs]
    doing = [act for slug in slugs for act in acts(crowd, slug)]
    before = crowd.service.rows(DEADLOCKS)
    until = time.monotonic() + SECONDS

    def again_and_again(act: Act) -> list[httpx.Response]:
        answers: list[httpx.Response] = []
        for number in count():
            if time.monotonic() > until and number >= MIN_TIMES:
                return answers
            answers.append(act(number))
        raise AssertionError

    with ThreadPoolExecutor(len(doing)) as pool:
        answers = [answer for some in pool.map(again_and_again, doing) for answer in some]
    assert set(count_statuses(answers)) <= CLEAN, [each.text for each in answers if each.status_code not in CLEAN][:5]
    assert count_statuses(answers)[202] > len(addresses)
    for slug in slugs:
        eventually(partial(lambda one: set(crowd.statuses(one)) <= FINAL_STATUSES, slug), "all has ended")
        assert set(crowd.statuses(slug)) == {"finished", "rejected"}
        entries, ended = crowd.ledger(slug), crowd.statuses(slug)
        assert entries["reserve"] == entries["charge"] + entries["refund"] <= sum(ended.values())
    assert crowd.service.rows(DEADLOCKS) == before
    log = crowd.service.log()
    assert "deadlock detected" not in log
    assert "unforeseen_error" not in log


@pytest.mark.parametrize(
    "reached_for", ["submissions FOR UPDATE", "gold_versions FOR KEY SHARE", "recipes FOR KEY SHARE"]
)
def test_whoever_deletes_a_challenge_waits_for_work_at_hand_before_touching_anything(
    on_postgresql: ConcurrentClients, reached_for: str
) -> None:
    """A worker holds its task and then reaches for what its scores refer to: it must not find that half deleted."""
    table, how = reached_for.split(" ", 1)
    crowd, slug = on_postgresql, f"halfway-{table.replace('_', '-')}"
    admin, there = crowd.admin(), f"/challenges/{slug}/phases/main"
    body = {"slug": slug, "title": slug, "task": "multiclass", "recipe": {"primary": "accuracy"}, "draft": True}
    admin.post("/challenges", json=body).raise_for_status()
    admin.post(f"{there}/gold", json=GOLD, params={"activate": "true"}).raise_for_status()
    entry = admin.post(
        f"{there}/submissions", json=CORRECT_PREDICTIONS, params={"team": "One"}, headers={"Prefer": "wait=60"}
    )
    column = {"submissions": "submission_id", "gold_versions": "gold_id", "recipes": "recipe_id"}[table]
    waiting = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND query LIKE '%score_tasks%FOR UPDATE%'"""
    with database_connection(crowd) as worker, ThreadPoolExecutor(1) as pool:
        with worker.transaction():
            task = f"submission_id = '{entry.json()['id']}'"
            worker.execute("SET LOCAL lock_timeout = '20s'")
            (named,) = worker.execute(f"SELECT {column} FROM score_tasks WHERE {task} FOR UPDATE".encode()).fetchall()
            deleted = pool.submit(crowd.admin(1).delete, f"/challenges/{slug}")
            eventually(lambda: crowd.service.rows(waiting) == [(1,)], "the deletion waits for the task")
            worker.execute(f"SELECT 1 FROM {table} WHERE id = '{named[0]}' {how}".encode())
        assert deleted.result(MAX_WAIT_SECONDS).status_code == 204


def test_a_choice_that_waited_for_the_deletion_of_its_challenge_finds_nothing(on_postgresql: ConcurrentClients) -> None:
    crowd = on_postgresql
    address = crowd.challenge("chosen-late")
    blue = crowd.member("chosen-late")
    sent = blue[0].post(address, json=CORRECT_PREDICTIONS, headers={"Prefer": "wait=60"}).json()["id"]
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with database_connection(crowd) as organizer, ThreadPoolExecutor(1) as pool:
        with organizer.transaction():
            organizer.execute("SELECT pg_advisory_xact_lock(%s)", (locks._lock_key(locks.CHALLENGE, "chosen-late"),))
            chosen = pool.submit(blue[1].post, f"/submissions/{sent}/select")
            eventually(lambda: crowd.service.rows(waiting) == [(1,)], "the choice waits for the challenge")
            organizer.execute("DELETE FROM challenges WHERE slug = 'chosen-late'")
        assert chosen.result(MAX_WAIT_SECONDS).status_code == 404


def test_scores_settle_beside_rows_that_refer_to_their_submission(on_postgresql: ConcurrentClients) -> None:
    """A foreign key holds its parent's key: two tasks of one submission would wait for one another."""
    crowd = on_postgresql
    address = crowd.challenge("referred-to")
    blue = crowd.member("referred-to")
    with crowd.scoring_paused():
        sent = blue[0].post(address, json=CORRECT_PREDICTIONS).json()["id"]
        with database_connection(crowd) as other, other.transaction():
            other.execute("SELECT 1 FROM submissions WHERE id = %s FOR KEY SHARE", (sent,))
            for pid in crowd.service.scoring_process_ids():
                for child in children_of(pid):
                    thaw(child)
            eventually(lambda: crowd.statuses("referred-to") == {"finished": 1}, "it is scored beside that row")


@pytest.fixture(scope="module")
def beside(on_postgresql: ConcurrentClients) -> Database:
    """The same database, read in the test's own process."""
    service = on_postgresql.service
    assert isinstance(service, OnPostgresql)
    return Database(Settings(database_url=service.cluster.database_url))


def test_a_reader_sees_one_state_however_much_is_settled_meanwhile(
    on_postgresql: ConcurrentClients, beside: Database
) -> None:
    crowd = on_postgresql
    address = crowd.challenge("snapshot")
    blue = crowd.member("snapshot")
    blue[0].submit("snapshot", CORRECT_PREDICTIONS | {"t1": "cat"}).raise_for_status()
    assert isinstance(crowd.service, OnPostgresql)
    settle(crowd.service.cluster)
    recipe = {"primary": "accuracy", "metrics": ["f1_macro", "accuracy"], "disclosure": {"digits": 3}}

    def board(session: Any) -> dict[str, Any]:
        return read_leaderboard(session, VISITOR, "snapshot", "main", split=None, metric=None)

    with beside.read() as session:
        seen = board(session)
        with beside.read() as other:
            assert board(other) == seen
        sent = blue[1].submit("snapshot", CORRECT_PREDICTIONS)
        assert sent.json()["status"] == "finished", sent.text
        changed = crowd.admin(1).put("/challenges/snapshot/recipe", json=recipe | {"primary": "f1_macro"})
        assert changed.status_code == 200, changed.text
        session.expire_all()  # so that all is asked of the database again
        assert board(session) == seen
        with pytest.raises(DBAPIError, match="read-only"):
            session.execute(text("UPDATE submissions SET status = 'failed'"))
    with beside.read() as session:
        after = board(session)
    assert (seen["recipe_version"], after["recipe_version"]) == (1, 2)
    assert [row["entries"] for row in (*seen["rows"], *after["rows"])] == [1, 2]
    beside.close()
    assert address
