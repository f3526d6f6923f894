"""Checks of the database, whichever it is."""

import sqlite3
import time

from sqlalchemy import text

from app.doctor.check_declaration import REACHABLE, SCHEMA, SETTINGS, Said, check, ok, problem, warning
from app.doctor.installation import Patient
from app.store.migrate import require_head
from app.store.read_only_sessions import database_file

OLDEST_SQLITE = (3, 35)  # the first with RETURNING
OLDEST_POSTGRESQL = 14
SLOW = 0.05  # seconds; a submission makes about ten round trips


@check(REACHABLE, remedy="Check ASSAY_DATABASE_URL, whether the database runs, and whether this host may reach it.")
def reachable(patient: Patient) -> Said:
    """The database answers; how long a round trip takes."""
    path = database_file(patient.settings)
    if path is not None and not path.is_file():
        return problem(
            f"There is no database at {path}.",
            "Check --data-dir; 'assay migrate' makes one, and so does 'assay serve'.",
        )
    question = text("SELECT 1" if path is None else "PRAGMA schema_version")  # SQLite then reads the file
    with patient.session() as session:
        session.execute(question)
        began = time.perf_counter()
        session.execute(question)
        taken = time.perf_counter() - began
    seen = f"A round trip takes {taken * 1000:.1f} ms."
    return warning(seen, "Bring the database nearer to the service.") if taken > SLOW else ok(seen)


@check(
    "database.version",
    needs=(SETTINGS, REACHABLE),
    remedy="Install PostgreSQL 14 or newer, or Python with SQLite 3.35.",
)
def version(patient: Patient) -> Said:
    """The database is new enough."""
    if not patient.settings.on_postgresql:
        found, enough = f"SQLite {sqlite3.sqlite_version}", sqlite3.sqlite_version_info >= OLDEST_SQLITE
    else:
        with patient.session() as session:
            number = int(session.execute(text("SHOW server_version_num")).scalar_one())
        found, enough = f"PostgreSQL {number // 10000}.{number % 10000}", number // 10000 >= OLDEST_POSTGRESQL
    return ok(f"{found}.") if enough else problem(f"{found} is too old.")


@check(SCHEMA, needs=(SETTINGS, REACHABLE), remedy="Run 'assay migrate'.")
def schema(patient: Patient) -> Said:
    """The schema is the one of this version."""
    with patient.session() as session:
        require_head(session.connection())
    return ok("It is the one of this version.")
