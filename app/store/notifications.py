"""Notifies every API replica of final statuses and changed boards, through LISTEN and NOTIFY of PostgreSQL."""

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import psycopg
import structlog
from sqlalchemy import func, select
from sqlalchemy.engine import make_url

from app.database_outage import DATABASE_OUTAGE
from app.settings import Settings
from app.store import board_invalidation
from app.store.connection_timeouts import connection_with_timeout
from app.store.session import WriteSession, connection_options, silence_timeout

log = structlog.get_logger()

CHANNEL = "assay_settled"
MAX_IDS = 200  # in one notification, whose payload is limited to 8000 bytes
NOTIFICATION_WAIT_SECONDS = 1.0  # bounds the time between two checks of the connection, and the delay of `stop`
RECONNECT_DELAY_SECONDS = 1.0


def notify_settled(session: WriteSession, *submission_ids: str) -> None:
    """Notify when this transaction commits; SQLite has a single process, which needs no notification.

    One notification names several submissions, because each wakes every listener.
    """
    if session.get_bind().dialect.name != "sqlite":
        for start in range(0, len(submission_ids), MAX_IDS):
            payload = "\n".join(submission_ids[start : start + MAX_IDS])
            session.execute(select(func.pg_notify(CHANNEL, payload)))


class InvalidatedCache(Protocol):
    """A cache of data derived from rows, valid while every change of those rows is reported."""

    def invalidate(self, tags: frozenset[str], /) -> None:
        """Drop the entries that depend on one of these tags."""

    def confirm(self, at: float, /) -> None:
        """All changes until this time (time.monotonic()) were reported; entries may be served for some seconds."""

    def distrust(self) -> None:
        """Stop serving entries while the database answers: changes may be missed, until the next `confirm`."""

    def forget(self) -> None:
        """Drop all entries: changes may have been missed."""


class NotificationListener:
    """A thread that listens on a connection of its own; it calls `on_missed` when notifications may have been lost.

    NOTIFY has no memory: what is sent while the connection is down is lost. After each connect, waiting requests
    therefore read their status again, and the cache is emptied. A connection can also fail without a notice, so the
    cache gets the time when the server last answered a query.
    """

    def __init__(
        self,
        settings: Settings,
        on_settled: Callable[[str], None],
        on_missed: Callable[[], None],
        cache: InvalidatedCache,
    ) -> None:
        url = make_url(settings.database).set(drivername="postgresql")
        self._conninfo = url.render_as_string(hide_password=False)
        self._connect_args = connection_options(settings) | {"application_name": "assay listener"}
        self._connection_class = connection_with_timeout(silence_timeout(settings))
        self._on_settled = on_settled
        self._on_missed = on_missed
        self._cache = cache
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)

    def start(self) -> None:
        """Start listening."""
        self._thread.start()

    def stop(self) -> None:
        """Stop listening and close the connection."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._connection_class.connect(
                    self._conninfo, autocommit=True, **self._connect_args
                ) as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    connection.execute(f"LISTEN {board_invalidation.CHANNEL}")
                    # After LISTEN, not before: what is read from now on cannot miss a notification.
                    self._cache.forget()  # entries from rows read before may be outdated
                    self._on_missed()
                    self._listen(connection)
            except psycopg.Error as fault:
                log.warning("listener_lost_the_database", reason=str(fault).strip())
                self._cache.distrust()
                self._stop.wait(RECONNECT_DELAY_SECONDS)

    def _listen(self, connection: "psycopg.Connection[Any]") -> None:
        while not self._stop.is_set():
            checked_at = time.monotonic()  # before the query: entries are trusted from the earlier time
            connection.execute("SELECT 1")  # detects a connection that died unnoticed
            DATABASE_OUTAGE.answered()
            self._receive(connection, 0)  # notifications sent before the reply have arrived before it
            self._cache.confirm(checked_at)
            self._receive(connection, NOTIFICATION_WAIT_SECONDS)
        self._cache.distrust()

    def _receive(self, connection: "psycopg.Connection[Any]", seconds: float) -> None:
        for notification in connection.notifies(timeout=seconds):
            if notification.channel == board_invalidation.CHANNEL:
                self._cache.invalidate(frozenset(notification.payload.split("\n")))
            else:
                for submission_id in notification.payload.split("\n"):
                    self._on_settled(submission_id)
            if self._stop.is_set():
                return
