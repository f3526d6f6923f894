"""Fixtures that several folders of tests share."""

import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import httpx
import pytest
from httpx._transports import default as httpx_transport

from app.settings import Settings
from tests import hypothesis_profiles, s3_servers
from tests.live_service import Live
from tests.optional_tools import skip_or_fail
from tests.postgres import OwnPostgresServer, PostgresNotStarted, PostgresServer, server

hypothesis_profiles.use_fixed_examples()  # before any test is imported
vars(httpx_transport)["create_ssl_context"] = cache(httpx.create_ssl_context)  # or each client reads all certificates
gc.disable()  # until all are: what they load stays, and searching it takes a tenth of the time


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell ignores the key for what it starts in the background, and all that the tests start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service for the tests of one file."""
    service = Live(tmp_path_factory.mktemp("service") / "data").start()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """PostgreSQL: one server for all tests of this process, started when the first of them asks."""
    try:
        started = server()
    except PostgresNotStarted as fault:
        skip_or_fail("postgres", str(fault))
    yield started
    started.close()


@pytest.fixture(scope="session")
def own_postgres(postgres: PostgresServer) -> OwnPostgresServer:
    """PostgreSQL that a test may stop, restart and kill."""
    if not isinstance(postgres, OwnPostgresServer):
        pytest.skip("TEST_DATABASE_URL names a server that others run; this test would restart it")
    return postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Settings with an empty database, one of each kind in turn."""
    if request.param == "sqlite":
        yield Settings(data_dir=tmp_path / "data", min_free=0)
        return
    server: PostgresServer = request.getfixturevalue("postgres")  # asked for here, so that SQLite alone starts none
    with server.database() as url:
        yield Settings(data_dir=tmp_path / "data", database_url=url, min_free=0, files_shared=True)


@pytest.fixture(scope="module")
def postgres_database(postgres: PostgresServer) -> Iterator[Callable[[], str]]:
    """Makes an empty database at each call and returns its address; all are dropped after the tests of the file."""
    with ExitStack() as databases:
        yield lambda: databases.enter_context(postgres.database())


@pytest.fixture(scope="session")
def moto() -> Iterator[s3_servers.S3Server]:
    """The object store of moto."""
    store = s3_servers.moto()
    yield store
    store.stop()


@pytest.fixture(scope="session")
def rclone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[s3_servers.S3Server]:
    """The object store of rclone."""
    store = s3_servers.rclone(tmp_path_factory.mktemp("rclone"))
    yield store
    store.stop()


def pytest_collection_finish() -> None:
    """Collect garbage again, but not among modules and tests."""
    gc.freeze()
    gc.enable()


LONGEST = frozenset({"storm", "test_benchmarks.py", "test_pages_and_api.py", "test_two_phases.py"})
"""Folders and files that would otherwise run alone at the end."""
WAITING_FOLDERS = ("backup", "faults", "queue", "races")
"""Folders whose tests wait more than they compute."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest first; then files that wait among files that compute, so that neither waits alone."""
    if not hypothesis_profiles.is_exploring():
        properties = {
            id(property_test): property_test
            for item in items
            if (property_test := hypothesis_profiles.property_function(item))
        }
        for function in properties.values():  # one for all cases of a parametrized test
            hypothesis_profiles.fewer_examples(function)
    files = list(dict.fromkeys(item.path for item in items))
    waiting = [path for path in files if not set(WAITING_FOLDERS).isdisjoint(path.parts)]
    others = [path for path in files if path not in set(waiting)]
    place = {path: at / len(others) for at, path in enumerate(others)}
    place |= {path: 0.7 * at / len(waiting) for at, path in enumerate(waiting)}
    items.sort(key=lambda item: (LONGEST.isdisjoint(item.path.parts), place[item.path], item.path))
