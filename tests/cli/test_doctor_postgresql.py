"""`assay doctor` on clusters: PostgreSQL with a folder that is shared, and with a bucket."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from app.store.types import utcnow
from tests import preloaded_scoring
from tests.cli.run_command import run_assay
from tests.cli.test_doctor import GOLD, GOOD, QUOTA, Findings, findings, states
from tests.cluster import Cluster, cluster
from tests.live_service import eventually, open_challenge
from tests.postgres import OwnPostgresServer, PostgresServer
from tests.preloaded_scoring import use_preloaded_scoring
from tests.s3_servers import S3Server

MACHINE = {"data.space", "data.disk", "scoring.memory", "database.reachable"}  # depend on the machine, and its load


def examine(monkeypatch: pytest.MonkeyPatch, made: Cluster, **settings: str | None) -> Findings:
    """What the doctor finds with the settings of the cluster, some of them changed."""
    given = {f"ASSAY_{name.upper()}": value for name, value in settings.items()}
    with monkeypatch.context() as patch:
        for name, value in (made.settings | {"ASSAY_RATE_LIMITS": "9/minute"} | given).items():
            if value is not None:
                patch.setenv(name, value)
        with use_preloaded_scoring(preloaded_scoring.loader()):
            return findings(run_assay("doctor", "--json"))


def run_on(made: Cluster, *statements: str) -> None:
    with psycopg.connect(made.database_url.replace("+psycopg", ""), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@pytest.fixture(scope="module", autouse=True)
def server_in_operation(postgres: PostgresServer) -> Iterator[None]:
    """The server writes to disk as the doctor demands; that of all other tests does not wait for the disk."""
    with postgres.with_fsync() if isinstance(postgres, OwnPostgresServer) else nullcontext():
        yield


@pytest.fixture(scope="module")
def running_cluster(
    postgres_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster"), postgres_database()) as made:
        made.start()
        open_challenge(made.admin(), "pets", GOLD, phases=[{"name": "main", "quota": QUOTA}])
        assert made.admin().submit("pets", GOOD, team="Blue").status_code == 201
        yield made


@pytest.fixture
def idle_cluster(postgres_database: Callable[[], str], tmp_path: Path) -> Iterator[Cluster]:
    """A migrated database without a running service."""
    with cluster(tmp_path, postgres_database()) as made:
        yield made


def test_a_healthy_cluster_has_no_fault_while_it_works(
    running_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = examine(monkeypatch, running_cluster)
    assert states(found, "problem") == set()
    assert states(found, "warning") <= {"challenges.rules", *MACHINE}  # anybody may sign up and register
    assert {key for key in states(found, "skipped") if not key.startswith("sqlite.")} <= {"files.left_over", *MACHINE}
    assert found["queue.workers"]["seen"].startswith("1 running: ")
    assert found["files.present"]["seen"] == "2 files are present."


SET: dict[str, tuple[dict[str, str | None], str, str, str]] = {
    "folder of one host": ({"files_shared": "false"}, "files.place", "problem", "a folder of this host"),
    "pools too large": ({"database_pool": "1000"}, "postgresql.connections", "problem", "2007"),
}


def test_what_is_set_wrongly_is_found(running_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, str | None] = {}
    for settings, *_ in SET.values():
        given |= settings
    found = examine(monkeypatch, running_cluster, **given)
    for _, key, state, seen in SET.values():
        assert (found[key]["state"], seen in found[key]["seen"]) == (state, True), found[key]
        assert found[key]["remedy"]


def test_pools_that_take_all_connections_are_warned_of(
    running_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    [[most]] = running_cluster.rows("SELECT setting::int FROM pg_settings WHERE name = 'max_connections'")
    pool = (int(str(most)) - 60) // 2
    assert (
        examine(monkeypatch, running_cluster, database_pool=str(pool))["postgresql.connections"]["state"] == "warning"
    )


def test_clocks_that_differ_are_warned_of(running_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.doctor.postgresql.utcnow", lambda: utcnow() - timedelta(seconds=90))
    finding = examine(monkeypatch, running_cluster)["postgresql.clock"]
    assert (finding["state"], "They differ by " in finding["seen"]) == ("warning", True), finding


ENDLESS = """
CREATE FUNCTION endless() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM set_config('statement_timeout', '0', false); END $$
"""
BROKEN: dict[str, tuple[list[str], str, str, str]] = {
    "engine dropped": (["DROP TABLE procrastinate_jobs CASCADE"], "postgresql.engine", "problem", "procrastinate_jobs"),
    "timeouts lost": (
        [ENDLESS, "CREATE EVENT TRIGGER endless ON login EXECUTE FUNCTION endless()"],
        *("postgresql.timeouts", "warning", "statement_timeout"),
    ),
    "not durable": (
        ["DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$"],
        *("postgresql.durability", "problem", "synchronous_commit"),
    ),
    "schema gone": (["DROP TABLE alembic_version"], "database.schema", "problem", "older than this version needs"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_what_is_broken_is_found_and_a_remedy_named(
    idle_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    statements, key, state, seen = BROKEN[how]
    run_on(idle_cluster, *statements)
    found = examine(monkeypatch, idle_cluster)
    assert (found[key]["state"], seen in found[key]["seen"]) == (state, True), found[key]
    assert found[key]["remedy"]
    if key == "postgresql.engine":
        assert found["queue.jobs"]["seen"] == "Requires postgresql.engine."


def test_an_encoding_that_lacks_most_letters_is_found(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"assay_test_{secrets.token_hex(6)}"
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING LATIN1 LOCALE 'C' TEMPLATE template0".encode())
    try:
        monkeypatch.setenv("ASSAY_DATABASE_URL", postgres.url(name))
        found = findings(run_assay("doctor", "--data-dir", tmp_path, "--json"))
    finally:
        postgres.drop(name)
    assert found["postgresql.encoding"]["seen"] == "The encoding is LATIN1."
    assert found["postgresql.encoding"]["state"] == "problem"


def test_work_whose_workers_were_killed_is_found(idle_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    idle_cluster.settings |= {"ASSAY_HEARTBEAT_SECONDS": "0.5", "ASSAY_LEASE_SECONDS": "2"}
    idle_cluster.start()
    open_challenge(idle_cluster.admin(), "pets", GOLD, phases=[{"name": "main", "quota": QUOTA}])
    idle_cluster.workers[0].kill(group=True)
    for team in ("Blue", "Red"):
        assert idle_cluster.admin().submit("pets", GOOD, team=team, wait=0).status_code == 202
    found: dict[str, Mapping[str, str]] = {}

    def nobody_works() -> bool:
        found.update(examine(monkeypatch, idle_cluster))
        return found["queue.workers"]["state"] == "warning"

    eventually(nobody_works, "its last sign of life is old")
    assert found["queue.workers"]["seen"] == "No worker is running; tasks waiting: 2."
    assert found["queue.jobs"]["state"] == "ok"
    run_on(
        idle_cluster,
        "DELETE FROM procrastinate_jobs",
        "UPDATE score_tasks SET status = 'running', lease_until = now() - interval '1 minute'"
        " WHERE id = (SELECT min(id) FROM score_tasks)",
    )
    found.update(examine(monkeypatch, idle_cluster))
    assert found["queue.jobs"]["seen"].startswith("Tasks are ready but no job waits")
    assert found["queue.leases"]["seen"] == "Tasks with an expired lease: 1."


def test_a_bucket_is_examined_like_a_folder(
    idle_cluster: Cluster, moto: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    given = moto.settings(tmp_path)
    bucket: dict[str, str | None] = {
        "files_url": given.files_url,
        "s3_endpoint": moto.url,
        "s3_access_key": moto.access_key,
        "s3_secret_key": moto.secret_key,
        "files_shared": "false",
    }
    found = examine(monkeypatch, idle_cluster, **bucket)
    assert found["files.place"]["seen"] == f"In {given.files_url}."
    assert found["files.works"]["seen"] == "A probe was written, read and deleted."
    found = examine(monkeypatch, idle_cluster, **bucket | {"files_url": "s3://no-such-bucket/prefix"})
    assert (found["files.works"]["state"], "does not exist" in found["files.works"]["seen"]) == ("problem", True)
