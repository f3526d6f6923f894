"""`assay doctor` on real installations: well, and broken in one way each."""

import os
import resource
import shutil
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command

from app.doctor import all_checks, run_checks, software
from app.doctor.installation import Installation
from app.settings import Settings
from app.store import migrate
from tests import preloaded_scoring
from tests.cli.run_command import CommandResult, run_assay
from tests.live_service import Live, free_port, open_challenge
from tests.settle import settle

GOLD = [{"id": f"t{number}", "label": "cat" if number % 3 else "dog"} for number in range(12)]
GOOD, QUOTA = {row["id"]: row["label"] for row in GOLD}, {"per_day": 5}
Findings = Mapping[str, Mapping[str, str]]


def findings(ran: CommandResult) -> Findings:
    value = ran.value()
    found = {each["check"]: each for each in value["findings"]}
    assert list(found) == [each.key for each in all_checks()]
    assert ran.status == int(value["state"] == "problem")
    return found


def states(found: Findings, state: str) -> set[str]:
    return {key for key, each in found.items() if each["state"] == state}


def examine(data: Path, *words: str) -> Findings:
    """What is found; the scoring process that a check starts is a fork of one that has loaded its modules."""
    with preloaded_scoring.use_preloaded_scoring(preloaded_scoring.loader()):
        return findings(run_assay("doctor", "--data-dir", data, "--json", *words))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    made = Live(tmp_path_factory.mktemp("doctor") / "data").with_analyses().start()
    open_challenge(made.admin(), "pets", GOLD, phases=[{"name": "main", "quota": QUOTA}])
    file = {"name": "train.csv", "licence": "CC0"}
    made.admin().post("/challenges/pets/files", params=file, content=b"id\n").raise_for_status()
    assert made.person("Blue").join("pets", "Blue").submit("pets", GOOD).status_code == 201
    assert made.admin().patch("/challenges/pets", json={"registration": "approval"}).status_code == 200
    settle(made)
    yield made
    made.stop()


@pytest.fixture
def data(service: Live, tmp_path: Path) -> Path:
    """A copy of the installation, without a service."""
    return copy_installation(service, tmp_path / "copy")


def copy_installation(service: Live, folder: Path) -> Path:
    shutil.copytree(service.data_dir, folder, ignore=shutil.ignore_patterns("*.sqlite3*"))
    folder.chmod(0o700)
    source, copy = (sqlite3.connect(each / "assay.sqlite3") for each in (service.data_dir, folder))
    with closing(source), closing(copy):
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=WAL")
    (folder / "assay.sqlite3").chmod(0o600)
    return folder


def change(data: Path, *statements: str) -> None:
    with closing(sqlite3.connect(data / "assay.sqlite3")) as raw:
        for statement in statements:
            raw.execute(statement)
        raw.commit()


def listing(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*"))


def test_a_healthy_installation_has_no_fault_while_its_service_works(service: Live) -> None:
    found = examine(service.data_dir, "--deep")
    assert states(found, "problem") == set()
    assert "pets/main" in found["challenges.inference"]["seen"]
    assert states(found, "warning") <= {"data.space", "data.disk", "scoring.memory"}  # they depend on the machine
    assert {key for key in states(found, "skipped") if not key.startswith("postgresql.")} <= {
        *("queue.leases", "queue.jobs", "data.disk", "scoring.memory")
    }
    assert f"process {service.process.pid if service.process else 0}" in found["queue.workers"]["seen"]
    assert found["files.present"]["seen"] == "3 files are present and unchanged."
    assert all(not each["remedy"] for each in found.values() if each["state"] in {"ok", "skipped"})


def test_looking_changes_nothing(data: Path) -> None:
    before = listing(data / "files" / "uploads"), (data / "assay.sqlite3").read_bytes()
    assert states(examine(data, "--deep"), "problem") == set()
    assert (listing(data / "files" / "uploads"), (data / "assay.sqlite3").read_bytes()) == before
    assert sorted(path.name for path in data.iterdir() if "sqlite3" in path.name) == ["assay.sqlite3"]


def test_ranked_values_that_differ_are_repaired(data: Path) -> None:
    change(data, "UPDATE ranked_values SET ranking_key = 0.5")
    change(data, "UPDATE entry_counts SET entries = 9")
    with preloaded_scoring.use_preloaded_scoring(preloaded_scoring.loader()):
        ran = run_assay("doctor", "--data-dir", data, "--json", "--repair")
    assert findings(ran)["database.ranked_values"]["state"] == "ok"
    assert "Corrected the ranked values of 1 submissions, and 1 numbers of entries." in ran.err
    with preloaded_scoring.use_preloaded_scoring(preloaded_scoring.loader()):
        assert "of 0 submissions, and 0 numbers" in run_assay("doctor", "--data-dir", data, "--repair").out


def test_people_get_a_line_for_each_check_with_the_remedy_below(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_PROT", "8001")
    with preloaded_scoring.use_preloaded_scoring(preloaded_scoring.loader()):
        ran = run_assay("doctor", "--data-dir", data)
    lines = ran.out.splitlines()
    (place,) = [number for number, line in enumerate(lines) if "settings.unknown" in line]
    assert lines[place].split()[:2] == ["warning", "settings.unknown"]
    assert lines[place + 1].strip() == "→ Rename or unset it: it has no effect."
    assert not any("postgresql." in line for line in lines)  # what does not apply is only counted
    assert lines[-1].startswith("0 problems, ")
    assert ran.status == 0


def remove_upload(data: Path) -> None:
    next((data / "files" / "uploads").iterdir()).unlink()


def empty_index(data: Path) -> None:
    """Overwrite a page of a table that no other check reads."""
    path = data / "assay.sqlite3"
    with closing(sqlite3.connect(path)) as raw:
        (page,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'idempotency_keys'").fetchone()
        (size,) = raw.execute("PRAGMA page_size").fetchone()
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


def older_schema(data: Path) -> None:
    engine = migrate._engine(f"sqlite:///{data / 'assay.sqlite3'}")
    made = migrate.alembic_config()
    with engine.connect() as connection, connection.begin():
        made.attributes["connection"] = connection
        command.downgrade(made, "-1")
    engine.dispose()


def queue_tasks(data: Path, status: str = "queued") -> None:
    change(data, f"UPDATE score_tasks SET status = '{status}', created_at = '2026-01-01 00:00:00'")


def fail_submission(data: Path) -> None:
    reason = """'{"code": "memory_limit", "detail": ""}'"""
    change(data, f"UPDATE submissions SET status = 'failed', failure = {reason}, finished_at = datetime('now')")


def newer_scorer(data: Path) -> None:
    change(data, "UPDATE phases SET scorer_version = 9")


def older_scorer(data: Path) -> None:
    change(data, "UPDATE phases SET scorer_version = 0")


def store_difference(data: Path) -> None:
    change(data, """UPDATE score_tasks SET difference = '{"count": 1, "values": [], "refused": {}}'""")


def names_alike(data: Path) -> None:
    """A team as it may have been founded before looks were compared."""
    own = "id, challenge_id, name, name_key, baseline, created_at"
    change(
        data, f"INSERT INTO teams ({own}) SELECT '0', challenge_id, upper(name), '0', 0, created_at FROM teams LIMIT 1"
    )


TELLS_ALL = "pets: Phase 'main' shows average_precision:label=cat, whose value may differ"
BROKEN: dict[str, tuple[Callable[[Path], Any], str, str, str]] = {
    "folder away": (shutil.rmtree, "data.folder", "problem", "is not a folder"),
    "folder open": (lambda data: data.chmod(0o755), "data.private", "problem", "mode 755"),
    "gold open": (lambda data: (data / "prepared").chmod(0o750), "data.private", "problem", "prepared (mode 750)"),
    "no database": (lambda data: (data / "assay.sqlite3").unlink(), "database.reachable", "problem", "no database"),
    "no such file": (
        lambda data: (data / "assay.sqlite3").write_text("hello " * 1000),
        *("database.reachable", "problem", "not a database"),
    ),
    "older schema": (older_schema, "database.schema", "problem", "older than this version needs"),
    "other journal": (
        lambda data: change(data, "PRAGMA journal_mode=DELETE"),
        *("sqlite.journal", "problem", "delete"),
    ),
    "damaged": (empty_index, "sqlite.integrity", "problem", "malformed"),
    "rows gone": (lambda data: change(data, "DELETE FROM teams"), "sqlite.references", "problem", "submissions"),
    "no uploads": (lambda data: shutil.rmtree(data / "files"), "files.works", "warning", "does not exist yet"),
    "uploads lost": (lambda data: shutil.rmtree(data / "files"), "files.present", "problem", "3 rows refer to files"),
    "newer scorer": (newer_scorer, "queue.scorer", "problem", "newer scorer version"),
    "older scorer": (older_scorer, "queue.scorer", "warning", "to be switched"),
    "other scores": (store_difference, "queue.differences", "problem", "scores differ when computed again: 1"),
    "upload lost": (remove_upload, "files.present", "problem", "is missing"),
    "upload cut": (
        lambda data: next((data / "files" / "uploads").iterdir()).write_text(""),
        *("files.present", "problem", "has 0 bytes"),
    ),
    "ranked otherwise": (
        lambda data: change(data, "UPDATE ranked_values SET ranking_key = 0.5"),
        *("database.ranked_values", "problem", "Those of 1 of 1 submissions"),
    ),
    "counted otherwise": (
        lambda data: change(data, "DELETE FROM entry_counts"),
        *("database.ranked_values", "problem", "1 numbers of entries"),
    ),
    "nobody works": (queue_tasks, "queue.workers", "warning", "tasks waiting: 1"),
    "nobody goes on": (lambda data: queue_tasks(data, "running"), "queue.workers", "warning", "tasks waiting: 1"),
    "waits long": (queue_tasks, "queue.backlog", "warning", "1 queued"),
    "failed": (fail_submission, "queue.failures", "warning", "memory_limit: 1"),
    "no quota": (
        lambda data: change(data, "UPDATE phases SET quota = '{}'"),
        *("challenges.rules", "warning", "pets: Phase 'main' has no quota"),
    ),
    "open to everybody": (
        lambda data: change(data, "UPDATE challenges SET registration = 'open'"),
        *("challenges.rules", "warning", "quotas bind accounts, not people"),
    ),
    "tells all": (
        lambda data: change(
            data,
            "UPDATE recipes SET body = json_set(body, '$.primary', 'average_precision:label=cat', '$.metrics', json_array())",
        ),
        *("challenges.rules", "warning", TELLS_ALL),
    ),
    "no gold": (
        lambda data: change(data, "UPDATE gold_versions SET status = 'retired'"),
        *("challenges.gold", "warning", "pets/main"),
    ),
    "log copied": (lambda _: None, "log.key", "warning", "a moved installation of localhost"),
    "log changed": (
        lambda data: change(data, "UPDATE log_tiles SET hashes = zeroblob(length(hashes))"),
        *("log.tiles", "problem", "do not give the root"),
    ),
    "names alike": (names_alike, "challenges.names", "warning", "In 'pets' these names look alike: "),
}


TOGETHER = [
    ["folder open", "newer scorer", "other scores", "upload cut", "ranked otherwise", "nobody works", "other journal"],
    ["gold open", "older scorer", "upload lost", "counted otherwise", "waits long", "no quota", "log changed"],
    ["failed", "nobody goes on", "open to everybody", "no uploads", "names alike"],
    ["tells all", "rows gone", "log copied", "uploads lost"],
    ["no gold", "damaged"],
]
"""What is broken in one installation, because no check needs what another one finds broken; all else is broken alone."""


def test_what_is_broken_is_found_and_a_remedy_named(service: Live, tmp_path: Path) -> None:
    together = {how for each in TOGETHER for how in each}
    wrong: list[Any] = []
    for number, group in enumerate([*TOGETHER, *([how] for how in BROKEN if how not in together)]):
        data = copy_installation(service, tmp_path / f"broken {number}")
        for how in group:
            BROKEN[how][0](data)
        found = examine(data)
        for how in group:
            _, key, state, seen = BROKEN[how]
            finding = found[key]
            if finding["state"] != state or seen not in finding["seen"] or not finding["remedy"]:
                wrong.append((how, finding))
    assert wrong == []


SET: dict[str, tuple[str, str, str, str]] = {
    "ASSAY_PROT": ("1", "settings.unknown", "warning", "did you mean ASSAY_PORT?"),
    "ASSAY_PORT": ("many", "settings.values", "problem", "ASSAY_PORT"),
    "ASSAY_ADMIN_TOKEN": ("short", "access.admin_token", "problem", "5 characters"),
    "ASSAY_ADMIN_TOKEN_FILE": ("/nowhere/token", "access.admin_token", "problem", "does not exist"),
    "ASSAY_RATE_LIMITS": ("off", "access.rate_limits", "warning", "off"),
    "ASSAY_HOST": ("0.0.0.0", "access.listening", "warning", "no proxy is trusted"),
    "ASSAY_MIN_FREE": (str(1 << 60), "data.space", "problem", "uploads are refused"),
    "ASSAY_SCORING_MEMORY": (str(1 << 45), "scoring.memory", "warning", "GiB"),
    "ASSAY_MAX_RECORDS": (str(10**11), "scoring.records", "warning", "100,000,000,000 records (ASSAY_MAX_RECORDS)"),
    "ASSAY_S3_ENDPOINT": ("http://127.0.0.1:9", "files.works", "problem", "object store"),
}


def test_what_is_set_wrongly_is_found(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Together what hides nothing else, then the others one by one."""
    bucket = {"ASSAY_FILES_URL": "s3://bucket/prefix", "ASSAY_S3_ACCESS_KEY": "key", "ASSAY_S3_SECRET_KEY": "word"}
    alone = ("ASSAY_PORT", "ASSAY_ADMIN_TOKEN", "ASSAY_ADMIN_TOKEN_FILE", "ASSAY_MAX_RECORDS")
    wrong: list[Any] = []
    for names in (SET.keys() - set(alone), *({name} for name in alone)):
        with monkeypatch.context() as patch:
            for name, value in {name: SET[name][0] for name in names}.items():
                patch.setenv(name, value)
            for name, value in bucket.items() if "ASSAY_S3_ENDPOINT" in names else ():
                patch.setenv(name, value)
            found = examine(data)
        for _, key, state, seen in (SET[name] for name in names):
            if found[key]["state"] != state or seen not in found[key]["seen"]:
                wrong.append(found[key])
        if "ASSAY_PORT" in names:
            assert found["database.reachable"]["seen"] == "Requires settings.values."
            assert found["software.python"]["state"] == "ok"
    assert wrong == []


def test_the_bytes_that_each_challenge_has_stored_are_listed(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"submissions": 5, "gold_versions": 2.5, "challenge_files": 1.5}
    change(data, *(f"UPDATE {table} SET size = {size} * 1024 * 1024" for table, size in sizes.items()))
    with closing(sqlite3.connect(data / "assay.sqlite3")) as raw:
        [[submissions, versions]] = raw.execute(
            "SELECT (SELECT count(*) FROM submissions), (SELECT count(*) FROM gold_versions)"
        )
    found = examine(data)["files.challenges"]
    total = 5 * submissions + 2.5 * versions + 1.5
    assert found["seen"] == f"1 challenges store {total:.1f} MiB, the largest: pets {total:.1f} MiB."
    assert found["state"] == "ok"
    monkeypatch.setenv("ASSAY_MIN_FREE", str(1 << 60))
    assert examine(data)["files.challenges"]["state"] == "warning"


def test_a_token_that_others_may_read_is_found(data: Path) -> None:
    path = data / "admin-token"
    path.write_text("x" * 40)
    path.chmod(0o644)
    assert examine(data)["access.admin_token"]["remedy"] == f"chmod 600 {path}"


def test_changed_contents_and_left_over_files_are_found_when_all_are_read(data: Path) -> None:
    uploads = data / "files" / "uploads"
    changed = next(uploads.iterdir())
    changed.write_bytes(b"x" * changed.stat().st_size)
    left = uploads / ("0" * 32)
    left.touch()
    os.utime(left, (time.time() - 2 * 86400,) * 2)
    assert examine(data)["files.present"]["state"] == "ok"
    found = examine(data, "--deep")
    assert f"{changed.name} has changed" in found["files.present"]["seen"]
    assert (found["files.left_over"]["state"], left.name in found["files.left_over"]["seen"]) == ("warning", True)


def test_a_scoring_program_that_cannot_start_is_found(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is started as a service starts it; another doctor test forks it."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "numpy.py").write_text("raise SystemExit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
    finding = findings(run_assay("doctor", "--data-dir", data, "--json"))["scoring.child"]
    assert (finding["state"], "status 3" in finding["seen"]) == ("problem", True), finding


def test_a_database_that_does_not_answer_hangs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.doctor.CHECK_TIMEOUT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql+psycopg://somebody@127.0.0.1:{silent.getsockname()[1]}/assay"
        given = Settings(data_dir=tmp_path, database_url=url, files_shared=True)
        found = {each.check: each for each in run_checks(lambda: given, {})}
    assert found["database.reachable"].seen == "No answer within 0.5 s."
    assert found["queue.backlog"].seen == "Requires database.reachable."
    assert set(found) == {each.key for each in all_checks()}


def test_a_database_that_is_away_leaves_the_other_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DATABASE_URL", f"postgresql+psycopg://somebody@127.0.0.1:{free_port()}/assay")
    found = examine(tmp_path)
    assert found["database.reachable"]["state"] == "problem"
    assert found["postgresql.durability"]["state"] == "skipped"
    assert found["files.place"]["state"] == "problem"  # a folder of this host, and nothing says that it is shared
    assert found["scoring.child"]["state"] == "ok"


def test_a_limit_of_open_files_that_is_too_low_is_told_of_the_service_itself(service: Live, tmp_path: Path) -> None:
    assert service.process is not None
    pid = service.process.pid
    patient = Installation(lambda: Settings(data_dir=service.data_dir, workers=1), {}, deep=False)
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    try:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (600, hard))
        low = software.check_open_file_limit(patient)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (1024, hard))
        high = software.check_open_file_limit(patient)
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    assert (low.state, high.state) == ("warning", "ok")
    assert f"process {pid}) may open 600 files" in low.observation
    more = Installation(lambda: Settings(data_dir=tmp_path, max_waiters=10**9), {}, deep=False)
    assert software.check_open_file_limit(more).state == "warning"
    assert software.check_open_file_limit(more).observation.startswith("A service started here")
