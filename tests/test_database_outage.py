"""How many lines a lost database costs: the state alone, with a clock of the test's own."""

import logging
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import structlog
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from app import database_outage
from app.database_outage import CALM_SECONDS, REPORT_SECONDS, DatabaseOutage, LibraryLineFilter, hold_back_line
from app.errors import CommitUncertain, DatabaseUnavailable
from app.runtime.periodic_jobs import PeriodicJobs
from tests.live_service import MAX_WAIT_SECONDS


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outage(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> DatabaseOutage:
    """That of the process, for one test."""
    of_test = DatabaseOutage(clock)
    of_test.start()
    monkeypatch.setattr(database_outage, "DATABASE_OUTAGE", of_test)
    return of_test


@pytest.fixture(autouse=True)
def written() -> Iterator[list[Any]]:
    """The lines of the outage itself."""
    with capture_logs() as lines:
        yield lines


def raised(fault: Exception, *causes: Exception) -> Exception:
    """A fault with the causes from which it was raised, the nearest first."""
    if causes:
        fault.__cause__ = raised(*causes)
    return fault


def lost_connection() -> Exception:
    """What the store raises when a connection fails."""
    cause = psycopg.OperationalError("connection refused")
    return raised(DatabaseUnavailable(), OperationalError("SELECT 1", None, cause), cause)


def is_written(event: str, fault: Exception | None = None, **line: Any) -> bool:
    """Whether a line passes, logged with a fault if there is one."""
    try:
        hold_back_line(None, "warning", {"event": event, "exc_info": fault, **line})
    except structlog.DropEvent:
        return False
    return True


def test_a_fault_that_is_being_handled_counts_as_that_of_the_line(outage: DatabaseOutage) -> None:
    def fail() -> None:
        raise lost_connection()

    try:
        fail()
    except DatabaseUnavailable:
        assert not is_written("round_failed")
    assert is_written("round_failed")


def test_a_thousand_failures_cost_a_line_at_first_one_per_interval_and_one_at_the_end(
    outage: DatabaseOutage, clock: Clock, written: list[Any]
) -> None:
    for _ in range(1000):
        assert not is_written("claim_failed", lost_connection())
        assert not is_written("request", code="database_away")
        clock.now += 0.1
    assert [line["event"] for line in written] == ["database_away", *["database_still_away"] * 3]
    assert "connection refused" in written[0]["reason"]
    clock.now += CALM_SECONDS
    outage.answered()
    outage.answered()
    assert [line["event"] for line in written[4:]] == ["database_back"]
    assert written[-1]["seconds"] == pytest.approx(105)
    counts = [line["held_back"] for line in written[1:]]
    assert sum(each["claim_failed"] for each in counts) == sum(each["request"] for each in counts) == 1000
    assert is_written("request", code="database_away")
    assert not outage.is_on


def test_answers_and_failures_in_turn_are_one_outage(outage: DatabaseOutage, clock: Clock, written: list[Any]) -> None:
    for _ in range(100):
        outage.begin("connection refused")
        outage.answered()
        clock.now += CALM_SECONDS / 2
    assert [line["event"] for line in written] == ["database_away"]
    assert outage.is_on


def test_a_line_with_another_cause_is_written(outage: DatabaseOutage, clock: Clock, written: list[Any]) -> None:
    refusal = psycopg.errors.LockNotAvailable("too long")
    assert is_written("round_failed", raised(DatabaseUnavailable(), OperationalError("UPDATE", None, refusal), refusal))
    assert not outage.is_on
    outage.begin("connection refused")
    assert is_written("request", code="commit_uncertain")
    assert is_written("request", code="not_found")
    assert is_written("round_failed", ValueError("a fault of the program"))
    fault = ValueError("a fault of the program, in handling the outage")
    fault.__context__ = lost_connection()
    assert is_written("round_failed", fault)
    assert not is_written("round_failed", CommitUncertain())


def test_libraries_that_use_the_database_are_counted_too(
    outage: DatabaseOutage, clock: Clock, written: list[Any]
) -> None:
    lines = LibraryLineFilter()

    def passes(name: str, message: str) -> bool:
        return lines.filter(logging.LogRecord(name, logging.WARNING, "", 0, message, None, None))

    assert passes("psycopg.pool", "discarding closed connection")
    assert not passes("psycopg.pool", "error connecting in 'pool-1': connection refused")
    assert not passes("procrastinate.worker", "update_heartbeats error")
    assert passes("alembic", "running")
    clock.now += REPORT_SECONDS
    assert not passes("psycopg.pool", "error connecting in 'pool-1': connection refused")
    assert [line["event"] for line in written] == ["database_away", "database_still_away"]
    assert written[1]["held_back"] == {"psycopg": 2, "procrastinate": 1}


def test_a_command_that_ends_logs_no_outage(written: list[Any], clock: Clock) -> None:
    outage = DatabaseOutage(clock)
    outage.begin("connection refused")
    assert not outage.hold_back("claim_failed")
    assert written == []


def test_a_round_that_meets_an_outage_says_in_one_line_what_the_driver_said(written: list[Any]) -> None:
    rounds = PeriodicJobs()

    def look() -> None:
        rounds.stop.set()
        raise lost_connection()

    rounds.every(60.0, look)
    rounds.join(MAX_WAIT_SECONDS)
    assert [(line["event"], line["round"], line["cause"]) for line in written] == [
        ("round_failed", "look", "connection refused")
    ]
