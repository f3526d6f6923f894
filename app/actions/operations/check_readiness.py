"""Readiness of this process. It is checked every few seconds, so each check is cheap and has a time limit."""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from app.errors import AssayError, StorageAlmostFull, StoredFileUnavailable
from app.files import FileStore
from app.runtime.single_flight import SingleFlight
from app.settings import Settings
from app.store import migrate
from app.store.session import Database

READINESS_TIMEOUT_SECONDS = 3.0  # for all checks together
OK = "ok"
TIMEOUT_MESSAGE = f"It did not answer within {READINESS_TIMEOUT_SECONDS:.0f} s."


class ReadinessChecker:
    """Checks database, schema, files and space.

    Never the backlog: a long queue is no reason to take a replica out of service.
    """

    def __init__(self, settings: Settings, db: Database, files: FileStore) -> None:
        self._settings = settings
        self._db = db
        self._files = files
        self._head = migrate.head_revision()
        checks = {"database": db.ping, "schema": self._check_schema}
        checks |= {"files": self._check_file_store, "space": self._check_free_space}
        self._checks = {name: SingleFlight(partial(_run_check, check)) for name, check in checks.items()}

    def checks(self) -> dict[str, str]:
        """'ok' or a description of the fault, by check; concurrent calls share their results."""
        deadline = time.monotonic() + READINESS_TIMEOUT_SECONDS
        pending = {name: check.begin() for name, check in self._checks.items()}
        results = {}
        for name, result in pending.items():
            try:
                results[name] = result.result(max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                results[name] = TIMEOUT_MESSAGE
        return results

    def _check_schema(self) -> None:
        with self._db.read() as session:
            if migrate.current_revision(session.connection()) != self._head:
                # A newer schema is accepted: during an upgrade, running processes go on until they are replaced.
                with suppress(migrate.SchemaAhead):
                    migrate.require_head(session.connection())  # raises an error that says what is wrong

    def _check_file_store(self) -> None:
        try:
            self._files.check()
        except StorageAlmostFull:
            return  # reported by the check of the space
        except OSError as fault:
            detail = f"The folder of the uploads cannot be reached: {fault.strerror or fault}."
            raise StoredFileUnavailable(detail) from fault

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
