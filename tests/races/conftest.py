"""One service of each kind for all tests of races."""

from collections.abc import Iterator

import pytest

from tests.cluster import cluster
from tests.live_service import Live
from tests.postgres import PostgresServer
from tests.races.concurrent_clients import ConcurrentClients, OnPostgresql, OnSqlite

PATIENT = "120"  # seconds that a writer waits: races are about order, not about how fast a machine is
HELD = "600"  # and that a child may be held up
SETTINGS = {"database_wait": PATIENT, "scoring_seconds": HELD, "public_url": "https://assay.example.org"}


@pytest.fixture(scope="package")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConcurrentClients]:
    service = Live(tmp_path_factory.mktemp("alone") / "data", **SETTINGS).with_analyses().start()
    crowd = ConcurrentClients(OnSqlite(service))
    yield crowd
    crowd.close()
    service.stop()


@pytest.fixture(scope="package")
def on_postgresql(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConcurrentClients]:
    folder = tmp_path_factory.mktemp("pair")
    with postgres.database() as url, cluster(folder, url, **SETTINGS) as parts:
        crowd = ConcurrentClients(OnPostgresql(parts.with_analyses().start(apis=2, workers=1)))
        yield crowd
        crowd.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def crowd(request: pytest.FixtureRequest) -> ConcurrentClients:
    """People before a service, one of each kind in turn."""
    clients: ConcurrentClients = request.getfixturevalue(f"on_{request.param}")
    return clients
