"""Fixtures that several folders of tests share."""

import gc
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx._transports import default as httpx_transport
from xdist.scheduler.loadscope import LoadScopeScheduling  # type: ignore[import-untyped]

from app.settings import Settings
from tests import hypothesis_profiles, s3_servers
from tests.live_service import Live
from tests.long_tests import LIMIT_SECONDS, LONG_TESTS
from tests.optional_tools import skip_or_fail
from tests.postgres import OwnPostgresServer, PostgresNotStarted, PostgresServer, server
from tests.shared_statements import share_compiled_statements

hypothesis_profiles.use_fixed_examples()  # before any test is imported
share_compiled_statements()
vars(httpx_transport)["create_ssl_context"] = cache(httpx.create_ssl_context)  # or each client reads all certificates
gc.disable()  # until all are: what they load stays, and searching it takes a tenth of the time


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell ignores the key for what it starts in the background, and all that the tests start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def analyses(request: pytest.FixtureRequest) -> bool:
    """Whether the service of a file computes intervals and comparisons: it does if the file sets ANALYSES."""
    return bool(vars(request.module).get("ANALYSES", False))


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, *, analyses: bool) -> Iterator[Live]:
    """A service for the tests of one file."""
    service = Live(tmp_path_factory.mktemp("service") / "data").with_analyses(wanted=analyses).start()
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


@pytest.fixture
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Settings with an empty database: SQLite, or one of each kind in turn for tests marked `both_databases`."""
    if getattr(request, "param", "sqlite") == "sqlite":
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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests marked `both_databases` on PostgreSQL too."""
    if "settings" in metafunc.fixturenames and metafunc.definition.get_closest_marker("both_databases"):
        metafunc.parametrize("settings", ["sqlite", "postgresql"], indirect=True)


TESTS = Path(__file__).resolve().parent
CI_FOLDERS = frozenset({"backup", "browser", "faults", "races", "storm"})
"""Folders whose tests restore, kill, race or draw pages: .ci/run runs them, make test does not."""
CI_FILES = frozenset({"api/test_conformance.py"})
"""Files whose import alone takes seconds of each worker: this one draws cases for every operation."""
CI_FIXTURES = frozenset({"postgres", "own_postgres", "postgres_database", "moto", "rclone"})
"""Servers beside the service; whatever needs one belongs to .ci/run too."""
FIRST_TIER = "not ci"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether a folder or a file holds nothing for this run: most of a collection is the import of its files."""
    return True if config.option.markexpr == FIRST_TIER and _is_of_ci(collection_path) else None


def _is_of_ci(path: Path) -> bool:
    from_tests = path.relative_to(TESTS) if path.is_relative_to(TESTS) else path
    return not CI_FOLDERS.isdisjoint(from_tests.parts[:1]) or str(from_tests) in CI_FILES


def _needs_ci(item: pytest.Item) -> bool:
    """Whether a test belongs to the second tier by its folder or file, or by a server that it needs."""
    parameters = getattr(item, "callspec", None)
    servers = {"postgresql", "moto", "rclone", "bucket"}
    values = {value for value in (parameters.params if parameters else {}).values() if isinstance(value, str)}
    return bool(
        _is_of_ci(item.path)
        or CI_FIXTURES.intersection(getattr(item, "fixturenames", ()))
        or servers.intersection(values)
    )


SHARING_FOLDERS = ("imports", "races")
"""Folders whose files share services that take long to start: one process runs all of them."""


class FilesByScope(LoadScopeScheduling):  # type: ignore[misc]
    """Gives each file to one process, and each folder of SHARING_FOLDERS."""

    def _split_scope(self, nodeid: str) -> str:
        folder = Path(nodeid).parent.name
        return folder if folder in SHARING_FOLDERS else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """What --dist loadscope means here."""
    return FilesByScope(config, log) if config.getvalue("dist") == "loadscope" else None


LONGEST = ("browser", "storm", "test_benchmarks.py")
"""Folders and files that would otherwise run alone at the end; the browser first, so that one start serves all its files."""
WAITING_FOLDERS = ("backup", "faults", "queue", "races")
"""Folders whose tests wait more than they compute."""


def _rank(path: Path) -> int:
    """Which files begin: the browser, then what takes long, then the rest."""
    return min((min(LONGEST.index(part), 1) for part in path.parts if part in LONGEST), default=2)


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the second tier. Then what takes longest first; then files that wait among files that compute, so that neither waits alone."""
    for item in items:
        if _needs_ci(item):
            item.add_marker("ci")
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
    rank = {path: _rank(path) for path in files}
    items.sort(key=lambda item: (rank[item.path], place[item.path], item.path))


_seconds: defaultdict[str, float] = defaultdict(float)
"""How long each test has taken, with the making and the end of its fixtures."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the phases of a test."""
    _seconds[report.nodeid] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that take long without a reason in `tests/long_tests.py`."""
    unlisted = {node: seconds for node, seconds in _seconds.items() if not _is_listed(node)}
    longest = sorted(((node, took) for node, took in unlisted.items() if took > LIMIT_SECONDS), key=lambda it: -it[1])
    if longest:
        terminalreporter.section(f"more than {LIMIT_SECONDS:g} s and not in tests/long_tests.py")
        for node, seconds in longest:
            terminalreporter.line(f"{seconds:6.1f} s  {node}")


def _is_listed(node: str) -> bool:
    """Whether LONG_TESTS names a test, its file or its folder."""
    path, _, name = node.partition("[")[0].partition("::")
    return any(str(entry) in LONG_TESTS for entry in (f"{path}::{name}", path, *Path(path).parents))
