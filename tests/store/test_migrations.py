"""Migrations build the very tables that the code declares, up and down, with rows in them."""

import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import JSON, Boolean, CheckConstraint, Connection, column, inspect, select, table, text

from app.package_data import package_data_folder
from app.settings import Settings
from app.store import migrate
from app.store.session import Database
from app.store.tables import Base, QuotaEntry, Submission, Team, User
from app.store.types import utcnow
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.store.database_marks import only_postgresql
from tests.store.sample_rows import RowIds, add_row, fill_tables, gold_version, submission, task

ROOT = Path(__file__).resolve().parents[2]


def differs(
    _context: Any, _inspected: Any, declared: Any, found: str | None, _default: Any, wanted: str | None
) -> bool | None:
    """Whether two defaults of a JSON column differ, which PostgreSQL cannot compare itself; None leaves it to Alembic."""
    if not isinstance(declared.type, JSON):
        return None
    return (found or "").removesuffix("::json") != (wanted or "")


OPTIONS = {"compare_type": True, "compare_server_default": differs, "include_name": migrate.include_name}


Counts = dict[str, int]


@pytest.fixture(autouse=True)
def revisions_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or each step would import all revisions anew, which takes as long as the step."""

    def from_config(config: Config) -> ScriptDirectory:
        return scripts_in(str(config.get_main_option("script_location")))

    monkeypatch.setattr(ScriptDirectory, "from_config", from_config)


@cache
def scripts_in(folder: str) -> ScriptDirectory:
    return ScriptDirectory(folder.replace("%%", "%"))


@contextmanager
def plain(settings: Settings) -> Iterator[Connection]:
    """A transaction on whatever schema is there."""
    engine = migrate._engine(settings.database)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def move(connection: Connection, revision: str) -> None:
    """Go up or down as far as said, as an upgrade does."""
    configuration = migrate.alembic_config()
    configuration.attributes["connection"] = connection
    is_down = revision in {"base", "-1"} or revision < str(migrate.current_revision(connection))
    (command.downgrade if is_down else command.upgrade)(configuration, revision)


def counts(connection: Connection) -> Counts:
    """How many rows each table has that is there."""
    names = [name for name in inspect(connection).get_table_names() if name in Base.metadata.tables]
    parts = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for name in names)
    return {str(row[0]): int(row[1]) for row in connection.execute(text(parts))}


FIRST = "0001"
DERIVED = {"ranked_values", "team_memberships", "board_switches"}
"""Tables whose rows a revision makes from older ones."""


def require_kept(connection: Connection, before: Counts) -> None:
    """Tables that were there have all their rows, those that came have none but what was derived; no parent is missing."""
    for name, count in counts(connection).items():
        assert count == before.get(name, 0) or name in DERIVED, name
    if connection.dialect.name == "sqlite":  # whose foreign keys are off meanwhile
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall() == []


@pytest.fixture
def filled(db: Database) -> RowIds:
    """A row in every table."""
    with db.write() as session:
        ids = fill_tables(session)
    db.close()
    return ids


@pytest.mark.both_databases
def test_an_empty_database_becomes_what_the_tables_declare_and_only_that_one_is_opened(settings: Settings) -> None:
    head = migrate.head_revision()
    assert migrate.upgrade(settings) == (None, head)
    with plain(settings) as connection:
        found = compare_metadata(MigrationContext.configure(connection, opts=OPTIONS), Base.metadata)
        checks = {
            (table.name, constraint["name"])
            for table in Base.metadata.sorted_tables
            for constraint in inspect(connection).get_check_constraints(table.name)
        }
        migrate.require_head(connection)
    assert found == []
    declared = {
        (table.name, str(constraint.name))
        for table in Base.metadata.sorted_tables
        for constraint in table.constraints
        if isinstance(constraint, CheckConstraint)
    }
    assert checks == declared
    assert declared
    assert migrate.upgrade(settings) == (head, head)
    for change, refusal, advice in (
        ("DELETE FROM alembic_version", migrate.SchemaBehind, "assay migrate"),
        ("INSERT INTO alembic_version VALUES ('0001')", migrate.SchemaBehind, "assay migrate"),
        ("UPDATE alembic_version SET version_num = '9999'", migrate.SchemaAhead, "Run that version"),
    ):
        with plain(settings) as connection:
            connection.execute(text(change))
            with pytest.raises(refusal) as refused:
                migrate.require_head(connection)
        assert advice in refused.value.advice
    with pytest.raises(migrate.SchemaAhead):
        migrate.upgrade(settings)
    with plain(settings) as connection:
        assert migrate.current_revision(connection) == "9999"
    assert not list(settings.data_dir.glob("*.before-*"))  # a copy is made before a change alone


@pytest.mark.parametrize("kind", [Submission, QuotaEntry])
def test_what_refers_to_a_team_is_found_by_an_index(kind: type[Submission | QuotaEntry]) -> None:
    """Or the deletion of each team would read all that was ever submitted to the site."""
    assert "team_id" in {next(iter(index.columns)).name for index in kind.__table__.indexes}


@pytest.mark.both_databases
@pytest.mark.usefixtures("filled")
def test_every_revision_goes_down_and_up_and_down_with_rows_in_every_table(settings: Settings) -> None:
    """Down to an empty database, which becomes one with the newest schema again."""
    with plain(settings) as connection:
        assert counts(connection) == dict.fromkeys(Base.metadata.tables, 1)
        while (revision := str(migrate.current_revision(connection))) != FIRST:
            for step in ("-1", revision, "-1"):
                before = counts(connection)
                move(connection, step)
                require_kept(connection, before)
        move(connection, "base")
        assert inspect(connection).get_table_names() == ["alembic_version"]
    assert migrate.upgrade(settings) == (None, migrate.head_revision())
    with plain(settings) as connection:
        assert counts(connection) == dict.fromkeys(Base.metadata.tables, 0)
    with closing(Database(settings)) as db, db.write() as session:
        fill_tables(session)
    with plain(settings) as connection:
        assert counts(connection) == dict.fromkeys(Base.metadata.tables, 1)


NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "next"
down_revision = "HEAD"


def upgrade() -> None:
    with op.batch_alter_table("users") as batch:
        batch.add_column(sa.Column("nickname", sa.Text(), nullable=True))
"""


@pytest.mark.usefixtures("filled")
def test_the_old_database_is_kept_beside_the_new_one_and_no_row_is_lost(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = shutil.copytree(package_data_folder("migrations"), tmp_path / "scripts")
    head = migrate.head_revision() or ""
    (scripts / "versions" / "next.py").write_text(NEXT.replace("HEAD", head))
    monkeypatch.setattr(migrate, "package_data_folder", lambda _name: scripts)
    assert migrate.upgrade(settings) == (head, "next")
    path = Path(settings.database.removeprefix("sqlite:///"))
    copy = path.with_name(f"{path.name}.before-{head}")
    assert copy.stat().st_mode & 0o077 == 0  # whatever the umask: it holds what the database holds
    with closing(sqlite3.connect(copy)) as old_database:
        assert old_database.execute("SELECT email FROM users").fetchall() == [("ada@example.org",)]
    with plain(settings) as connection:
        assert counts(connection) == dict.fromkeys(Base.metadata.tables, 1)
    assert settings.data_dir.stat().st_mode & 0o077 == 0  # like the database, it is for the service's account only


def test_the_database_is_readable_by_its_owner_alone(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "_run_revisions", lambda *_: None)
    migrate.upgrade(settings)
    assert stat.S_IMODE((settings.data_dir / "assay.sqlite3").stat().st_mode) == 0o600
    assert not list(settings.data_dir.glob("*.before-*"))


@pytest.mark.both_databases
@pytest.mark.usefixtures("filled")
def test_a_failed_migration_changes_nothing(settings: Settings) -> None:
    with plain(settings) as connection:
        connection.execute(text("DELETE FROM alembic_version"))
    with pytest.raises(Exception, match="already exists"):
        migrate.upgrade(settings)
    with plain(settings) as connection:
        assert counts(connection) == dict.fromkeys(Base.metadata.tables, 1)


@pytest.mark.both_databases
@pytest.mark.usefixtures("filled")
def test_what_the_first_revisions_stored_is_there_under_the_newest_and_goes_back(settings: Settings) -> None:
    """That files were gzipped, and the two tables beside gold that are one since."""
    both = {"train_frequencies": {"a": 1}, "class_weights": {"a": 0.1}}
    earlier = table("gold_versions", *(column(name, JSON(none_as_null=True)) for name in both))
    later = table("gold_versions", column("accessories", JSON))
    files = table("submissions", column("gzipped", Boolean))
    with plain(settings) as connection:
        move(connection, "0002")
        assert connection.execute(select(earlier)).all() == [(None, None)]
        move(connection, FIRST)
        before = counts(connection)
        assert connection.execute(select(files)).all() == [(False,)]
        connection.execute(files.update().values(gzipped=True))
        move(connection, "0002")
        connection.execute(earlier.update().values(**both))
    assert migrate.upgrade(settings) == ("0002", migrate.head_revision())
    with plain(settings) as connection:
        require_kept(connection, before)
        assert {name for name, count in counts(connection).items() if count} == {*before, *DERIVED}
        assert connection.execute(text("SELECT encoding, layout FROM submissions")).all() == [("gzip", "")]
        assert connection.execute(text("SELECT encoding, layout FROM gold_versions")).all() == [("", "")]
        assert connection.execute(select(later)).all() == [(both,)]

    def lose_folds() -> None:
        with plain(settings) as connection:
            connection.execute(later.update().values(accessories=both | {"folds": {"t1": "1"}}))
            move(connection, "0002")

    with pytest.raises(RuntimeError, match="earlier version cannot keep"):
        lose_folds()
    with plain(settings) as connection:
        move(connection, "0002")
        assert connection.execute(select(earlier)).all() == [tuple(both.values())]


@pytest.mark.both_databases
def test_old_gold_has_weights_by_its_notes_and_entries_of_organizers_are_told_from_those_of_teams(
    settings: Settings, db: Database
) -> None:
    """Blue has a member and three entries: its own, one that an organizer sent for it, and a baseline of its name."""
    notes = ["the instances have weights: all counts are sums of them, scaled to whole numbers"]
    with db.write() as session:
        ids = fill_tables(session)
        rows = {"user": ids.user, "phase": ids.phase, "team": ids.team, "own": ids.submission}
        organizer = add_row(session, User(email="olga@example.org", name="Olga"))
        rows["behalf"] = add_row(session, submission(ids.phase, ids.team, organizer))
        rows["baseline"] = add_row(session, submission(ids.phase, ids.team, organizer, baseline=True))
        alone = add_row(session, Team(challenge_id=ids.challenge, name="Majority", name_key="majority"))
        rows["alone"] = add_row(session, submission(ids.phase, alone, organizer, baseline=True))
        add_row(session, Team(challenge_id=ids.challenge, name="BIue", name_key="biue"))
        first = add_row(session, task(rows["behalf"], ids.gold, ids.recipe, attempt=3))
        add_row(session, task(rows["baseline"], ids.gold, ids.recipe, attempt=5, compared_at=utcnow()))
        add_row(session, gold_version(ids.phase, version=2, status="draft", notes=notes))
        assert first
    db.close()
    with plain(settings) as connection:
        move(connection, "0005")
        move(connection, str(migrate.head_revision()))
        weighted = text("SELECT weighted FROM gold_versions ORDER BY version")
        assert [bool(each) for each in connection.execute(weighted).scalars()] == [False, True]
        names = connection.execute(text("SELECT name, baseline, look_key FROM teams ORDER BY name, baseline")).all()
        assert [tuple(row) for row in names] == [
            ("BIue", False, None),  # it looks like Blue, and came later
            ("Blue", False, "blue"),
            ("Blue", True, None),
            ("Majority", True, None),
        ]
        query = "SELECT s.id, t.name, t.baseline, s.on_behalf, s.attempt FROM submissions s JOIN teams t ON t.id = s.team_id"
        entries = {row[0]: tuple(row[1:]) for row in connection.execute(text(query))}
        assert {name: entries[rows[name]] for name in ("own", "behalf", "baseline", "alone")} == {
            "own": ("Blue", False, False, 0),
            "behalf": ("Blue", False, True, 3),
            "baseline": ("Blue", True, True, 1),
            "alone": ("Majority", True, True, 0),
        }
        move(connection, "0005")
        assert connection.scalar(text("SELECT count(*) FROM teams")) == 3  # the two called Blue are one again


# ---- several at once, and one that dies ---------------------------------------------------------


UPGRADE = """
import sys
from pathlib import Path
from app.settings import Settings
from app.store import migrate
print(migrate.upgrade(Settings(data_dir=Path(sys.argv[1]), database_url=sys.argv[2]))[1])
"""
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = :key AND NOT granted"


def program(source: str, settings: Settings) -> subprocess.Popen[str]:
    """A program with the data folder and the database as its arguments."""
    words = [sys.executable, "-c", source, str(settings.data_dir), settings.database]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@only_postgresql
def test_upgrades_at_the_same_time_take_turns_and_all_end_well(settings: Settings) -> None:
    """In another process, as Alembic runs one migration at a time in each."""
    with ThreadPoolExecutor(1) as threads:
        with plain(settings) as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": migrate.MIGRATION_LOCK_KEY})
            replica = program(UPGRADE, settings)
            own = threads.submit(migrate.upgrade, settings)
            waiting = text(WAITING)
            eventually(
                lambda: connection.scalar(waiting, {"key": migrate.MIGRATION_LOCK_KEY}) == 2,
                "both upgrades wait for their turn",
            )
        output, err = replica.communicate(timeout=MAX_WAIT_SECONDS)
        assert (output.strip(), err) == (migrate.head_revision(), "")
        assert own.result(MAX_WAIT_SECONDS)[1] == migrate.head_revision()
    with plain(settings) as connection:
        assert set(Base.metadata.tables) < set(inspect(connection).get_table_names())


KILLED = """
import os, signal, sys
from pathlib import Path
from alembic import op
from app.settings import Settings
from app.store import migrate

drop = op.drop_column

def die(*given, **options):
    drop(*given, **options)
    os.kill(os.getpid(), signal.SIGKILL)

op.drop_column = die  # the second revision has by then made its new columns and filled them
migrate.upgrade(Settings(data_dir=Path(sys.argv[1]), database_url=sys.argv[2]))
"""


@pytest.mark.ci
@pytest.mark.both_databases
@pytest.mark.usefixtures("filled")
def test_an_upgrade_that_is_killed_midway_leaves_the_old_schema_and_its_rows(settings: Settings) -> None:
    with plain(settings) as connection:
        move(connection, FIRST)
        before = counts(connection)
    killed = program(KILLED, settings)
    _, err = killed.communicate(timeout=MAX_WAIT_SECONDS)
    assert killed.returncode == -signal.SIGKILL, err
    with plain(settings) as connection:
        assert migrate.current_revision(connection) == FIRST
        names = {each["name"] for each in inspect(connection).get_columns("gold_versions")}
        assert "gzipped" in names
        assert not names & {"encoding", "layout"}
        assert counts(connection) == before
    assert migrate.upgrade(settings, "0002") == (FIRST, "0002")


def test_looking_at_the_revisions_spares_sqlite_the_engine_of_several_machines() -> None:
    program = (
        "import sys; from app.store import migrate; migrate.head_revision(); assert 'procrastinate' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
