"""Bounds what a process logs while PostgreSQL is away: a line when it goes, one per interval, and one when it is back.

Everything that needs the database fails meanwhile, many times a second: requests, periodic jobs, the queue, the
listener, and libraries. Their lines would fill a disk and say the same, so they are counted instead.
"""

import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import structlog

from app.errors import DatabaseUnavailable

log = structlog.get_logger()

REPORT_SECONDS = 30.0
"""Between two lines while the database is away."""
CALM_SECONDS = 5.0
"""Without a failure, after which an answer means that it is back: some connections may work while others fail."""
MAX_REASON_LENGTH = 300
"""Characters of a driver's message."""
_CONNECTION_FAILURE_STATES = frozenset({"57P01", "57P02", "57P03"})  # shut down, crashed, starting
_CONNECTION_FAILURE_CLASS = "08"
_LIBRARIES = frozenset({"psycopg", "procrastinate"})
_CONNECTING_FAILED = "error connecting in "  # how a pool of psycopg reports it


class DatabaseOutage:
    """The outages that a process has seen; safe from any thread. It does nothing until `start`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._is_started = False
        self._since: float | None = None
        self._last_failure = 0.0
        self._reported = 0.0
        self._held_back = Counter[str]()

    def start(self) -> None:
        """From now on, log outages and hold lines back; for processes that run until they are stopped."""
        self._is_started = True

    @property
    def is_on(self) -> bool:
        """Whether the database is away, as far as this process knows."""
        return self._since is not None

    def begin(self, reason: str) -> None:
        """A connection failed; logs that the database is away, unless that is known."""
        with self._lock:
            self._last_failure = now = self._clock()
            if not self._is_started or self._since is not None:
                return
            self._since = self._reported = now
        log.warning("database_away", reason=" ".join(reason.split())[:MAX_REASON_LENGTH])

    def hold_back(self, event: str) -> bool:
        """Whether a line need not be written, because it follows from an outage; it is counted then."""
        with self._lock:
            if self._since is None:
                return False
            self._last_failure = now = self._clock()
            self._held_back[event] += 1
            if now - self._reported < REPORT_SECONDS:
                return True
            self._reported = now
            line = self._line(now)
        log.warning("database_still_away", **line)
        return True

    def answered(self) -> None:
        """The database answered; logs that it is back if it was away and nothing has failed for a while."""
        if self._since is None:
            return
        with self._lock:
            now = self._clock()
            if self._since is None or now - self._last_failure < CALM_SECONDS:
                return
            line = self._line(now)
            self._since = None
        log.warning("database_back", **line)

    def _line(self, now: float) -> dict[str, Any]:
        """How long it has been away, and how many lines were held back since the line before, by event."""
        assert self._since is not None
        held_back = dict(self._held_back)
        self._held_back.clear()
        return {"seconds": round(now - self._since, 1), "held_back": held_back}


DATABASE_OUTAGE = DatabaseOutage()
"""That of this process, because all its parts share one log."""

_OWN_EVENTS = frozenset({"database_away", "database_still_away", "database_back"})


def hold_back_line(_logger: Any, _method: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """A processor of structlog that drops lines which follow from an outage.

    These are lines written while a failure of the database is handled, and those of requests that it refused.
    """
    if line["event"] in _OWN_EVENTS:
        return line
    fault = line.get("exc_info")
    fault = fault if isinstance(fault, BaseException) else sys.exception()
    is_refusal = line.get("code") == DatabaseUnavailable.code
    if not is_refusal and not any(_is_of_database(each) for each in _chain(fault)):
        return line
    begin_outage(fault)
    if DATABASE_OUTAGE.hold_back(line["event"]):
        raise structlog.DropEvent
    return line


class LibraryLineFilter(logging.Filter):
    """Drops the lines of the libraries that use the database, while it is away."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write the line."""
        library = record.name.partition(".")[0]
        if library not in _LIBRARIES:
            return True
        if record.getMessage().startswith(_CONNECTING_FAILED):
            DATABASE_OUTAGE.begin(record.getMessage())
        elif record.exc_info:
            begin_outage(record.exc_info[1])
        return not DATABASE_OUTAGE.hold_back(library)


def begin_outage(fault: BaseException | None) -> None:
    """Begin an outage if the fault is, or was caused by, a failed connection."""
    failure = next((each for each in _chain(fault) if is_connection_failure(each)), None)
    if failure is not None:
        DATABASE_OUTAGE.begin(str(failure))


def is_connection_failure(fault: BaseException) -> bool:
    """Whether this is an error of psycopg that means that the server did not answer, or ends; not a refused statement."""
    if not hasattr(fault, "sqlstate") or not type(fault).__module__.startswith("psycopg"):
        return False
    state: str | None = fault.sqlstate
    if state is None:
        return "OperationalError" in (kind.__name__ for kind in type(fault).__mro__)
    return state in _CONNECTION_FAILURE_STATES or state.startswith(_CONNECTION_FAILURE_CLASS)


def _is_of_database(fault: BaseException) -> bool:
    return isinstance(fault, DatabaseUnavailable) or is_connection_failure(fault)


def _chain(fault: BaseException | None) -> Iterator[BaseException]:
    """An exception and what it was raised from; not what was being handled, from which another fault may have come."""
    while fault is not None:
        yield fault
        fault = fault.__cause__
