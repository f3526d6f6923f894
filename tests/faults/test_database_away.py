"""The database restarts, stays away, and falls silent, under a service that goes on: nothing is lost or done twice."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from app.errors import DatabaseUnavailable
from app.settings import Settings
from app.store.session import Database
from tests.cluster import cluster
from tests.faults.challenge_cluster import SHORT_TIMEOUTS, ChallengeCluster, SubmittingThreads
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.postgres import Mode, OwnPostgresServer
from tests.tcp_proxy import TcpProxy, run_proxy

SHORT = SHORT_TIMEOUTS | {"lease_seconds": "2", "statement_seconds": "3"}
EXPIRE = "UPDATE score_tasks SET lease_until = now() WHERE status = 'running' RETURNING 1"


def via_proxy(proxy: TcpProxy, url: str) -> str:
    """The address of a database by way of a proxy."""
    return make_url(url).set(port=proxy.port).render_as_string(hide_password=False)


@pytest.fixture(scope="module")
def proxy(own_postgres: OwnPostgresServer) -> Iterator[TcpProxy]:
    with run_proxy(own_postgres.port) as running:
        yield running


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, proxy: TcpProxy, postgres_database: Callable[[], str]
) -> Iterator[ChallengeCluster]:
    """An API, and a worker that reaches the database by way of a proxy."""
    url = postgres_database()
    with cluster(tmp_path_factory.mktemp("away"), url, **SHORT) as cluster_parts:
        parts = [
            cluster_parts.part("api").start(),
            cluster_parts.part("worker", database_url=via_proxy(proxy, url)).start(),
        ]
        for part in parts:
            part.wait_ready()
        yield ChallengeCluster(cluster_parts)


@pytest.fixture(autouse=True)
def same_processes(site: ChallengeCluster) -> Iterator[None]:
    """Whatever happens, no process of the service needs to be started again."""
    before = [part.process for part in site.cluster.parts]
    yield
    site.release()
    assert [part.process for part in site.cluster.parts] == before
    for part in site.cluster.parts:
        assert part.process is not None
        assert part.process.poll() is None, part.log()[-3000:]


def assert_answered_well(answers: list[httpx.Response]) -> None:
    """Stored, or told to come again: never a fault of ours."""
    assert {each.status_code for each in answers} <= {202, 503}, [each.text for each in answers][-3:]
    for each in answers:
        if each.status_code == 503:
            assert each.headers["content-type"] == "application/problem+json"
            assert int(each.headers["retry-after"]) > 0
            assert each.json()["code"] in {"database_away", "commit_uncertain"}


def assert_works_as_before(site: ChallengeCluster) -> None:
    answer = site.waiting("After").answer()
    assert (answer.status_code, answer.json()["status"]) == (201, "finished")
    assert "unforeseen_error" not in site.cluster.apis[0].log()


@pytest.mark.parametrize("mode", ["immediate", "fast"])
def test_a_restart_of_the_database_loses_nothing_that_was_acknowledged(
    site: ChallengeCluster, own_postgres: OwnPostgresServer, mode: Mode
) -> None:
    senders = SubmittingThreads(site, 3)
    senders.reach(5, "some are acknowledged")
    own_postgres.restart(mode)
    senders.reach(5, "some more are acknowledged")
    ids = senders.end()
    assert_answered_well(senders.answers)
    stored = {str(row[0]) for row in site.cluster.rows("SELECT id FROM submissions")}
    assert set(ids) <= stored
    site.wait_until_finished(*stored)
    site.wait_until_queue_empty()
    assert_works_as_before(site)


def test_a_database_that_stays_away_longer_than_leases_last_is_told_and_waited_for(
    site: ChallengeCluster, own_postgres: OwnPostgresServer
) -> None:
    site.hold(*site.cluster.workers)
    ids = [site.send(f"Away {number}") for number in range(3)]
    site.holder(site.cluster.workers)
    api = site.cluster.apis[0]
    senders = SubmittingThreads(site, 2)
    own_postgres.stop("fast")
    try:
        site.release()  # scored, and nowhere to write it to
        eventually(lambda: any(each.status_code == 503 for each in senders.answers), "requests are refused")
        time.sleep(float(SHORT["lease_seconds"]))  # only time ends a lease while no row can be written
        ready = httpx.get(f"{api.url}/readyz", timeout=MAX_WAIT_SECONDS)
        assert ready.status_code == 503
        assert ready.json()["checks"]["database"] != "ok"
        assert httpx.get(f"{api.url}/healthz", timeout=MAX_WAIT_SECONDS).status_code == 200
    finally:
        own_postgres.start()
    site.cluster.rows(EXPIRE)  # unless the worker has renewed or settled by now
    senders.reach(5, "requests are served again")
    site.wait_until_finished(*ids, *senders.end())
    assert_answered_well(senders.answers)
    assert_works_as_before(site)


@pytest.mark.parametrize("recovery", ["works again", "breaks", "stays silent"])
def test_a_worker_whose_lines_fall_silent_recovers_by_itself(
    site: ChallengeCluster, proxy: TcpProxy, recovery: str
) -> None:
    """Nothing is closed, and each packet is still acknowledged: neither side is told."""
    site.hold(*site.cluster.workers)
    ids = [site.send(f"Silent {number}") for number in range(3)]
    site.holder(site.cluster.workers)
    assert proxy.silence() > 0
    site.release()
    if recovery != "stays silent":
        assert site.cluster.rows(EXPIRE)
        proxy.resume() if recovery == "works again" else proxy.drop()
    site.wait_until_finished(*ids)
    assert_works_as_before(site)


def silenced(db: Database, proxy: TcpProxy) -> None:
    with db.read() as session:
        session.execute(text("SELECT 1"))
        proxy.silence()
        session.execute(text("SELECT 1"))


def test_a_line_that_says_nothing_is_hung_up_and_the_database_is_away(
    own_postgres: OwnPostgresServer, proxy: TcpProxy, postgres_database: Callable[[], str], tmp_path: Path
) -> None:
    url = via_proxy(proxy, postgres_database())
    db = Database(Settings(data_dir=tmp_path, database_url=url, statement_seconds=3))
    try:
        with pytest.raises(DatabaseUnavailable):
            silenced(db, proxy)
        db.ping()
    finally:
        db.close()
        proxy.drop()
