"""Checks of the database, whichever it is."""

import sqlite3
import time

from sqlalchemy import text

from app.doctor.check_declaration import (
    REACHABLE_CHECK,
    SCHEMA_CHECK,
    SETTINGS_CHECK,
    CheckResult,
    check,
    ok,
    problem,
    warning,
)
from app.doctor.installation import Installation
from app.store.migrate import require_head
from app.store.read_only_sessions import database_file

MIN_SQLITE_VERSION = (3, 35)  # the first with RETURNING
MIN_POSTGRESQL_VERSION = 14
SLOW_ROUND_TRIP_SECONDS = 0.05  # seconds; a submission makes about ten round trips


@check(
    REACHABLE_CHECK, remedy="Check ASSAY_DATABASE_URL, whether the database runs, and whether this host may reach it."
)
def check_reachable(installation: Installation) -> CheckResult:
    """The database answers; how long a round trip takes."""
    path = database_file(installation.settings)
    if path is not None and not path.is_file():
        return problem(
            f"There is no database at {path}.",
            "Check --data-dir; 'assay migrate' makes one, and so does 'assay serve'.",
        )
    question = text("SELECT 1" if path is None else "PRAGMA schema_version")  # SQLite then reads the file
    with installation.session() as session:
        session.execute(question)
        began = time.perf_counter()
        session.execute(question)
        taken = time.perf_counter() - began
    observation = f"A round trip takes {taken * 1000:.1f} ms."
    return (
        warning(observation, "Bring the database nearer to the service.")
        if taken > SLOW_ROUND_TRIP_SECONDS
        else ok(observation)
    )


@check(
    "database.version",
    needs=(SETTINGS_CHECK, REACHABLE_CHECK),
    remedy="Install PostgreSQL 14 or newer, or Python with SQLite 3.35.",
)
def check_database_version(installation: Installation) -> CheckResult:
    """The database is new enough."""
    if not installation.settings.on_postgresql:
        found, enough = f"SQLite {sqlite3.sqlite_version}", sqlite3.sqlite_version_info >= MIN_SQLITE_VERSION
    else:
        with installation.session() as session:
            number = int(session.execute(text("SHOW server_version_num")).scalar_one())
        found, enough = f"PostgreSQL {number // 10000}.{number % 10000}", number // 10000 >= MIN_POSTGRESQL_VERSION
    return ok(f"{found}.") if enough else problem(f"{found} is too old.")


@check(SCHEMA_CHECK, needs=(SETTINGS_CHECK, REACHABLE_CHECK), remedy="Run 'assay migrate'.")
def check_schema(installation: Installation) -> CheckResult:
    """The schema is the one of this version."""
    with installation.session() as session:
        require_head(session.connection())
    return ok("It is the one of this version.")
