"""Tells every replica of the API what is new, through PostgreSQL's own notices: final statuses, and boards that changed."""

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import psycopg
import structlog
from sqlalchemy import func, select
from sqlalchemy.engine import make_url

from app.settings import Settings
from app.store import board_invalidation
from app.store.connection_timeouts import connection_with_timeout
from app.store.session import WriteSession, connection_options, silence_timeout

log = structlog.get_logger()

CHANNEL = "assay_settled"
NOTIFICATION_WAIT_SECONDS = 1.0
RECONNECT_DELAY_SECONDS = 1.0
CACHE_VALID_SECONDS = 5.0  # after a question that the database answered


def notify_settled(session: WriteSession, submission_id: str) -> None:
    """Send the notice when this transaction commits; on SQLite there is one process, which needs none."""
    if session.get_bind().dialect.name != "sqlite":
        session.execute(select(func.pg_notify(CHANNEL, submission_id)))


class InvalidatedCache(Protocol):
    """What is made of rows and kept in memory for as long as every change of them is heard of."""

    def invalidate(self, marks: frozenset[str]) -> None:
        """What bears one of these marks has changed."""

    def trust_until(self, until: float) -> None:
        """All that changed so far was said; what is kept may be believed until this moment of time.monotonic()."""

    def distrust(self) -> None:
        """Changes may have been missed, and are from now on."""


class NotificationListener:
    """Hears the notices on a connection of its own, in a thread; `missed` is called when some may have been lost."""

    def __init__(
        self, settings: Settings, settled: Callable[[str], None], missed: Callable[[], None], kept: InvalidatedCache
    ) -> None:
        url = make_url(settings.database).set(drivername="postgresql")
        self._conninfo = url.render_as_string(hide_password=False)
        self._connect_args = connection_options(settings) | {"application_name": "assay listener"}
        self._kind = connection_with_timeout(silence_timeout(settings))
        self._settled = settled
        self._missed = missed
        self._kept = kept
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="listener", daemon=True)

    def start(self) -> None:
        """Listen from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Hang up."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._kind.connect(self._conninfo, autocommit=True, **self._connect_args) as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    connection.execute(f"LISTEN {board_invalidation.CHANNEL}")
                    self._kept.distrust()  # what was made of rows read before is of unknown age
                    self._missed()
                    self._listen(connection)
            except psycopg.Error as away:
                log.warning("listener_lost_the_database", reason=str(away).strip())
                self._kept.distrust()
                self._stop.wait(RECONNECT_DELAY_SECONDS)

    def _listen(self, connection: "psycopg.Connection[Any]") -> None:
        while not self._stop.is_set():
            asked = time.monotonic()
            connection.execute("SELECT 1")  # a line that died in silence is found out
            self._receive(connection, 0)  # what was sent before the answer came before it
            self._kept.trust_until(asked + CACHE_VALID_SECONDS)
            self._receive(connection, NOTIFICATION_WAIT_SECONDS)
        self._kept.distrust()

    def _receive(self, connection: "psycopg.Connection[Any]", seconds: float) -> None:
        for notice in connection.notifies(timeout=seconds):
            if notice.channel == board_invalidation.CHANNEL:
                self._kept.invalidate(frozenset(notice.payload.split("\n")))
            else:
                self._settled(notice.payload)
            if self._stop.is_set():
                return
