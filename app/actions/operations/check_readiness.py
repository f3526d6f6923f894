"""Can this process serve: asked every few seconds, so each part is cheap, and none is waited for long."""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress

from app.errors import AssayError, FileAway, StorageShort
from app.files import Files
from app.runtime.single_flight import Bounded
from app.settings import Settings
from app.store import migrate
from app.store.session import Database

PATIENCE = 3.0  # seconds for all parts together
OK = "ok"
SILENT = f"It did not answer within {PATIENCE:.0f} s."


class Readiness:
    """Database, schema, files and space; never the backlog, for a long queue is no reason to be taken out of service."""

    def __init__(self, settings: Settings, db: Database, files: Files) -> None:
        self._settings = settings
        self._db = db
        self._files = files
        self._head = migrate.head()
        self._parts = {
            "database": Bounded(lambda: _said(db.ping)),
            "schema": Bounded(lambda: _said(self._schema)),
            "files": Bounded(lambda: _said(self._store)),
            "space": Bounded(lambda: _said(self._space)),
        }

    def checks(self) -> dict[str, str]:
        """Each part with 'ok' or with what is wrong; who asks while another asks shares the answer."""
        deadline = time.monotonic() + PATIENCE
        answers = {name: part.begin() for name, part in self._parts.items()}
        found = {}
        for name, answer in answers.items():
            try:
                found[name] = answer.result(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                found[name] = SILENT
        return found

    def _schema(self) -> None:
        with self._db.read() as session:
            if migrate.current(session.connection()) != self._head:
                with suppress(migrate.SchemaAhead):  # an upgrade is under way: who runs goes on until it is replaced
                    migrate.require_head(session.connection())  # it knows what is wrong

    def _store(self) -> None:
        try:
            self._files.check()
        except StorageShort:
            return  # that is said of the space
        except OSError as fault:
            raise FileAway(f"The folder of the uploads cannot be reached: {fault.strerror or fault}.") from fault

    def _space(self) -> None:
        try:
            free = shutil.disk_usage(self._settings.data_dir).free
        except OSError as fault:
            raise StorageShort(f"The data folder cannot be reached: {fault.strerror or fault}.") from fault
        if free < self._settings.min_free:
            raise StorageShort


def _said(check: Callable[[], None]) -> str:
    try:
        check()
    except AssayError as fault:
        return f"{fault.detail} {fault.advice}"
    return OK
