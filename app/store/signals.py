"""Tells every replica of the API that a submission has its final status, through PostgreSQL's own notices."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import structlog
from sqlalchemy import func, select
from sqlalchemy.engine import make_url

from app.settings import Settings
from app.store.patience import patient
from app.store.session import WriteSession, keepalive, silence

log = structlog.get_logger()

CHANNEL = "assay_settled"
LOOK_SECONDS = 1.0
PAUSE_SECONDS = 1.0


def tell_settled(session: WriteSession, submission_id: str) -> None:
    """Send the notice when this transaction commits; on SQLite there is one process, which needs none."""
    if session.get_bind().dialect.name != "sqlite":
        session.execute(select(func.pg_notify(CHANNEL, submission_id)))


class Listener:
    """Hears the notices on a connection of its own, in a thread; `missed` is called when some may have been lost."""

    def __init__(self, settings: Settings, heard: Callable[[str], None], missed: Callable[[], None]) -> None:
        url = make_url(settings.database).set(drivername="postgresql")
        self._conninfo = url.render_as_string(hide_password=False)
        self._connect_args = keepalive(settings) | {"application_name": "assay listener"}
        self._kind = patient(silence(settings))
        self._heard = heard
        self._missed = missed
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
                    self._missed()
                    self._listen(connection)
            except psycopg.Error as away:
                log.warning("listener_lost_the_database", reason=str(away).strip())
                self._stop.wait(PAUSE_SECONDS)

    def _listen(self, connection: "psycopg.Connection[Any]") -> None:
        while not self._stop.is_set():
            for notice in connection.notifies(timeout=LOOK_SECONDS):
                self._heard(notice.payload)
                if self._stop.is_set():
                    return
            connection.execute("SELECT 1")  # a line that died in silence is found out
