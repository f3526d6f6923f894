"""Checks of the database that apply to both SQLite and PostgreSQL."""

import sqlite3
import time

from sqlalchemy import text

from app.doctor.check_declaration import (
    NEEDS_DATABASE,
    NEEDS_SCHEMA,
    REACHABLE_CHECK,
    SCHEMA_CHECK,
    CheckResult,
    check,
    ok,
    problem,
    warning,
)
from app.doctor.installation import Installation
from app.store.migrate import require_head
from app.store.queries import ranked_values
from app.store.read_only_sessions import database_file

MIN_SQLITE_VERSION = (3, 35)  # the first with RETURNING
MIN_POSTGRESQL_VERSION = 14
CHECKED_SUBMISSIONS = 1000  # the newest, without --deep; also those that are read at once
SLOW_ROUND_TRIP_SECONDS = 0.05  # a submission takes about ten round trips


@check(REACHABLE_CHECK, remedy="Check ASSAY_DATABASE_URL, and that the database runs and this host can connect to it.")
def check_reachable(installation: Installation) -> CheckResult:
    """The database answers, with a short round trip."""
    path = database_file(installation.settings)
    if path is not None and not path.is_file():
        remedy = "Check --data-dir; 'assay migrate' and 'assay serve' create a database."
        return problem(f"There is no database at {path}.", remedy)
    query = text("SELECT 1" if path is None else "PRAGMA schema_version")  # SQLite answers SELECT 1 without the file
    with installation.session() as session:
        session.execute(query)  # connects, so that only the round trip is measured below
        start = time.perf_counter()
        session.execute(query)
        seconds = time.perf_counter() - start
    observation = f"A round trip takes {seconds * 1000:.1f} ms."
    slow = seconds > SLOW_ROUND_TRIP_SECONDS
    return warning(observation, "Run the database closer to the service.") if slow else ok(observation)


@check(
    "database.version",
    needs=NEEDS_DATABASE,
    remedy="Install PostgreSQL 14 or newer, or a Python with SQLite 3.35 or newer.",
)
def check_database_version(installation: Installation) -> CheckResult:
    """The database version is supported."""
    if not installation.settings.on_postgresql:
        version, supported = f"SQLite {sqlite3.sqlite_version}", sqlite3.sqlite_version_info >= MIN_SQLITE_VERSION
    else:
        with installation.session() as session:
            major, minor = divmod(int(session.execute(text("SHOW server_version_num")).scalar_one()), 10_000)
        version, supported = f"PostgreSQL {major}.{minor}", major >= MIN_POSTGRESQL_VERSION
    return ok(f"{version}.") if supported else problem(f"{version} is too old.")


@check(SCHEMA_CHECK, needs=NEEDS_DATABASE, remedy="Run 'assay migrate'.")
def check_schema(installation: Installation) -> CheckResult:
    """The schema is that of this version."""
    with installation.session() as session:
        require_head(session.connection())
    return ok("It is that of this version.")


@check(
    "database.ranked_values",
    needs=NEEDS_SCHEMA,
    state_on_timeout="skipped",
    remedy="Run 'assay doctor --repair', which derives them again; until then boards may choose or count entries wrongly.",
)
def check_ranked_values(installation: Installation) -> CheckResult:
    """Ranked values and numbers of entries follow from the scores of the newest submissions; with --deep of all."""
    seen, outdated = 0, 0
    with installation.session() as session:
        before = None
        while ids := ranked_values.submission_ids(session, before=before, limit=CHECKED_SUBMISSIONS):
            seen, before = seen + len(ids), ids[-1]
            outdated += len(ranked_values.outdated_submissions(session, ids))
            if not installation.deep:
                break
        counts = len(ranked_values.wrong_counts(session))
    if outdated or counts:
        return problem(f"Those of {outdated} of {seen} submissions, and {counts} numbers of entries, do not follow.")
    return ok(f"Those of {seen} submissions, and all numbers of entries, follow from the scores.")
