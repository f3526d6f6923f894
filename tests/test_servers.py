"""The servers of the tests are real, survive restarts and kills, and leave nothing behind."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from tests.live_service import MAX_WAIT_SECONDS, free_port
from tests.optional_tools import skip_or_fail
from tests.postgres import OwnPostgresServer, PostgresServer, server

ROOT = Path(__file__).resolve().parents[1]


def rows(postgres: PostgresServer, row_database: str) -> list[int]:
    with postgres.connect(row_database) as connection:
        return [int(number) for (number,) in connection.execute("SELECT n FROM numbers ORDER BY n")]


@pytest.fixture
def row_database(postgres: PostgresServer) -> str:
    """A database with one committed row."""
    name = postgres.create()
    with postgres.connect(name) as connection:
        connection.execute("CREATE TABLE numbers (n int)")
        connection.execute("INSERT INTO numbers VALUES (1)")
    return name


@pytest.mark.skipif(sys.platform != "linux", reason="the names of ports are those of Linux sockets")
def test_a_port_that_one_process_was_given_is_given_to_no_other() -> None:
    port = free_port()
    asks_for_it_first = f"""
import tests.live_service as of

others, first = of.secrets.randbelow, iter([{port} - 10_000])
of.secrets.randbelow = lambda below: next(first, None) or others(below)
print(of.free_port())
"""
    ran = subprocess.run(
        [sys.executable, "-c", asks_for_it_first], check=True, cwd=ROOT, capture_output=True, text=True
    )
    assert 0 < int(ran.stdout) != port, ran.stderr


def test_each_call_makes_an_empty_database_of_its_own(postgres_database: Callable[[], str]) -> None:
    first, second = postgres_database(), postgres_database()
    assert first != second
    for url in (first, second):
        assert url.startswith("postgresql+psycopg://")
        with psycopg.connect(url.replace("+psycopg", "")) as connection:
            found = connection.execute("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace")
            assert found.fetchone() == (0,)


def test_a_database_is_dropped_under_whoever_still_uses_it(postgres: PostgresServer, row_database: str) -> None:
    with postgres.connect(row_database) as user, postgres.connect(row_database) as another:
        assert another.execute("SELECT n FROM numbers").fetchall() == [(1,)]
        postgres.drop(row_database)
        with pytest.raises(psycopg.OperationalError):
            user.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        postgres.connect(row_database)


@pytest.mark.parametrize("how", ["immediate", "kill"])
def test_what_was_committed_survives_a_crash_and_what_was_not_is_gone(
    own_postgres: OwnPostgresServer, row_database: str, how: str
) -> None:
    before = own_postgres.pid
    uncommitted = own_postgres.connect(row_database, autocommit=False)
    uncommitted.execute("INSERT INTO numbers VALUES (2)")
    if how == "kill":
        own_postgres.kill()
    else:
        own_postgres.restart("immediate")
    with pytest.raises(psycopg.OperationalError):
        uncommitted.execute("SELECT 1")
    uncommitted.close()
    assert own_postgres.pid != before
    assert rows(own_postgres, row_database) == [1]
    own_postgres.drop(row_database)


def test_a_stopped_server_refuses_connections_until_it_is_started(
    own_postgres: OwnPostgresServer, row_database: str
) -> None:
    before = own_postgres.pid
    uncommitted = own_postgres.connect(row_database, autocommit=False)
    uncommitted.execute("INSERT INTO numbers VALUES (2)")
    own_postgres.stop()
    try:
        with pytest.raises(psycopg.OperationalError, match=r"refused|closed the connection"):
            own_postgres.connect()
    finally:
        own_postgres.start()
    with pytest.raises(psycopg.OperationalError):
        uncommitted.execute("SELECT 1")
    uncommitted.close()
    assert own_postgres.pid != before
    assert rows(own_postgres, row_database) == [1]
    own_postgres.drop(row_database)


def test_commits_survive_a_kill_and_on_demand_a_power_failure(own_postgres: OwnPostgresServer) -> None:
    assert own_postgres.setting("synchronous_commit") == "on"
    assert own_postgres.setting("listen_addresses") == "127.0.0.1"
    for _ in range(2):
        assert [own_postgres.setting(name) for name in ("fsync", "full_page_writes")] == ["off", "off"]
        with own_postgres.with_fsync():
            assert [own_postgres.setting(name) for name in ("fsync", "full_page_writes")] == ["on", "on"]


def test_a_server_that_others_run_is_used_as_it_is(
    own_postgres: OwnPostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_DATABASE_URL", own_postgres.url("postgres").replace("+psycopg", ""))
    given = server()
    assert not isinstance(given, OwnPostgresServer)
    with given.database() as url:
        name = make_url(url).database or ""
        assert name.startswith("assay_test_")
        with given.connect(name) as connection:
            assert connection.execute("SELECT current_database()").fetchone() == (name,)
    given.close()
    with own_postgres.connect() as connection:
        assert connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is None


DIES = """
import os, signal
from tests.postgres import OwnPostgresServer
made = OwnPostgresServer()
print(made.pid, made.folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_server_and_its_data_go_with_the_tests_even_when_these_are_killed(own_postgres: OwnPostgresServer) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", DIES], check=False, cwd=ROOT, capture_output=True, text=True, timeout=MAX_WAIT_SECONDS
    )
    pid, folder = ran.stdout.split()
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while time.monotonic() < deadline and (alive(int(pid)) or Path(folder).exists()):
        time.sleep(0.05)
    assert not alive(int(pid))
    assert not Path(folder).exists()


# ---- what a machine may lack --------------------------------------------------------------------


def test_a_missing_server_skips_with_its_reason_unless_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_REQUIRE", raising=False)
    with pytest.raises(pytest.skip.Exception, match="postgres is missing: no wheel"):
        skip_or_fail("postgres", "no wheel")
    monkeypatch.setenv("ASSAY_REQUIRE", "s3, postgres")
    with pytest.raises(pytest.fail.Exception, match="no wheel"):
        skip_or_fail("postgres", "no wheel")
    with pytest.raises(pytest.skip.Exception):
        skip_or_fail("chromium", "no browser")


def test_the_whole_check_requires_every_server_that_a_wheel_brings() -> None:
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert 'export ASSAY_REQUIRE="${ASSAY_REQUIRE-postgres,s3,tmpfs}"' in text
