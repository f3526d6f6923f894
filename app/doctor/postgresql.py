"""Checks of a PostgreSQL database."""

from datetime import timedelta

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
from app.store import clock
from app.store.queries import diagnostics
from app.store.session import ReadSession
from app.store.types import utcnow

REQUIRED_CHECKS = (SETTINGS_CHECK, REACHABLE_CHECK)
QUEUE_ENGINE_CHECK = "postgresql.engine"
ENGINE_TABLES = ("procrastinate_jobs", "procrastinate_workers", "procrastinate_events", "procrastinate_periodic_defers")
CONNECTIONS_OUTSIDE_POOLS = 5  # connections of a process beside those of its pools: the queue engine's, the listener's
TIMEOUTS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
MAX_CLOCK_DIFFERENCE_SECONDS = 1.0  # seconds


def _server_settings(session: ReadSession, *names: str) -> dict[str, str]:
    """Settings of the server as they hold for our connections; those that it does not know are left out."""
    query = text("SELECT name, setting FROM pg_settings WHERE name = ANY(:names)")
    return {row.name: row.setting for row in session.execute(query, {"names": list(names)})}


@check(
    "postgresql.connections",
    needs=(SETTINGS_CHECK, REACHABLE_CHECK, SCHEMA_CHECK),
    backend="postgresql",
    remedy="Raise max_connections of the server, or lower ASSAY_DATABASE_POOL.",
)
def check_connection_limit(installation: Installation) -> CheckResult:
    """The server takes as many connections as one API and the workers that live may open."""
    settings = installation.settings
    reserves = ("superuser_reserved_connections", "reserved_connections")
    with installation.session() as session:
        found = _server_settings(session, "max_connections", *reserves)
        workers = len(diagnostics.live_workers(session, timedelta(seconds=settings.lease_seconds)))
    usable = int(found["max_connections"]) - sum(int(found.get(name, 0)) for name in reserves)
    each = 2 * settings.database_pool + CONNECTIONS_OUTSIDE_POOLS
    wanted = each * (workers + 1)
    observation = f"It takes {usable}; a process may open {each}, one API and {workers} workers {wanted}."
    if usable < each:
        return problem(observation)
    return warning(observation) if usable < wanted else ok(observation)


@check("postgresql.clock", needs=REQUIRED_CHECKS, backend="postgresql", remedy="Let NTP set the clocks of both hosts.")
def check_clock_difference(installation: Installation) -> CheckResult:
    """The clocks of the database and of this host agree to a second."""
    with installation.session() as session:
        session.execute(text("SELECT 1"))  # the connection is there: only the question itself is measured
        before = utcnow()
        theirs = clock.steady(session)
        after = utcnow()
    seconds = abs((theirs - (before + (after - before) / 2)).total_seconds())
    observation = f"They differ by {seconds:.3f} s."
    return warning(observation) if seconds > MAX_CLOCK_DIFFERENCE_SECONDS else ok(observation)


@check(
    QUEUE_ENGINE_CHECK,
    needs=(*REQUIRED_CHECKS, SCHEMA_CHECK),
    backend="postgresql",
    remedy="Restore the database from a backup; 'assay migrate' made them.",
)
def check_queue_engine_tables(installation: Installation) -> CheckResult:
    """The tables of the queue engine are there."""
    with installation.session() as session:
        missing = [
            name
            for name in ENGINE_TABLES
            if session.execute(text("SELECT to_regclass(:name)"), {"name": name}).scalar_one() is None
        ]
    return problem(f"Missing: {', '.join(missing)}.") if missing else ok("All are there.")


@check(
    "postgresql.timeouts",
    needs=REQUIRED_CHECKS,
    backend="postgresql",
    remedy="Connect without a pooler that drops the options of a connection, or set the timeouts for the account: ALTER ROLE.",
)
def check_timeouts(installation: Installation) -> CheckResult:
    """The time limits that we ask for hold: no statement, lock or idle transaction lasts for ever."""
    with installation.session() as session:
        found = _server_settings(session, *TIMEOUTS)
    endless = [name for name in TIMEOUTS if int(found.get(name, 0)) == 0]
    if endless:
        return warning(f"Without limit: {', '.join(endless)}.")
    return ok(", ".join(f"{name} {int(found[name]) / 1000:g} s" for name in TIMEOUTS) + ".")


@check(
    "postgresql.durability",
    needs=REQUIRED_CHECKS,
    backend="postgresql",
    remedy="Set fsync, full_page_writes and synchronous_commit to on: otherwise a power cut loses what was acknowledged.",
)
def check_durability(installation: Installation) -> CheckResult:
    """What the server has acknowledged survives a power cut."""
    wanted = ("fsync", "full_page_writes", "synchronous_commit")
    with installation.session() as session:
        found = _server_settings(session, *wanted)
    off = [name for name in wanted if found.get(name, "on") == "off"]
    return problem(f"Off: {', '.join(off)}.") if off else ok("It waits for the disk.")


@check(
    "postgresql.encoding",
    needs=REQUIRED_CHECKS,
    backend="postgresql",
    remedy="Make a database with ENCODING 'UTF8', and move the data there: assay backup, assay restore.",
)
def check_encoding(installation: Installation) -> CheckResult:
    """Texts of all languages can be stored."""
    with installation.session() as session:
        found = session.execute(text("SHOW server_encoding")).scalar_one()
    return ok("UTF8.") if found == "UTF8" else problem(f"The encoding is {found}.")
