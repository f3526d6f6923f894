"""Can this process serve: asked every few seconds, so each part is cheap, and none is waited for long."""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress

from app.errors import AssayError, StorageAlmostFull, StoredFileUnavailable
from app.files import FileStore
from app.runtime.single_flight import SingleFlight
from app.settings import Settings
from app.store import migrate
from app.store.session import Database

READINESS_TIMEOUT_SECONDS = 3.0  # seconds for all parts together
OK = "ok"
TIMEOUT_MESSAGE = f"It did not answer within {READINESS_TIMEOUT_SECONDS:.0f} s."


class ReadinessChecker:
    """Database, schema, files and space; never the backlog, for a long queue is no reason to be taken out of service."""

    def __init__(self, settings: Settings, db: Database, files: FileStore) -> None:
        self._settings = settings
        self._db = db
        self._files = files
        self._head = migrate.head_revision()
        self._parts = {
            "database": SingleFlight(lambda: _run_check(db.ping)),
            "schema": SingleFlight(lambda: _run_check(self._check_schema)),
            "files": SingleFlight(lambda: _run_check(self._check_file_store)),
            "space": SingleFlight(lambda: _run_check(self._check_free_space)),
        }

    def checks(self) -> dict[str, str]:
        """Each part with 'ok' or with what is wrong; who asks while another asks shares the answer."""
        deadline = time.monotonic() + READINESS_TIMEOUT_SECONDS
        answers = {name: part.begin() for name, part in self._parts.items()}
        found = {}
        for name, answer in answers.items():
            try:
                found[name] = answer.result(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                found[name] = TIMEOUT_MESSAGE
        return found

    def _check_schema(self) -> None:
        with self._db.read() as session:
            if migrate.current_revision(session.connection()) != self._head:
                with suppress(migrate.SchemaAhead):  # an upgrade is under way: who runs goes on until it is replaced
                    migrate.require_head(session.connection())  # it knows what is wrong

    def _check_file_store(self) -> None:
        try:
            self._files.check()
        except StorageAlmostFull:
            return  # that is said of the space
        except OSError as fault:
            raise StoredFileUnavailable(
                f"The folder of the uploads cannot be reached: {fault.strerror or fault}."
            ) from fault

    def _check_free_space(self) -> None:
        try:
            free = shutil.disk_usage(self._settings.data_dir).free
        except OSError as fault:
            raise StorageAlmostFull(f"The data folder cannot be reached: {fault.strerror or fault}.") from fault
        if free < self._settings.min_free:
            raise StorageAlmostFull


def _run_check(check: Callable[[], None]) -> str:
    try:
        check()
    except AssayError as fault:
        return f"{fault.detail} {fault.advice}"
    return OK
