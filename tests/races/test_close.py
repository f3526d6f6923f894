"""A board that is shown after the close: only once everything that came before it is scored, and then all of it at once."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from signal import SIGKILL
from typing import Any

import httpx
import pytest

from app.settings import Settings
from app.store import locks
from app.store.session import Database
from app.store.tables import Submission
from app.store.types import new_id
from tests.faults.inspection import children_of, frozen_scoring, has_unread_request, pid_of
from tests.live_service import Caller, Live, eventually
from tests.races.concurrent_clients import GOLD, INVALID_PREDICTIONS, ConcurrentClients, OnPostgresql, OnSqlite

RULES: dict[str, Any] = {"leaderboard": "after_close", "reports": [], "quota": {"total": 10}}
RECIPE = {"primary": "accuracy", "metrics": ["accuracy"], "selection": "latest"}
LONG_AGO = {"opens_at": "2020-01-01T00:00:00Z", "closes_at": "2021-01-01T00:00:00Z"}


def right(count: int) -> dict[str, str]:
    """Predictions of which so many are right."""
    other = {"cat": "dog", "dog": "cat"}
    return {row["id"]: row["label"] if at < count else other[row["label"]] for at, row in enumerate(GOLD)}


@pytest.fixture
def opened(crowd: ConcurrentClients, request: pytest.FixtureRequest) -> str:
    """The slug of a challenge whose board is shown after the close."""
    slug = f"close-{request.function.__name__[5:30].strip('_').replace('_', '-')}"
    crowd.challenge(slug, **RULES)
    crowd.admin().put(f"/challenges/{slug}/recipe", json=RECIPE).raise_for_status()
    return slug


@pytest.fixture
def visitors(crowd: ConcurrentClients) -> Iterator[list[Caller]]:
    """Somebody without a token, at each door."""
    with ExitStack() as left:
        yield [left.enter_context(Caller(door, None)) for door in crowd.service.api_urls()]


def close(crowd: ConcurrentClients, slug: str, window: dict[str, str] = LONG_AGO) -> None:
    """The organizers end the phase; what was sent a moment ago came before, whatever time they give."""
    crowd.admin().patch(f"/challenges/{slug}/phases/main", json=window).raise_for_status()


def submit_files(caller: Caller, slug: str, *files: dict[str, str], **query: str) -> list[str]:
    """Submit without waiting; gives the ids."""
    answers = [caller.submit(slug, body, wait=0, **query) for body in files]
    assert {answer.status_code for answer in answers} == {202}
    return [answer.json()["id"] for answer in answers]


def still(answer: httpx.Response) -> int:
    """How many files the refusal of a board says to wait for."""
    body = answer.json()
    assert (answer.status_code, body["code"]) == (403, "leaderboard_hidden"), body
    found: int = body["waiting"]
    assert str(found) in body["detail"]
    return found


def board_entries(caller: Caller, slug: str) -> list[str]:
    """The submissions on the board."""
    answer = caller.board(slug)
    assert answer.status_code == 200, answer.text
    return [row["submission"] for row in answer.json()["rows"]]


def appears(caller: Caller, slug: str) -> None:
    """Wait for the board; until then it is refused."""
    eventually(lambda: caller.board(slug).status_code == 200, "the board is shown")


def test_a_closed_phase_shows_no_value_of_a_file_that_a_later_one_replaces(
    crowd: ConcurrentClients, opened: str, visitors: list[Caller]
) -> None:
    blue = crowd.member(opened, "Blue")
    with crowd.scoring_paused():
        first, _, last = submit_files(blue[0], opened, right(3), right(7), right(5))
        submit_files(blue[0], opened, INVALID_PREDICTIONS)
        close(crowd, opened)
        readers = [*visitors, *blue]
        for reader in readers:
            assert [
                still(reader.board(opened, **query)) for query in ({}, {"format": "csv"}, {"metric": "accuracy"})
            ] == [4] * 3
        assert board_entries(crowd.admin(), opened) == []
    answers = []

    def over() -> bool:
        answers.append(readers[-1].board(opened))
        return answers[-1].status_code == 200

    eventually(over, "the board is shown")
    counts = [still(answer) for answer in answers[:-1]]
    assert counts == sorted(counts, reverse=True)
    for reader in readers:
        appears(reader, opened)
        assert board_entries(reader, opened) == [last]
    assert board_entries(crowd.admin(), opened) == [last] != [first]


def test_what_organizers_do_after_the_close_hides_nothing_again(
    crowd: ConcurrentClients, opened: str, visitors: list[Caller]
) -> None:
    green = crowd.member(opened, "Green")
    (own,) = submit_files(green[0], opened, right(4))
    close(crowd, opened)
    appears(visitors[0], opened)
    with crowd.scoring_paused():
        submit_files(crowd.admin(), opened, right(6), team="Late")
        submit_files(crowd.admin(), opened, right(6), team="Chance", baseline="true")
        for path in (f"/submissions/{own}/rerun", f"/challenges/{opened}/phases/main/rerun"):
            assert crowd.admin().post(path).status_code == 202
        for reader in (*visitors, *green):
            assert board_entries(reader, opened) == [own]


def test_what_organizers_cancel_is_not_waited_for_and_teams_can_cancel_nothing(
    crowd: ConcurrentClients, opened: str
) -> None:
    red = crowd.member(opened, "Red")
    with crowd.scoring_paused():
        waits = submit_files(red[0], opened, right(4), right(5))
        close(crowd, opened)
        refused = red[0].post(f"/submissions/{waits[-1]}/cancel").json()
        assert (refused["code"], "cannot cancel" in refused["detail"]) == ("phase_closed", True)
        for left, submission in zip((2, 1), waits, strict=True):
            assert [still(each.board(opened)) for each in red] == [left] * len(red)
            assert crowd.admin().post(f"/submissions/{submission}/cancel").status_code == 200
        assert board_entries(red[0], opened) == []
        appears(red[-1], opened)


def test_what_fails_for_good_is_not_waited_for_until_organizers_queue_it_again(tmp_path: Path) -> None:
    service = Live(tmp_path / "data", crash_cap="1").start()
    try:
        crowd = ConcurrentClients(OnSqlite(service))
        crowd.challenge("fails", **RULES)
        (blue,) = crowd.member("fails")
        with frozen_scoring(service) as children:
            (lost,) = submit_files(blue, "fails", right(4))
            close(crowd, "fails")
            eventually(lambda: any(map(has_unread_request, children)), "a child is at it")
            assert still(blue.board("fails")) == 1
            for child in children_of(pid_of(service)):
                os.kill(child, SIGKILL)
            eventually(lambda: crowd.statuses("fails") == {"failed": 1}, "it has failed")
            appears(blue, "fails")
            assert board_entries(blue, "fails") == []
        late = crowd.admin().submit("fails", right(6), team="Late").json()  # a new child scores it
        with frozen_scoring(service):
            crowd.admin().post(f"/submissions/{lost}/rerun").raise_for_status()
            assert still(blue.board("fails")) == 1
        appears(blue, "fails")
        assert board_entries(blue, "fails") == [late["id"], lost]
    finally:
        crowd.close()
        service.stop()


def test_what_was_let_in_before_the_close_and_is_not_stored_yet_is_waited_for(
    crowd: ConcurrentClients, opened: str, visitors: list[Caller]
) -> None:
    blue = crowd.member(opened, "Blue")
    (entry,) = submit_files(blue[0], opened, right(4))
    eventually(lambda: crowd.statuses(opened) == {"finished": 1}, "it is scored")
    now = datetime.now(UTC)
    close(crowd, opened, {**LONG_AGO, "closes_at": now.isoformat()})
    with database(crowd) as db, ThreadPoolExecutor(1) as pool:
        with db.write() as session:
            locks.challenge(session, opened, shared=True)
            like = session.get_one(Submission, entry)
            row = {column.key: getattr(like, column.key) for column in Submission.__table__.columns}
            row |= {"id": new_id(), "status": "queued", "submitted_at": now - timedelta(seconds=1)}
            session.add(Submission(**row))
            session.flush()
            answer = pool.submit(visitors[0].board, opened)
            wait_until_held_up(crowd, answer)
        assert still(answer.result()) == 1
    assert crowd.admin().post(f"/submissions/{row['id']}/cancel").status_code == 200
    assert board_entries(visitors[0], opened) == [entry]


def wait_until_held_up(crowd: ConcurrentClients, answer: "Future[httpx.Response]") -> None:
    """Wait until a request waits for a lock; SQLite tells nobody, so that there it gets a moment in which to be wrong."""
    if isinstance(crowd.service, OnSqlite):
        wait([answer], timeout=0.3)
        return
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    eventually(lambda: answer.done() or crowd.service.rows(waiting) != [(0,)], "it waits, or is answered")


@contextmanager
def database(crowd: ConcurrentClients) -> Iterator[Database]:
    """That of the service, beside it."""
    service = crowd.service
    if isinstance(service, OnSqlite):
        settings = Settings(data_dir=service.live.data_dir, database_wait=30)
    else:
        assert isinstance(service, OnPostgresql)
        settings = Settings(data_dir=service.folder, database_url=service.cluster.database_url, files_shared=True)
    db = Database(settings)
    try:
        yield db
    finally:
        db.close()
