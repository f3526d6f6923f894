"""Checks of a PostgreSQL database: connections, clock, queue tables, timeouts, durability and encoding."""

from datetime import timedelta

from sqlalchemy import text

from app.doctor.check_declaration import NEEDS_DATABASE, NEEDS_SCHEMA, CheckResult, check, ok, problem, warning
from app.doctor.installation import Installation
from app.store import clock
from app.store.queries import doctor_checks
from app.store.session import MONITORING_CONNECTIONS, ReadSession
from app.store.types import utcnow

QUEUE_ENGINE_CHECK = "postgresql.engine"
ENGINE_TABLES = ("procrastinate_jobs", "procrastinate_workers", "procrastinate_events", "procrastinate_periodic_defers")
CONNECTIONS_OUTSIDE_POOLS = 5 + MONITORING_CONNECTIONS  # of each process: queue engine, heartbeat, listener, metrics
TIMEOUTS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
MAX_CLOCK_DIFFERENCE_SECONDS = 1.0


def _server_settings(session: ReadSession, *names: str) -> dict[str, str]:
    """Server settings as they apply to this connection, without those that the server does not know."""
    query = text("SELECT name, setting FROM pg_settings WHERE name = ANY(:names)")
    return {row.name: row.setting for row in session.execute(query, {"names": list(names)})}


@check(
    "postgresql.connections",
    needs=NEEDS_SCHEMA,
    backend="postgresql",
    remedy="Raise max_connections on the server, or lower ASSAY_DATABASE_POOL.",
)
def check_connection_limit(installation: Installation) -> CheckResult:
    """The server accepts as many connections as one API and the live workers may open."""
    settings = installation.settings
    reserves = ("superuser_reserved_connections", "reserved_connections")
    with installation.session() as session:
        values = _server_settings(session, "max_connections", *reserves)
        workers = len(doctor_checks.live_workers(session, timedelta(seconds=settings.lease_seconds)))
    usable = int(values["max_connections"]) - sum(int(values.get(name, 0)) for name in reserves)
    per_process = 2 * settings.database_pool + CONNECTIONS_OUTSIDE_POOLS
    required = per_process * (workers + 1)
    observation = f"It accepts {usable}; a process may open {per_process}, one API and {workers} workers {required}."
    return (problem if usable < per_process else warning if usable < required else ok)(observation)


@check("postgresql.clock", needs=NEEDS_DATABASE, backend="postgresql", remedy="Synchronize both hosts by NTP.")
def check_clock_difference(installation: Installation) -> CheckResult:
    """The clocks of the database and of this host differ by at most a second."""
    with installation.session() as session:
        session.execute(text("SELECT 1"))  # connects, so that only the query itself is measured
        before = utcnow()
        database_time = clock.steady(session)
        after = utcnow()
    # The database read its clock somewhere between the two local readings; their middle halves the error.
    seconds = abs((database_time - (before + (after - before) / 2)).total_seconds())
    observation = f"They differ by {seconds:.3f} s."
    return warning(observation) if seconds > MAX_CLOCK_DIFFERENCE_SECONDS else ok(observation)


@check(
    QUEUE_ENGINE_CHECK,
    needs=NEEDS_SCHEMA,
    backend="postgresql",
    remedy="Restore the database from a backup; 'assay migrate' created them.",
)
def check_queue_engine_tables(installation: Installation) -> CheckResult:
    """The tables of the queue engine exist."""
    query = text("SELECT to_regclass(:name)")
    with installation.session() as session:
        missing = [name for name in ENGINE_TABLES if session.execute(query, {"name": name}).scalar_one() is None]
    return problem(f"Missing: {', '.join(missing)}.") if missing else ok("All exist.")


@check(
    "postgresql.timeouts",
    needs=NEEDS_DATABASE,
    backend="postgresql",
    remedy="Connect without a pooler that drops connection options, or set the timeouts for the role: ALTER ROLE.",
)
def check_timeouts(installation: Installation) -> CheckResult:
    """The timeouts that the service sets are in effect: every statement, lock and idle transaction is limited."""
    with installation.session() as session:
        values = _server_settings(session, *TIMEOUTS)
    unlimited = [name for name in TIMEOUTS if int(values.get(name, 0)) == 0]
    if unlimited:
        return warning(f"Without limit: {', '.join(unlimited)}.")
    return ok(", ".join(f"{name} {int(values[name]) / 1000:g} s" for name in TIMEOUTS) + ".")


@check(
    "postgresql.durability",
    needs=NEEDS_DATABASE,
    backend="postgresql",
    remedy="Set fsync, full_page_writes and synchronous_commit to on; otherwise a power failure loses acknowledged data.",
)
def check_durability(installation: Installation) -> CheckResult:
    """Data that the server has acknowledged survives a power failure."""
    names = ("fsync", "full_page_writes", "synchronous_commit")
    with installation.session() as session:
        values = _server_settings(session, *names)
    off = [name for name in names if values.get(name, "on") == "off"]
    return problem(f"Off: {', '.join(off)}.") if off else ok("Commits wait for the disk.")


@check(
    "postgresql.encoding",
    needs=NEEDS_DATABASE,
    backend="postgresql",
    remedy="Create a database with ENCODING 'UTF8', and move the data there: assay backup, assay restore.",
)
def check_encoding(installation: Installation) -> CheckResult:
    """Text in any language can be stored."""
    with installation.session() as session:
        encoding = session.execute(text("SHOW server_encoding")).scalar_one()
    return ok("UTF8.") if encoding == "UTF8" else problem(f"The encoding is {encoding}.")
