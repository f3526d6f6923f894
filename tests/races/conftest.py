"""One service of each kind for all tests of races."""

from collections.abc import Iterator

import pytest

from tests.cluster import cluster
from tests.live import Live
from tests.postgres import Server
from tests.races.support import Crowd, OnPostgresql, OnSqlite

PATIENT = "30"  # seconds that a writer waits: races are about order, not about how fast a machine is
HELD = "600"  # and that a child may be held up


@pytest.fixture(scope="package")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    service = Live(tmp_path_factory.mktemp("alone") / "data", database_wait=PATIENT, scoring_seconds=HELD).start()
    crowd = Crowd(OnSqlite(service))
    yield crowd
    crowd.close()
    service.stop()


@pytest.fixture(scope="package")
def on_postgresql(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    folder = tmp_path_factory.mktemp("pair")
    with postgres.database() as url, cluster(folder, url, database_wait=PATIENT, scoring_seconds=HELD) as parts:
        crowd = Crowd(OnPostgresql(parts.start(apis=2, workers=1)))
        yield crowd
        crowd.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def crowd(request: pytest.FixtureRequest) -> Crowd:
    """People before a service, one of each kind in turn."""
    found: Crowd = request.getfixturevalue(f"on_{request.param}")
    return found
